import type { Database } from '@fleet/storage';
import { addressesIn } from './store.ts';

/** Deletes expired addresses and returns their number. */
export const removeExpiredAddresses = async (database: Database, now = new Date()): Promise<number> =>
  (await addressesIn(database).deleteMany({ expiresAt: { $lte: now } })).deletedCount;
