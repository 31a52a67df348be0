import type { Collection } from '@fleet/storage';
import { AccountRepository, type Scope } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { Driver } from './schema.ts';

/** The name of a removed driver, for earlier trips. `_id` is the id of the driver. */
interface ArchivedDriver {
  readonly _id: number;
  readonly accountId: number;
  readonly name: string;
  readonly removedAt: Date;
}

const archivedDriverCollection = ({ database }: RecordStore): Collection<ArchivedDriver> =>
  database.collection<ArchivedDriver>('former_drivers');

/** Stores the name of a driver who is being removed. */
export async function archiveName(
  records: RecordStore,
  { _id, accountId, name }: Pick<Driver, '_id' | 'accountId' | 'name'>,
  removedAt: Date,
): Promise<void> {
  await archivedDriverCollection(records).updateOne(
    { _id },
    { $set: { accountId, name, removedAt } },
    { upsert: true },
  );
}

/** Returns names of removed drivers of an account by id. */
export async function archivedNames(
  records: RecordStore,
  { accountId }: Scope,
  ids: readonly number[],
): Promise<Map<number, string>> {
  if (ids.length === 0) return new Map();
  const found = await archivedDriverCollection(records)
    .find({ _id: { $in: [...ids] }, accountId })
    .toArray();
  return new Map(found.map(({ _id, name }) => [_id, name]));
}

/** Deletes the names of drivers who were removed before a time. */
export const removeArchivedBefore = async (records: RecordStore, before: Date): Promise<void> => {
  await archivedDriverCollection(records).deleteMany({ removedAt: { $lt: before } });
};

export const driverCollection = (records: RecordStore): AccountRepository<Driver> =>
  new AccountRepository<Driver>(records, 'drivers', { unique: { licenseNumber: 'account', cardNumber: 'account' } });
