import type { RecordFields } from '../../store/record-store.ts';

export const accountStatuses = ['active', 'suspended'] as const;

/** A customer company. Every record belongs to one. */
export interface Account extends RecordFields {
  readonly name: string;
  readonly status: (typeof accountStatuses)[number];
  /** The account of the dealer that created this account. */
  readonly dealerAccountId: number | null;
  /** IANA name of the time zone; the default for its users and vehicles. */
  readonly timezone: string;
  /** Location of the company, as stated by the company. */
  readonly city: string | null;
  readonly country: string | null;
  /** Limit on concurrent streams; null, and absent on older records: the default of the installation. */
  readonly maxStreams?: number | null;
  /** Time of the deletion. From then on, no caller can use or see the account. */
  readonly deletedAt: Date | null;
  /** True once all automatic processing for the deleted account has ended. */
  readonly isEnded: boolean;
  /** Time at which the personal fields of its records were removed. */
  readonly erasedAt: Date | null;
}
