import type { AccountRecord } from '../../store/account-repository.ts';

/** A log-in of a user, on one device; access tokens name it, and end with it. */
export interface Session extends AccountRecord {
  readonly userId: number;
  readonly ip: string;
  readonly userAgent: string | null;
  readonly lastUsedAt: Date;
  readonly expiresAt: Date;
  readonly revokedAt: Date | null;
  /** Every refresh token of the session has this part in common: who shows a spent one gives itself away, and nobody else can. */
  readonly familySha256: string;
  /** The part that only the refresh token has that is not yet spent. */
  readonly currentSha256: string;
}
