import type { Role } from '../../access/roles.ts';
import type { AccountRecord } from '../../store/account-repository.ts';

/** A person who may log in, or a server's user. */
export interface User extends AccountRecord {
  readonly name: string;
  /** Lower case. */
  readonly email: string | null;
  /** E.164. */
  readonly phoneNumber: string | null;
  /** When the user last showed, by a code sent there, to have this number; null until then, and again for another number. */
  readonly phoneVerifiedAt: Date | null;
  readonly role: Role;
  readonly canViewVideo: boolean;
  /** BCP 47. */
  readonly language: string;
  /** IANA name. */
  readonly timezone: string;
  /** argon2id in PHC form; null until an invitation is accepted. */
  readonly passwordHash: string | null;
  /** Base32 secret, sealed for the purpose `totp of user <id>`; it counts once it has been confirmed. */
  readonly totp: {
    readonly sealedSecret: string;
    readonly confirmedAt: Date | null;
    /** Steps up to this one are spent: a code works once. */
    readonly lastStep: number;
  } | null;
  readonly disabled: boolean;
  readonly lastLoginAt: Date | null;
}
