import { setTimeout as delay } from 'node:timers/promises';
import { type Collection, type Database, writeInBulk } from '@fleet/storage';

/** Number of operations per command, and the longest pause after it. An alarm waits for the command that is running. */
export const throttle = { batchSize: 10, maxPauseMs: 100 } as const;

type Operations<T extends object> = Parameters<typeof writeInBulk<T>>[1];

/** The last waiting writer of each database. */
const queues = new WeakMap<Database, Promise<unknown>>();

/**
 * Writes data with low priority, so that it uses at most half of the database's capacity. Writers of this process run
 * one after another, in small batches, and pause after each for as long as it took. Once `isUrgent` returns true, the
 * rest is written in one batch.
 */
export async function writeThrottled<T extends object>(
  database: Database,
  collection: Collection<T>,
  operations: Operations<T>,
  isUrgent: () => boolean,
): Promise<void> {
  for (let at = 0; at < operations.length; at += throttle.batchSize) {
    if (isUrgent()) return writeInBulk(collection, operations.slice(at));
    await enqueue(database, () => writeBatch(collection, operations.slice(at, at + throttle.batchSize)));
  }
}

/**
 * Removes found items page by page until none is left, or until `isOver`; then returns false, because items may be
 * left. `deleteBatch` gets small batches, so that a stop waits only for a short time.
 */
export async function deleteInBatches<T>(
  find: () => Promise<T[]>,
  deleteBatch: (batch: readonly T[]) => Promise<void>,
  isOver: () => boolean,
): Promise<boolean> {
  for (;;) {
    const page = await find();
    if (page.length === 0) return true;
    for (let at = 0; at < page.length; at += throttle.batchSize) {
      await deleteBatch(page.slice(at, at + throttle.batchSize));
      if (isOver()) return false;
    }
  }
}

async function writeBatch<T extends object>(collection: Collection<T>, operations: Operations<T>): Promise<void> {
  const startedMs = performance.now();
  await writeInBulk(collection, operations);
  await delay(Math.min(throttle.maxPauseMs, performance.now() - startedMs));
}

function enqueue(database: Database, run: () => Promise<void>): Promise<void> {
  const result = (queues.get(database) ?? Promise.resolve()).then(run, run);
  queues.set(database, result);
  return result;
}
