import type { Database } from '@fleet/storage';
import { failureCollection, oneTimeCodeCollection, resetTokenCollection } from './store.ts';

/** Removes expired failure counts, one-time codes and reset tokens. */
export async function purgeExpiredAuth(database: Database, now = new Date()): Promise<void> {
  const expired = { expiresAt: { $lt: now } };
  await failureCollection(database).deleteMany(expired);
  await oneTimeCodeCollection(database).deleteMany(expired);
  await resetTokenCollection(database).deleteMany(expired);
}
