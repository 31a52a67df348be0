import type { RecordFields } from '../../store/records.ts';

/** A customer company: every record belongs to one. */
export interface Account extends RecordFields {
  readonly name: string;
}

export interface User extends RecordFields {
  readonly accountId: number;
  readonly name: string;
  /** Lower case. */
  readonly email: string;
  readonly role: 'owner';
  /** argon2id in PHC form. */
  readonly passwordHash: string;
}
