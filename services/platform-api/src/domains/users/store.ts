import { AccountRecords } from '../../store/account-records.ts';
import type { NewRecord, Records } from '../../store/records.ts';
import type { User } from './schema.ts';

export const usersIn = (records: Records): AccountRecords<User> =>
  new AccountRecords<User>(records, 'users', { unique: { email: 'system', phoneNumber: 'system' } });

/** Of all accounts: for log-ins, which know no account yet. */
export async function findUserByEmail(records: Records, email: string): Promise<User | null> {
  const user = await records.findByUnique<User>('users', 'email', email);
  return user?.email === email ? user : null;
}

export async function findUserByPhone(records: Records, phoneNumber: string): Promise<User | null> {
  const user = await records.findByUnique<User>('users', 'phoneNumber', phoneNumber);
  return user?.phoneNumber === phoneNumber ? user : null;
}

/** The first of several makers makes the user; the others get the same one. */
export const insertFirstOwner = (records: Records, user: NewRecord<User> & { email: string }) =>
  records.insertUnique<User>('users', 'email', user.email, user);
