import { AppError, KeyedMutex } from '@fleet/service-kit';
import { type Database, Lease } from '@fleet/storage';

const timeoutMs = 15_000;
const pollIntervalMs = 25;

/** The last waiter of each lock in this process, so that only one per process polls the database. */
const queues = new WeakMap<Database, KeyedMutex>();

/**
 * Runs `run` under a lock shared by all replicas, so that data read under the lock is current until it is written.
 * `assertHeld` throws if the lease has expired. Throws 503 `unavailable` if the lock cannot be acquired in time.
 */
export function withLock<T>(database: Database, name: string, run: (assertHeld: () => void) => Promise<T>): Promise<T> {
  const queue = queues.get(database) ?? new KeyedMutex();
  queues.set(database, queue);
  return queue.runExclusive(name, async () => {
    const lease = await acquire(database, name);
    try {
      return await run(() => lease.assertHeld());
    } finally {
      await lease.release();
    }
  });
}

async function acquire(database: Database, name: string): Promise<Lease> {
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    return await Lease.acquire(database, name, { signal, pollIntervalMs: pollIntervalMs });
  } catch (cause) {
    if (!signal.aborted) throw cause;
    throw new AppError('unavailable', 'The record is being modified concurrently. Retry.', { cause });
  }
}
