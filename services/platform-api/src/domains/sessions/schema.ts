import type { AccountRecord } from '../../store/account-repository.ts';

/** A log-in of a user on one device. Access tokens name the session and end with it. */
export interface Session extends AccountRecord {
  readonly userId: number;
  readonly ip: string;
  readonly userAgent: string | null;
  readonly lastUsedAt: Date;
  readonly expiresAt: Date;
  readonly revokedAt: Date | null;
  /**
   * Hash of the part that all refresh tokens of the session share. It reveals a spent token of the session, and cannot
   * be guessed.
   */
  readonly familySha256: string;
  /** Hash of the part that only the unspent refresh token has. */
  readonly currentSha256: string;
  /** The last spent token of a session in a cookie, for browsers that lost the response with the next token. */
  readonly spent?: SpentToken;
}

/** A spent refresh token that may still be exchanged for the same next token. */
export interface SpentToken {
  readonly sha256: string;
  /** The next refresh token, encrypted. */
  readonly nextToken: string;
  readonly until: Date;
}
