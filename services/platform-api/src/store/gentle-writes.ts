import { setTimeout as delay } from 'node:timers/promises';
import { type Collection, type Database, writeInBulk } from '@fleet/storage';

/** How much is written in one command, and the longest pause after it. An alarm waits for the command that is under way. */
export const gentleWrites = { atOnce: 10, longestPauseMs: 100 } as const;

type Operations<T extends object> = Parameters<typeof writeInBulk<T>>[1];

/** The last one in the line of each database. */
const lines = new WeakMap<Database, Promise<unknown>>();

/**
 * Writes what nobody waits for, so that it takes half of the database at most: a few at a time, one writer of this process after the other, and a pause behind each that is
 * as long as it took. Once it `isUrgent` the rest goes in one go.
 */
export async function writeGently<T extends object>(
  database: Database,
  collection: Collection<T>,
  operations: Operations<T>,
  isUrgent: () => boolean,
): Promise<void> {
  for (let at = 0; at < operations.length; at += gentleWrites.atOnce) {
    if (isUrgent()) return writeInBulk(collection, operations.slice(at));
    await inLine(database, () => writeSome(collection, operations.slice(at, at + gentleWrites.atOnce)));
  }
}

/**
 * Removes what is found, page by page, until nothing is found any more, or it is over: false where something may be left. `remove` is given as few as are written at once,
 * so that whoever stops waits for little.
 */
export async function removeGently<T>(
  find: () => Promise<T[]>,
  remove: (some: readonly T[]) => Promise<void>,
  isOver: () => boolean,
): Promise<boolean> {
  for (;;) {
    const page = await find();
    if (page.length === 0) return true;
    for (let at = 0; at < page.length; at += gentleWrites.atOnce) {
      await remove(page.slice(at, at + gentleWrites.atOnce));
      if (isOver()) return false;
    }
  }
}

async function writeSome<T extends object>(collection: Collection<T>, operations: Operations<T>): Promise<void> {
  const startedMs = performance.now();
  await writeInBulk(collection, operations);
  await delay(Math.min(gentleWrites.longestPauseMs, performance.now() - startedMs));
}

function inLine(database: Database, run: () => Promise<void>): Promise<void> {
  const turn = (lines.get(database) ?? Promise.resolve()).then(run, run);
  lines.set(database, turn);
  return turn;
}
