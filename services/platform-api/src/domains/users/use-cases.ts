import type { Change, NewAccountRecord, Scope } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { User } from './schema.ts';
import {
  findNamesAnywhere,
  findUserAnywhere,
  findUserByEmail,
  findUserByPhone,
  insertFirstOwner,
  markLoggedIn,
  markPhoneVerified,
  spendStoredRecoveryCode,
  spendTotpStep,
  userCollection,
} from './store.ts';

/** Returns the user of an account by id, or null. */
export const findUser = (records: RecordStore, scope: Scope, id: number): Promise<User | null> =>
  userCollection(records).find(scope, id);

/** Returns those of the ids that are users of an account. */
export const findUsers = (records: RecordStore, scope: Scope, ids: readonly number[]): Promise<User[]> =>
  userCollection(records).findMany(scope, ids);

/** Returns all users of an account. */
export const usersOfAccount = (records: RecordStore, scope: Scope): Promise<User[]> =>
  userCollection(records).all(scope);

/** Returns the user with an e-mail in its normal form, in any account. */
export const findByEmail = (records: RecordStore, email: string): Promise<User | null> =>
  findUserByEmail(records, email);

/** Returns the user with a phone number in E.164, in any account. */
export const findByPhone = (records: RecordStore, phoneNumber: string): Promise<User | null> =>
  findUserByPhone(records, phoneNumber);

/** Inserts a user; throws 409 `duplicate` if the e-mail or phone number is taken. */
export const recordUser = (records: RecordStore, scope: Scope, user: NewAccountRecord<User>): Promise<User> =>
  userCollection(records).insert(scope, user);

/** Inserts the first owner of an account, or returns the one that another replica has just inserted. */
export const recordFirstOwner = (
  records: RecordStore,
  accountId: number,
  user: NewAccountRecord<User>,
): Promise<{ record: User; created: boolean }> =>
  insertFirstOwner(records, { ...user, accountId, email: user.email ?? '' });

/** Returns the account's oldest active owner. */
export async function firstOwner(records: RecordStore, scope: Scope): Promise<User | null> {
  const { items } = await userCollection(records).list(scope, {
    where: { role: 'owner', disabled: false },
    sorting: { field: 'id', direction: 1 },
    paging: { limit: 1, offset: 0, page: 1 },
  });
  return items[0] ?? null;
}

/** Returns true if the account has another active owner. */
export const hasOtherOwner = async (records: RecordStore, scope: Scope, id: number): Promise<boolean> =>
  (await userCollection(records).count(scope, { role: 'owner', disabled: false, _id: { $ne: id } })) > 0;

/** Records a log-in; returns its time. */
export async function recordLogIn(records: RecordStore, id: number, now = new Date()): Promise<Date> {
  await markLoggedIn(records, id, now);
  return now;
}

/** Records that a user has verified a phone number. */
export const recordPhoneVerified = (
  records: RecordStore,
  id: number,
  phoneNumber: string,
  now = new Date(),
): Promise<void> => markPhoneVerified(records, id, phoneNumber, now);

/** Spends a time step of one-time codes; returns false if it was spent before. */
export const spendStep = (records: RecordStore, id: number, step: number): Promise<boolean> =>
  spendTotpStep(records, id, step);

/** Spends a recovery code; returns false if the user has no such code. */
export const spendRecoveryCode = (records: RecordStore, id: number, hash: string): Promise<boolean> =>
  spendStoredRecoveryCode(records, id, hash);

/** Updates a user of an account; returns null if the user does not exist. */
export const changeUser = (
  records: RecordStore,
  scope: Scope,
  id: number,
  change: Change<User>,
  expectedVersion?: number,
): Promise<User | null> => userCollection(records).update(scope, id, change, expectedVersion);

/** Returns the user with an id in any account. Only for sharing, which crosses accounts. */
export const findUserById = (records: RecordStore, id: number): Promise<User | null> => findUserAnywhere(records, id);

/** Disables all users of a deleted account; returns their ids. */
export async function disableUsers(records: RecordStore, scope: Scope): Promise<number[]> {
  await userCollection(records).updateMany(scope, { disabled: false }, { $set: { disabled: true } });
  return (await userCollection(records).project(scope, [])).map(({ _id }) => _id);
}

/** A user who is named in a record of an account. */
interface NamedUser {
  /** The account of the record. */
  readonly accountId: number;
  readonly userId: number | null;
}

/**
 * Returns a function that names users in records. It names users of the viewer's account, and users of other accounts
 * in records of the viewer's account; it returns null for others.
 */
export async function createUserNaming(
  records: RecordStore,
  viewer: Scope,
  named: readonly NamedUser[],
): Promise<(of: NamedUser) => string | null> {
  const users = await findNamesAnywhere(
    records,
    named.flatMap(({ userId }) => userId ?? []),
  );
  return ({ accountId, userId }) => {
    const user = userId === null ? undefined : users.get(userId);
    if (user === undefined) return null;
    return user.accountId === viewer.accountId || accountId === viewer.accountId ? user.name : null;
  };
}
