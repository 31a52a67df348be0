import type { Database } from '@fleet/storage';
import { bucketCollection } from './buckets.ts';

/** Returns whether a terminal has positions of other accounts than the given ones. */
export const hasForeignPositions = async (
  database: Database,
  imei: string,
  accountIds: readonly number[],
): Promise<boolean> =>
  (await bucketCollection(database).findOne({
    _id: { $gte: `${imei}:`, $lt: `${imei};` },
    accountId: { $nin: [...accountIds] },
  })) !== null;
