import { AppError } from '@fleet/service-kit';
import type { Database } from '@fleet/storage';
import { Lease } from './lease.ts';

const timeoutMs = 15_000;
const pollIntervalMs = 25;

/** The last waiter of each lock in this process, so that only one per process polls the database. */
const queues = new WeakMap<Database, Map<string, Promise<unknown>>>();

/**
 * Runs `run` under a lock shared by all replicas, so that data read under the lock is current until it is written.
 * `assertHeld` throws if the lease has expired. Throws 503 `unavailable` if the lock cannot be acquired in time.
 */
export function withLock<T>(database: Database, name: string, run: (assertHeld: () => void) => Promise<T>): Promise<T> {
  return serializeLocally(database, name, async () => {
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

function serializeLocally<T>(database: Database, name: string, run: () => Promise<T>): Promise<T> {
  const queue = queues.get(database) ?? new Map<string, Promise<unknown>>();
  queues.set(database, queue);
  const result = (queue.get(name) ?? Promise.resolve()).then(run, run);
  queue.set(name, result);
  const dequeue = (): void => {
    if (queue.get(name) === result) queue.delete(name);
  };
  result.then(dequeue, dequeue);
  return result;
}
