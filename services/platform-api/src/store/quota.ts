import { AppError } from '@fleet/service-kit';
import type { Database } from '@fleet/storage';
import { withLock } from './distributed-lock.ts';

/** So many records of a kind may be there at the same time, and what whoever wants more is told. */
export interface Quota {
  /** What is counted, and whose: `geofences of account 12`. */
  readonly name: string;
  readonly limit: number;
  readonly message: string;
}

/**
 * Makes a record where fewer than so many are there, else 409 `limit_reached`. Makers of a kind take turns, over all replicas: what is counted is what is there
 * when the record is written, so that many at once do not pass the limit together, and no count is kept that could be wrong.
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
