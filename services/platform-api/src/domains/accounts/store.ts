import type { NewRecord, Records } from '../../store/records.ts';
import type { Account, User } from './schema.ts';

export const findUserByEmail = (records: Records, email: string): Promise<User | null> =>
  records.findByUnique<User>('users', 'email', email);

/** The account is tied to its first owner's e-mail, so that a repeated or interrupted creation makes one account. */
export const insertAccountOf = (records: Records, ownerEmail: string, account: NewRecord<Account>) =>
  records.insertUnique<Account>('accounts', 'first_owner', ownerEmail, account);

export const insertUser = (records: Records, user: NewRecord<User>) =>
  records.insertUnique<User>('users', 'email', user.email, user);
