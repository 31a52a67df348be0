import type { Role } from '../../access/roles.ts';
import type { AccountRecord } from '../../store/account-repository.ts';

/** A person who may log in, or the user of a server. */
export interface User extends AccountRecord {
  readonly name: string;
  /** Lower case. */
  readonly email: string | null;
  /** E.164. */
  readonly phoneNumber: string | null;
  /**
   * When the user last verified the number with a code sent to it. Null before that, and again after the number
   * changes.
   */
  readonly phoneVerifiedAt: Date | null;
  readonly role: Role;
  readonly canViewVideo: boolean;
  /** BCP 47. */
  readonly language: string;
  /** IANA name. */
  readonly timezone: string;
  /** argon2id in PHC form; null until an invitation is accepted. */
  readonly passwordHash: string | null;
  /**
   * Base32 secret, sealed for the purpose `totp of user <id>`. Two-factor authentication is active once it has been
   * confirmed.
   */
  readonly totp: {
    readonly sealedSecret: string;
    readonly confirmedAt: Date | null;
    /** Last spent time step: a code works only once. */
    readonly lastStep: number;
    /** SHA-256 of the unused recovery codes, bound to the user. Absent: none were created. */
    readonly recoveryHashes?: readonly string[];
  } | null;
  readonly disabled: boolean;
  readonly lastLoginAt: Date | null;
}
