import { dayMs } from '@fleet/service-kit';
import { type Collection, type Database, isDuplicateKey } from '@fleet/storage';
import type { JobSlice } from '../../jobs/job-slice.ts';
import { AccountRepository, type NewAccountRecord } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import { deleteInBatches, writeThrottled } from '../../store/throttled-writes.ts';
import type { AuditEntry } from './schema.ts';

const collectionName = 'audit_log';

/** Maps an event of another service to its entry, so that a redelivered event does not create a second one. */
interface DedupeEntry {
  /** The id of the event. */
  readonly _id: string;
  readonly recordId: number;
  readonly takenAt: Date;
}

const dedupeCollection = (database: Database): Collection<DedupeEntry> =>
  database.collection<DedupeEntry>('audit_told');

export const auditEntryCollection = (records: RecordStore): AccountRepository<AuditEntry> =>
  new AccountRepository(records, collectionName);

/** Inserts the entry of an event once. A repeated call after a crash completes what the first one started. */
export async function insertOnce(
  records: RecordStore,
  source: { readonly id: string; readonly accountId: number; readonly at: Date },
  fields: NewAccountRecord<AuditEntry>,
): Promise<void> {
  const { id, accountId, at } = source;
  const recordId = await claimRecordId(records, id);
  const times = { createdAt: at, updatedAt: at, version: 1 };
  try {
    await records.collection<AuditEntry>(collectionName).insertOne({ _id: recordId, ...fields, accountId, ...times });
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
}

async function claimRecordId(records: RecordStore, id: string): Promise<number> {
  const dedupe = dedupeCollection(records.database);
  const recordId = await records.nextId(collectionName);
  try {
    await dedupe.insertOne({ _id: id, recordId, takenAt: new Date() });
    return recordId;
  } catch (error) {
    if (!isDuplicateKey(error)) throw error;
  }
  const existing = await dedupe.findOne({ _id: id });
  if (existing === null) throw new Error(`the dedupe record ${id} of the audit log was deleted during a redelivery`);
  return existing.recordId;
}

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
    records.collection<AuditEntry>(collectionName),
    { createdAt: { $lt: new Date(nowMs - entryRetentionMs) } },
    slice,
  );

/** Deleted records no longer match the condition, so the next slice needs no position of its own. */
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
