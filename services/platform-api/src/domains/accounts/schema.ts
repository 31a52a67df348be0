import type { RecordFields } from '../../store/records.ts';

export const accountStatuses = ['active', 'suspended'] as const;

/** A customer company: every record belongs to one. */
export interface Account extends RecordFields {
  readonly name: string;
  readonly status: (typeof accountStatuses)[number];
  /** The dealer's own account, for accounts that a dealer has made. */
  readonly dealerAccountId: number | null;
  /** IANA name; the default of its users and vehicles. */
  readonly timezone: string;
}
