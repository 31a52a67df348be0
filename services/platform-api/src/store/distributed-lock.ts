import { AppError, KeyedMutex } from '@fleet/service-kit';
import { type Database, Lease } from '@fleet/storage';

const timeoutMs = 15_000;
const pollIntervalMs = 25;

/** Per process, so that one caller of each name polls the database instead of all of them. */
const queues = new WeakMap<Database, KeyedMutex>();

/**
 * Runs something while nobody else runs anything of this name, over all replicas: what it reads is so until it has written. `check` throws where the turn has run
 * out meanwhile. Whoever waits for too long is told 503 `unavailable`.
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
    throw new AppError('unavailable', 'Others are changing the same at the moment: try again.', { cause });
  }
}
