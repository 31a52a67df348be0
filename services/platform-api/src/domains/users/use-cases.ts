import type { Change, NewAccountRecord, Scope } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { User } from './schema.ts';
import {
  findUserAnywhere,
  findUserByEmail,
  findUserByPhone,
  insertFirstOwner,
  markLoggedIn,
  markPhoneVerified,
  spendTotpStep,
  usersIn,
} from './store.ts';

/** The user of an account by id, or null. */
export const findUser = (records: RecordStore, scope: Scope, id: number): Promise<User | null> =>
  usersIn(records).find(scope, id);

/** Those of the ids that are users of an account. */
export const findUsers = (records: RecordStore, scope: Scope, ids: readonly number[]): Promise<User[]> =>
  usersIn(records).findMany(scope, ids);

/** All users of an account. */
export const usersOfAccount = (records: RecordStore, scope: Scope): Promise<User[]> => usersIn(records).all(scope);

/** The user with an e-mail in its normal form, in whatever account. */
export const findByEmail = (records: RecordStore, email: string): Promise<User | null> =>
  findUserByEmail(records, email);

/** The user with a phone number in E.164, in whatever account. */
export const findByPhone = (records: RecordStore, phoneNumber: string): Promise<User | null> =>
  findUserByPhone(records, phoneNumber);

/** Puts a user on record; 409 `duplicate` for a taken e-mail or phone number. */
export const recordUser = (records: RecordStore, scope: Scope, user: NewAccountRecord<User>): Promise<User> =>
  usersIn(records).insert(scope, user);

/** Puts the first owner of an account on record, or finds the one that another replica has just made. */
export const recordFirstOwner = (
  records: RecordStore,
  accountId: number,
  user: NewAccountRecord<User>,
): Promise<{ record: User; created: boolean }> =>
  insertFirstOwner(records, { ...user, accountId, email: user.email ?? '' });

/** The account's owner of longest standing. */
export async function firstOwner(records: RecordStore, scope: Scope): Promise<User | null> {
  const { items } = await usersIn(records).list(scope, {
    where: { role: 'owner', disabled: false },
    sorting: { field: 'id', direction: 1 },
    paging: { limit: 1, offset: 0, page: 1 },
  });
  return items[0] ?? null;
}

/** True where somebody else is an owner of the account, and may log in. */
export const hasOtherOwner = async (records: RecordStore, scope: Scope, id: number): Promise<boolean> =>
  (await usersIn(records).count(scope, { role: 'owner', disabled: false, _id: { $ne: id } })) > 0;

/** Notes a log-in; when that was. */
export async function noteLogIn(records: RecordStore, id: number, now = new Date()): Promise<Date> {
  await markLoggedIn(records, id, now);
  return now;
}

/** Notes that a user has shown to have a phone number. */
export const notePhoneVerified = (
  records: RecordStore,
  id: number,
  phoneNumber: string,
  now = new Date(),
): Promise<void> => markPhoneVerified(records, id, phoneNumber, now);

/** Spends a step of time-based codes; false where it was spent before. */
export const spendStep = (records: RecordStore, id: number, step: number): Promise<boolean> =>
  spendTotpStep(records, id, step);

/** Changes a user of an account; null where there is none. */
export const changeUser = (
  records: RecordStore,
  scope: Scope,
  id: number,
  change: Change<User>,
  expectedVersion?: number,
): Promise<User | null> => usersIn(records).update(scope, id, change, expectedVersion);

/** The user of an id in whatever account; for sharing alone, which goes beyond the own account. */
export const findAnywhere = (records: RecordStore, id: number): Promise<User | null> => findUserAnywhere(records, id);

/** Lets none of an account's users in any more, as it is deleted; their ids. */
export async function disableUsers(records: RecordStore, scope: Scope): Promise<number[]> {
  await usersIn(records).updateMany(scope, { disabled: false }, { $set: { disabled: true } });
  return (await usersIn(records).project(scope, [])).map(({ _id }) => _id);
}
