import type { RecordFields } from '../../store/record-store.ts';

export const accountStatuses = ['active', 'suspended'] as const;

/** A customer company: every record belongs to one. */
export interface Account extends RecordFields {
  readonly name: string;
  readonly status: (typeof accountStatuses)[number];
  /** The dealer's own account, for accounts that a dealer has made. */
  readonly dealerAccountId: number | null;
  /** IANA name; the default of its users and vehicles. */
  readonly timezone: string;
  /** Where the company is, as it says. */
  readonly city: string | null;
  readonly country: string | null;
  /** Since then the account is there for nobody. */
  readonly deletedAt: Date | null;
  /** True once all that goes on by itself has ended. */
  readonly isEnded: boolean;
  /** When the personal fields of its records were removed. */
  readonly erasedAt: Date | null;
}
