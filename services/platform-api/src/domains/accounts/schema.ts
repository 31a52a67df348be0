import type { RecordFields } from '../../store/records.ts';

/** A customer company: every record belongs to one. */
export interface Account extends RecordFields {
  readonly name: string;
  readonly status: 'active' | 'suspended';
  /** The dealer's own account, for accounts that a dealer has made. */
  readonly dealerAccountId: number | null;
  /** IANA name; the default of its users and vehicles. */
  readonly timezone: string;
}
