import type { Collection } from '@fleet/storage';
import { AccountRecords, type Scope } from '../../store/account-records.ts';
import type { Records } from '../../store/records.ts';
import type { Driver } from './schema.ts';

/** The name of a driver who was removed, for trips of before; `_id` is the driver's. */
interface FormerDriver {
  readonly _id: number;
  readonly accountId: number;
  readonly name: string;
  readonly removedAt: Date;
}

const formerIn = ({ database }: Records): Collection<FormerDriver> =>
  database.collection<FormerDriver>('former_drivers');

/** Keeps the name of a driver who is being removed. */
export async function keepName(
  records: Records,
  { _id, accountId, name }: Pick<Driver, '_id' | 'accountId' | 'name'>,
  removedAt: Date,
): Promise<void> {
  await formerIn(records).updateOne({ _id }, { $set: { accountId, name, removedAt } }, { upsert: true });
}

/** Names of removed drivers of an account, by id. */
export async function formerNames(
  records: Records,
  { accountId }: Scope,
  ids: readonly number[],
): Promise<Map<number, string>> {
  if (ids.length === 0) return new Map();
  const found = await formerIn(records)
    .find({ _id: { $in: [...ids] }, accountId })
    .toArray();
  return new Map(found.map(({ _id, name }) => [_id, name]));
}

/** Forgets names of drivers who were removed before a moment. */
export const removeFormerBefore = async (records: Records, before: Date): Promise<void> => {
  await formerIn(records).deleteMany({ removedAt: { $lt: before } });
};

export const driversIn = (records: Records): AccountRecords<Driver> =>
  new AccountRecords<Driver>(records, 'drivers', { unique: { licenseNumber: 'account', cardNumber: 'account' } });
