import { dayMs } from '@fleet/service-kit';
import type { Collection, Database } from '@fleet/storage';
import type { JobSlice } from '../../jobs/job-slice.ts';
import type { RecordStore } from '../../store/record-store.ts';
import { deleteInBatches, writeThrottled } from '../../store/throttled-writes.ts';
import { dedupeCollection, entriesOfAllAccounts } from './store.ts';

/** Longer than the retention of the stream AUDIT, which limits redeliveries. */
const dedupeRetentionMs = 8 * dayMs;
const batchSize = 1_000;

/**
 * Deletes dedupe records whose events cannot be redelivered. Returns the position to continue from, or null if all are
 * deleted.
 */
export const purgeDedupe = (database: Database, slice: JobSlice, nowMs = Date.now()): Promise<number | null> =>
  purgeOld(database, dedupeCollection(database), { takenAt: { $lt: new Date(nowMs - dedupeRetentionMs) } }, slice);

const entryRetentionMs = 365 * dayMs;

/** Deletes entries older than a year. Returns the position to continue from, or null if all are deleted. */
export const purgeEntries = (records: RecordStore, slice: JobSlice, nowMs = Date.now()): Promise<number | null> =>
  purgeOld(
    records.database,
    entriesOfAllAccounts(records),
    { createdAt: { $lt: new Date(nowMs - entryRetentionMs) } },
    slice,
  );

// Deleted records no longer match the condition, so the next slice needs no position of its own.
async function purgeOld<T extends { readonly _id: string | number }>(
  database: Database,
  collection: Collection<T>,
  condition: object,
  { from, isOver }: JobSlice,
): Promise<number | null> {
  const find = () =>
    collection
      .find(condition, { projection: { _id: 1 } })
      .limit(batchSize)
      .toArray();
  const deleteBatch = (batch: Awaited<ReturnType<typeof find>>): Promise<void> => {
    const removals = batch.map(({ _id }) => {
      const filter: object = { _id };
      return { deleteOne: { filter } };
    });
    return writeThrottled(database, collection, removals, () => false);
  };
  return (await deleteInBatches(find, (some) => deleteBatch([...some]), isOver)) ? null : from;
}
