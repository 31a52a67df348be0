import { AppError } from '@fleet/service-kit';
import type { Database } from '@fleet/storage';
import { Lease } from './lease.ts';

const timeoutMs = 15_000;
const pollIntervalMs = 25;

/** The last one in the line of each name, so that one of a process asks the database for the turn, and not all of them. */
const queues = new WeakMap<Database, Map<string, Promise<unknown>>>();

/**
 * Runs something while nobody else runs anything of this name, over all replicas: what it reads is so until it has written. `check` throws where the turn has run
 * out meanwhile. Whoever waits for too long is told 503 `unavailable`.
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
    throw new AppError('unavailable', 'Others are changing the same at the moment: try again.', { cause });
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
