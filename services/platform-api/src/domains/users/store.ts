import { AccountRepository, type Scope } from '../../store/account-repository.ts';
import type { NewRecord, RecordStore } from '../../store/record-store.ts';
import type { User } from './schema.ts';

export const userCollection = (records: RecordStore): AccountRepository<User> =>
  new AccountRepository<User>(records, 'users', { unique: { email: 'system', phoneNumber: 'system' } });

/** Finds a user of any account: log-ins do not know the account yet. */
export async function findUserByEmail(records: RecordStore, email: string): Promise<User | null> {
  const user = await records.findByUnique<User>('users', 'email', email);
  return user?.email === email ? user : null;
}

export async function findUserByPhone(records: RecordStore, phoneNumber: string): Promise<User | null> {
  const user = await records.findByUnique<User>('users', 'phoneNumber', phoneNumber);
  return user?.phoneNumber === phoneNumber ? user : null;
}

/** Inserts a first owner. Concurrent callers get the user that was inserted first. */
export const insertFirstOwner = (records: RecordStore, user: NewRecord<User> & { email: string }) =>
  records.insertUnique<User>('users', 'email', user.email, user);

/** Records a log-in without changing the version of the record. */
export async function markLoggedIn(records: RecordStore, id: number, now: Date): Promise<void> {
  await records.collection<User>('users').updateOne({ _id: id }, { $set: { lastLoginAt: now } });
}

/**
 * Records that a user has verified a phone number, without changing the version of the record. Does nothing if the
 * number has changed since.
 */
export async function markPhoneVerified(
  records: RecordStore,
  id: number,
  phoneNumber: string,
  now: Date,
): Promise<void> {
  const phoneVerifiedAt = { $set: { phoneVerifiedAt: now } };
  await records.collection<User>('users').updateOne({ _id: id, phoneNumber }, phoneVerifiedAt);
}

/** Spends a time step of the user's one-time codes; returns false if it was spent before. */
export async function spendTotpStep(records: RecordStore, id: number, step: number): Promise<boolean> {
  const result = await records
    .collection<User>('users')
    .updateOne({ _id: id, 'totp.lastStep': { $lt: step } }, { $set: { 'totp.lastStep': step } });
  return result.modifiedCount === 1;
}

/** Spends a recovery code of the user; returns false if the user has no such code. */
export async function spendStoredRecoveryCode(records: RecordStore, id: number, hash: string): Promise<boolean> {
  const result = await records
    .collection<User>('users')
    .updateOne({ _id: id, 'totp.recoveryHashes': hash }, { $pull: { 'totp.recoveryHashes': hash } });
  return result.modifiedCount === 1;
}

/** Finds a user of any account, for interactions between accounts such as sharing. */
export const findUserAnywhere = (records: RecordStore, id: number): Promise<User | null> =>
  records.collection<User>('users').findOne({ _id: id });

/** Returns the names and accounts of users of any account by id. */
export async function findNamesAnywhere(
  records: RecordStore,
  ids: readonly number[],
): Promise<Map<number, Pick<User, 'name' | 'accountId'>>> {
  if (ids.length === 0) return new Map();
  const filter: object = { _id: { $in: [...new Set(ids)] } };
  const found = await records
    .collection<User>('users')
    .find(filter, { projection: { name: 1, accountId: 1 } })
    .toArray();
  return new Map(found.map(({ _id, name, accountId }) => [_id, { name, accountId }]));
}

export const removeUserRecord = (records: RecordStore, scope: Scope, id: number): Promise<User | null> =>
  userCollection(records).remove(scope, id);
