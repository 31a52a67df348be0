import { type PageItems, type Paging, type Sorting, versionMismatch } from '@fleet/service-kit';
import { type Conditions, orderOf } from '../../store/account-records.ts';
import type { NewRecord, Records } from '../../store/records.ts';
import type { Account } from './schema.ts';

const accountsIn = (records: Records) => records.collection<Account>('accounts');

/** The account is tied to its first owner's e-mail, so that a repeated or interrupted creation makes one account. */
export const insertAccountOf = (records: Records, ownerEmail: string, account: NewRecord<Account>) =>
  records.insertUnique<Account>('accounts', 'first_owner', ownerEmail, account);

/** Deleted accounts are there for the last three functions of this file alone. */
const isThere = { deletedAt: null };

export const findAccount = (records: Records, id: number): Promise<Account | null> =>
  accountsIn(records).findOne({ _id: id, ...isThere });

export async function insertAccount(records: Records, fields: NewRecord<Account>): Promise<Account> {
  const now = new Date();
  const account = { ...fields, _id: await records.nextId('accounts'), createdAt: now, updatedAt: now, version: 1 };
  await accountsIn(records).insertOne(account);
  return account;
}

/** For an account whose first owner could not be made. */
export async function removeAccount(records: Records, id: number): Promise<void> {
  await accountsIn(records).deleteOne({ _id: id });
}

/** Changes an account; null where there is none. With `expectedVersion` (If-Match) another version is 412. */
export async function updateAccount(
  records: Records,
  id: number,
  change: Partial<Pick<Account, 'name' | 'status' | 'timezone' | 'city' | 'country' | 'deletedAt'>>,
  expectedVersion?: number,
): Promise<Account | null> {
  const changed = await accountsIn(records).findOneAndUpdate(
    { _id: id, ...isThere, ...(expectedVersion === undefined ? {} : { version: expectedVersion }) },
    { $set: { ...change, updatedAt: new Date() }, $inc: { version: 1 } },
    { returnDocument: 'after' },
  );
  if (changed !== null || expectedVersion === undefined) return changed;
  const now = await findAccount(records, id);
  if (now !== null) throw versionMismatch(now.version);
  return null;
}

/** A page of the accounts below some dealers' accounts, or of all accounts. */
export async function listAccounts(
  records: Records,
  dealerAccountIds: readonly number[] | null,
  { where, sorting, paging }: { where: Conditions; sorting: Sorting; paging: Paging },
): Promise<PageItems<Account>> {
  const filter = {
    ...where,
    ...isThere,
    ...(dealerAccountIds === null ? {} : { dealerAccountId: { $in: [...dealerAccountIds] } }),
  };
  const found = accountsIn(records).find(filter).sort(orderOf(sorting)).skip(paging.offset).limit(paging.limit);
  const [items, total] = await Promise.all([found.toArray(), accountsIn(records).countDocuments(filter)]);
  return { items, total };
}

/** Returns whether the installation has one account, and no more. */
export const hasOneAccount = async (records: Records): Promise<boolean> =>
  (await accountsIn(records).countDocuments(isThere, { limit: 2 })) === 1;

/** Ids of the accounts that the dealers with these accounts have made. */
export async function accountsMadeBy(records: Records, dealerAccountIds: readonly number[]): Promise<number[]> {
  const made = await accountsIn(records)
    .find({ dealerAccountId: { $in: [...dealerAccountIds] }, ...isThere })
    .toArray();
  return made.map(({ _id }) => _id);
}

/** Deleted accounts that something of goes on by itself still, or whose personal fields were not removed though they were deleted before a moment. */
export const findDeleted = (records: Records, which: 'not ended' | { readonly before: Date }): Promise<Account[]> =>
  accountsIn(records)
    .find(
      which === 'not ended'
        ? { deletedAt: { $gt: new Date(0) }, isEnded: false }
        : { deletedAt: { $gt: new Date(0), $lte: which.before }, isEnded: true, erasedAt: null },
    )
    .limit(100)
    .toArray();

/** Notes how far the end of an account has come. */
export async function noteEnd(
  records: Records,
  id: number,
  change: Partial<Pick<Account, 'isEnded' | 'erasedAt' | 'name' | 'city' | 'country'>>,
): Promise<void> {
  await accountsIn(records).updateOne({ _id: id }, { $set: { ...change, updatedAt: new Date() } });
}

/** Whether the personal fields of an account have been removed. */
export async function isErased(records: Records, id: number): Promise<boolean> {
  const erased = await accountsIn(records).findOne({ _id: id }, { projection: { erasedAt: 1 } });
  return erased !== null && erased.erasedAt !== null && erased.erasedAt !== undefined;
}
