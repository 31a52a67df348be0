import { type Page, type Pagination, type Sort, versionMismatch } from '@fleet/service-kit';
import { type Filter, toSortOrder } from '../../store/account-repository.ts';
import type { NewRecord, RecordStore } from '../../store/record-store.ts';
import type { Account } from './schema.ts';

const accountCollection = (records: RecordStore) => records.collection<Account>('accounts');

/**
 * Inserts an account under its first owner's e-mail, so that a repeated or interrupted creation results in one account.
 */
export const insertAccountForOwner = (records: RecordStore, ownerEmail: string, account: NewRecord<Account>) =>
  records.insertUnique<Account>('accounts', 'first_owner', ownerEmail, account);

/** Excludes deleted accounts. Only the last three functions of this file see them. */
const notDeleted = { deletedAt: null };

export const findAccount = (records: RecordStore, id: number): Promise<Account | null> =>
  accountCollection(records).findOne({ _id: id, ...notDeleted });

export async function insertAccount(records: RecordStore, fields: NewRecord<Account>): Promise<Account> {
  const now = new Date();
  const account = { ...fields, _id: await records.nextId('accounts'), createdAt: now, updatedAt: now, version: 1 };
  await accountCollection(records).insertOne(account);
  return account;
}

/** Removes an account whose first owner could not be created. */
export async function removeAccount(records: RecordStore, id: number): Promise<void> {
  await accountCollection(records).deleteOne({ _id: id });
}

/**
 * Changes an account; returns null if it does not exist. Throws 412 if `expectedVersion` (If-Match) is not the current
 * version.
 */
export async function updateAccount(
  records: RecordStore,
  id: number,
  change: Partial<Pick<Account, 'name' | 'status' | 'timezone' | 'city' | 'country' | 'deletedAt'>>,
  expectedVersion?: number,
): Promise<Account | null> {
  const changed = await accountCollection(records).findOneAndUpdate(
    { _id: id, ...notDeleted, ...(expectedVersion === undefined ? {} : { version: expectedVersion }) },
    { $set: { ...change, updatedAt: new Date() }, $inc: { version: 1 } },
    { returnDocument: 'after' },
  );
  if (changed !== null || expectedVersion === undefined) return changed;
  const now = await findAccount(records, id);
  if (now !== null) throw versionMismatch(now.version);
  return null;
}

/** Returns a page of the accounts directly below the given dealer accounts, or of all accounts. */
export async function listAccounts(
  records: RecordStore,
  dealerAccountIds: readonly number[] | null,
  { where, sorting, paging }: { where: Filter; sorting: Sort; paging: Pagination },
): Promise<Page<Account>> {
  const filter = {
    ...where,
    ...notDeleted,
    ...(dealerAccountIds === null ? {} : { dealerAccountId: { $in: [...dealerAccountIds] } }),
  };
  const cursor = accountCollection(records)
    .find(filter)
    .sort(toSortOrder(sorting))
    .skip(paging.offset)
    .limit(paging.limit);
  const [items, total] = await Promise.all([cursor.toArray(), accountCollection(records).countDocuments(filter)]);
  return { items, total };
}

/** Returns whether the installation has exactly one account. */
export const isSingleAccount = async (records: RecordStore): Promise<boolean> =>
  (await accountCollection(records).countDocuments(notDeleted, { limit: 2 })) === 1;

/** Returns the ids of the accounts that the dealers with these accounts have created. */
export async function childAccountIds(records: RecordStore, dealerAccountIds: readonly number[]): Promise<number[]> {
  const children = await accountCollection(records)
    .find({ dealerAccountId: { $in: [...dealerAccountIds] }, ...notDeleted })
    .toArray();
  return children.map(({ _id }) => _id);
}

/**
 * Returns deleted accounts whose automatic processing has not ended, or those deleted before a time whose personal
 * fields are not yet removed.
 */
export const findDeleted = (
  records: RecordStore,
  criterion: 'not ended' | { readonly before: Date },
): Promise<Account[]> =>
  accountCollection(records)
    .find(
      criterion === 'not ended'
        ? { deletedAt: { $gt: new Date(0) }, isEnded: false }
        : { deletedAt: { $gt: new Date(0), $lte: criterion.before }, isEnded: true, erasedAt: null },
    )
    .limit(100)
    .toArray();

/** Records the progress of an account's deletion. */
export async function setDeletionStep(
  records: RecordStore,
  id: number,
  change: Partial<Pick<Account, 'isEnded' | 'erasedAt' | 'name' | 'city' | 'country'>>,
): Promise<void> {
  await accountCollection(records).updateOne({ _id: id }, { $set: { ...change, updatedAt: new Date() } });
}

/** Returns whether the personal fields of an account have been removed. */
export async function isErased(records: RecordStore, id: number): Promise<boolean> {
  const erased = await accountCollection(records).findOne({ _id: id }, { projection: { erasedAt: 1 } });
  return erased !== null && erased.erasedAt !== null && erased.erasedAt !== undefined;
}
