import { AccountRepository, type Scope } from '../../store/account-repository.ts';
import type { NewRecord, RecordStore } from '../../store/record-store.ts';
import type { User } from './schema.ts';

export const usersIn = (records: RecordStore): AccountRepository<User> =>
  new AccountRepository<User>(records, 'users', { unique: { email: 'system', phoneNumber: 'system' } });

/** Of all accounts: for log-ins, which know no account yet. */
export async function findUserByEmail(records: RecordStore, email: string): Promise<User | null> {
  const user = await records.findByUnique<User>('users', 'email', email);
  return user?.email === email ? user : null;
}

export async function findUserByPhone(records: RecordStore, phoneNumber: string): Promise<User | null> {
  const user = await records.findByUnique<User>('users', 'phoneNumber', phoneNumber);
  return user?.phoneNumber === phoneNumber ? user : null;
}

/** The first of several makers makes the user; the others get the same one. */
export const insertFirstOwner = (records: RecordStore, user: NewRecord<User> & { email: string }) =>
  records.insertUnique<User>('users', 'email', user.email, user);

/** Notes a log-in, without counting it as a change of the record. */
export async function markLoggedIn(records: RecordStore, id: number, now: Date): Promise<void> {
  await records.collection<User>('users').updateOne({ _id: id }, { $set: { lastLoginAt: now } });
}

/** Notes that a user has shown to have a phone number, without counting it as a change of the record; the number may be another one by now. */
export async function markPhoneVerified(
  records: RecordStore,
  id: number,
  phoneNumber: string,
  now: Date,
): Promise<void> {
  const phoneVerifiedAt = { $set: { phoneVerifiedAt: now } };
  await records.collection<User>('users').updateOne({ _id: id, phoneNumber }, phoneVerifiedAt);
}

/** Spends a step of the user's time-based codes; false where it was spent before. */
export async function spendTotpStep(records: RecordStore, id: number, step: number): Promise<boolean> {
  const result = await records
    .collection<User>('users')
    .updateOne({ _id: id, 'totp.lastStep': { $lt: step } }, { $set: { 'totp.lastStep': step } });
  return result.modifiedCount === 1;
}

/** Of all accounts: for what users do with one another, such as sharing. */
export const findUserAnywhere = (records: RecordStore, id: number): Promise<User | null> =>
  records.collection<User>('users').findOne({ _id: id });

export const removeUserRecord = (records: RecordStore, scope: Scope, id: number): Promise<User | null> =>
  usersIn(records).remove(scope, id);
