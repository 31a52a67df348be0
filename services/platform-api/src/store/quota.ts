import { AppError } from '@fleet/service-kit';
import type { Database } from '@fleet/storage';
import { withLock } from './distributed-lock.ts';

/** Largest number of records of a kind, and the error message when it is reached. */
interface Quota {
  /** What is counted, and for which owner: `geofences of account 12`. */
  readonly name: string;
  readonly limit: number;
  readonly message: string;
}

/**
 * Creates a record if there are fewer than `limit`, else throws 409 `limit_reached`. Creation is locked over all
 * replicas, so that concurrent requests cannot exceed the limit together. Existing records are counted each time,
 * because a stored count could be wrong.
 */
export const insertWithinQuota = <T>(
  database: Database,
  { name, limit, message }: Quota,
  count: () => Promise<number>,
  insert: () => Promise<T>,
): Promise<T> =>
  withLock(database, `limit: ${name}`, async (assertHeld) => {
    if ((await count()) >= limit) throw new AppError('limit_reached', message);
    assertHeld();
    return insert();
  });
