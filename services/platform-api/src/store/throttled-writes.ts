import { setTimeout as delay } from 'node:timers/promises';
import { type Collection, type Database, writeInBulk } from '@fleet/storage';

/** How much is written in one command, and the longest pause after it. An alarm waits for the command that is under way. */
export const throttle = { batchSize: 10, maxPauseMs: 100 } as const;

type Operations<T extends object> = Parameters<typeof writeInBulk<T>>[1];

/** The last one in the line of each database. */
const queues = new WeakMap<Database, Promise<unknown>>();

/**
 * Writes what nobody waits for, so that it takes half of the database at most: a few at a time, one writer of this process after the other, and a pause behind each that is
 * as long as it took. Once it `isUrgent` the rest goes in one go.
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
 * Removes what is found, page by page, until nothing is found any more, or it is over: false where something may be left. `remove` is given as few as are written at once,
 * so that whoever stops waits for little.
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
