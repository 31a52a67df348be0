import type { Page, Pagination, Sort } from '@fleet/service-kit';
import type { Collection, Database } from '@fleet/storage';
import { findByIds, isDuplicateKey } from '@fleet/storage';
import { AccountRepository, type Filter, type Scope, toSortOrder } from '../../store/account-repository.ts';
import type { NewRecord, RecordStore } from '../../store/record-store.ts';
import { writeThrottled } from '../../store/throttled-writes.ts';
import type { Media, MediaRemoval, MediaUsage } from './schema.ts';
import { hasThumbnail } from './thumbnail-state.ts';

const collectionName = 'media';

const toUniqueKey = (mediaKey: string): string => `${collectionName}.mediaKey:${mediaKey}`;

const mediaCollection = (records: RecordStore): AccountRepository<Media> =>
  new AccountRepository<Media>(records, 'media', { unique: { mediaKey: 'system' } });

const removalCollection = (database: Database): Collection<MediaRemoval> =>
  database.collection<MediaRemoval>('media_removals');

const usageCollection = (database: Database): Collection<MediaUsage> => database.collection<MediaUsage>('media_usage');

const mediaOfAllAccounts = (records: RecordStore): Collection<Media> => records.collection<Media>('media');

/** Creates the record of a file unless it exists. Repeating it after a crash returns the same record. */
export const insertMedia = (
  records: RecordStore,
  fields: NewRecord<Media>,
): Promise<{ record: Media; created: boolean }> =>
  records.insertUnique<Media>(collectionName, 'mediaKey', fields.mediaKey, fields);

export const findByKey = (records: RecordStore, key: string): Promise<Media | null> =>
  records.findByUnique<Media>(collectionName, 'mediaKey', key);

/** Returns the files with the keys, by key. */
export async function findByKeys(records: RecordStore, keys: readonly string[]): Promise<Map<string, Media>> {
  const holders = await findByIds(
    records.uniqueValues,
    keys.map((key) => toUniqueKey(key)),
  );
  const ids = holders.map(({ recordId }) => recordId);
  const found = await findByIds(mediaOfAllAccounts(records), ids);
  return new Map(found.map((media) => [media.mediaKey, media]));
}

/** Returns a file of any account; the caller checks whether it is visible. */
export const findMedia = (records: RecordStore, id: number): Promise<Media | null> =>
  mediaOfAllAccounts(records).findOne({ _id: id });

/** Returns those of the ids whose files have a thumbnail, or may get one. */
export async function findIdsWithThumbnail(records: RecordStore, ids: readonly number[]): Promise<Set<number>> {
  if (ids.length === 0) return new Set();
  const filter: object = { _id: { $in: [...new Set(ids)] } };
  const found = await mediaOfAllAccounts(records)
    .find(filter, { projection: { preview: 1, previewDueAt: 1 } })
    .toArray();
  return new Set(found.filter(hasThumbnail).map(({ _id }) => _id));
}

export const updateMedia = (
  records: RecordStore,
  scope: Scope,
  id: number,
  change: Partial<
    Pick<Media, 'protected' | 'notificationId' | 'file' | 'preview' | 'previewDueAt' | 'isPreviewRunning'>
  >,
  expectedVersion?: number,
): Promise<Media | null> => mediaCollection(records).update(scope, id, change, expectedVersion);

/** Removes the record if it matches `where`. Returns null if it does not, or if it was removed concurrently. */
export const removeRecord = (
  records: RecordStore,
  scope: Scope,
  id: number,
  where: Filter = {},
): Promise<Media | null> => mediaCollection(records).remove(scope, id, { where });

/** Ends the protection of all files of a vehicle. */
export const unprotectAll = async (records: RecordStore, scope: Scope, vehicleId: number): Promise<void> => {
  await mediaCollection(records).updateMany(scope, { vehicleId, protected: true }, { $set: { protected: false } });
};

/** Deletes the unique key of a removed record, which a process that died while creating it may have left. */
export const deleteUniqueKey = async (records: RecordStore, key: string, recordId: number): Promise<void> => {
  await records.uniqueValues.deleteOne({ _id: toUniqueKey(key), recordId });
};

/** Returns one page of the files of a vehicle. */
export async function listMediaOfVehicle(
  records: RecordStore,
  vehicle: { readonly accountId: number; readonly _id: number },
  { where, sorting, paging }: { readonly where: Filter; readonly sorting: Sort; readonly paging: Pagination },
): Promise<Page<Media>> {
  const filter: object = { ...where, vehicleId: vehicle._id, accountId: vehicle.accountId };
  const found = mediaOfAllAccounts(records)
    .find(filter)
    .sort(toSortOrder(sorting))
    .skip(paging.offset)
    .limit(paging.limit);
  const [items, total] = await Promise.all([found.toArray(), mediaOfAllAccounts(records).countDocuments(filter)]);
  return { items, total };
}

/** Returns the times of the files of a vehicle that were taken in a span, in ms; `toMs` is excluded. */
export async function findTakenTimes(
  records: RecordStore,
  vehicle: { readonly accountId: number; readonly _id: number },
  { fromMs, toMs }: { readonly fromMs: number; readonly toMs: number },
): Promise<number[]> {
  const takenAt = { $gte: new Date(fromMs), $lt: new Date(toMs) };
  const filter: object = { vehicleId: vehicle._id, accountId: vehicle.accountId, takenAt };
  const found = await mediaOfAllAccounts(records)
    .find(filter, { projection: { takenAt: 1 } })
    .toArray();
  return found.map((media) => media.takenAt.getTime());
}

/** Returns files of a vehicle that may be removed, in the order of their reception. */
export const listOldestUnprotected = (records: RecordStore, vehicleId: number, limit: number): Promise<Media[]> =>
  mediaOfAllAccounts(records)
    .find({ vehicleId, protected: false })
    .sort({ receivedAt: 1, _id: 1 })
    .limit(limit)
    .toArray();

/** Returns files whose preview is due, the oldest first. */
export const listDuePreviews = (records: RecordStore, now: Date, limit: number): Promise<Media[]> =>
  mediaOfAllAccounts(records)
    .find({ previewDueAt: { $lt: now } } as object)
    .sort({ previewDueAt: 1 })
    .limit(limit)
    .toArray();

/** Claims the preview of a file until a time, as its n-th attempt. Returns false if another process has claimed it. */
export async function claimPreview(
  records: RecordStore,
  { _id, previewDueAt = null }: Media,
  { until, attempts }: { readonly until: Date; readonly attempts: number },
): Promise<boolean> {
  const filter: object = { _id, previewDueAt };
  const change = { $set: { previewDueAt: until, previewAttempts: attempts, isPreviewRunning: true } };
  return (await mediaOfAllAccounts(records).updateOne(filter, change)).modifiedCount === 1;
}

/** Sets when a preview is retried; null gives it up. The record itself does not change. */
export const setPreviewDue = async (records: RecordStore, { _id }: Media, dueAt: Date | null): Promise<void> => {
  await mediaOfAllAccounts(records).updateOne(
    { _id },
    { $set: { previewDueAt: dueAt, isPreviewRunning: false } as object },
  );
};

/** Returns files of an account that were received before a time and may be removed. */
export const listReceivedBefore = (records: RecordStore, scope: Scope, before: Date, limit: number): Promise<Media[]> =>
  mediaOfAllAccounts(records)
    .find({ accountId: scope.accountId, protected: false, receivedAt: { $lt: before } })
    .limit(limit)
    .toArray();

export const listMediaOfAccount = (records: RecordStore, { accountId }: Scope, limit: number): Promise<Media[]> =>
  mediaOfAllAccounts(records).find({ accountId }).limit(limit).toArray();

/** Returns clips in the order of their ids, after a given id. */
export const listClipsAfter = (records: RecordStore, afterId: number, limit: number): Promise<Media[]> =>
  mediaOfAllAccounts(records)
    .find({ source: 'upload', _id: { $gt: afterId } })
    .sort({ _id: 1 })
    .limit(limit)
    .toArray();

/** Returns the total size of the files of a vehicle. */
export async function sumBytes(records: RecordStore, vehicleId: number): Promise<number> {
  let bytes = 0;
  const found = mediaOfAllAccounts(records).find({ vehicleId }, { projection: { sizeBytes: 1 } });
  for await (const { sizeBytes } of found) bytes += sizeBytes;
  return bytes;
}

export const findRemoval = (database: Database, key: string): Promise<MediaRemoval | null> =>
  removalCollection(database).findOne({ _id: key });

/**
 * Records a removal. A removal that is recorded again, for example because a terminal sent the file again, is pending
 * again.
 */
export async function recordRemoval(
  database: Database,
  { _id, ...fields }: Omit<MediaRemoval, 'notedAt' | 'doneAt'>,
): Promise<MediaRemoval> {
  const removal = { ...fields, notedAt: new Date(), doneAt: null };
  try {
    await removalCollection(database).updateOne({ _id }, { $set: removal }, { upsert: true });
  } catch (error) {
    // The removal was recorded concurrently.
    if (!isDuplicateKey(error)) throw error;
  }
  return { _id, ...removal };
}

export const markRemovalCompleted = async (database: Database, { _id, file }: MediaRemoval): Promise<void> => {
  // A file that was sent again concurrently is on another server.
  const filter: object = file === null ? { _id } : { _id, 'file.server': file.server };
  await removalCollection(database).updateOne(filter, { $set: { doneAt: new Date() } });
};

/** Deletes a removal that is not needed after all, unless it was recorded again since. */
export const cancelRemoval = async (database: Database, { _id, recordId, notedAt }: MediaRemoval): Promise<void> => {
  await removalCollection(database).deleteOne({ _id, recordId, notedAt, sparesProtected: true, doneAt: null });
};

/** Returns pending removals that were recorded since a time, the oldest first, without some servers and some ids. */
export const listPendingRemovals = (
  database: Database,
  sinceMs: number,
  limit: number,
  except: { readonly servers: readonly string[]; readonly ids: readonly string[] },
): Promise<MediaRemoval[]> => {
  const filter: object = {
    doneAt: null,
    notedAt: { $gte: new Date(sinceMs) },
    'file.server': { $nin: except.servers },
    _id: { $nin: except.ids },
  };
  return removalCollection(database).find(filter).sort({ notedAt: 1 }).limit(limit).toArray();
};

export const listPendingRemovalsOfAccount = (database: Database, { accountId }: Scope): Promise<MediaRemoval[]> =>
  removalCollection(database).find({ accountId, doneAt: null }).toArray();

/** Deletes the completed removals of a deleted account. */
export const deleteCompletedRemovals = async (database: Database, { accountId }: Scope): Promise<void> => {
  await removalCollection(database).deleteMany({ accountId, doneAt: { $ne: null } });
};

/**
 * Returns queries for removals that were completed before one time, and for those that were recorded before another.
 * Each call finds some of them.
 */
export const oldRemovalQueries = (
  database: Database,
  before: { readonly completed: Date; readonly recorded: Date },
  limit: number,
): (() => Promise<Pick<MediaRemoval, '_id'>[]>)[] =>
  [{ doneAt: { $lt: before.completed, $ne: null } }, { notedAt: { $lt: before.recorded } }].map(
    (filter: object) => () =>
      removalCollection(database)
        .find(filter, { projection: { _id: 1 } })
        .limit(limit)
        .toArray(),
  );

export const deleteRemovals = (database: Database, some: readonly Pick<MediaRemoval, '_id'>[]): Promise<void> => {
  const removals = some.map(({ _id }) => ({ deleteOne: { filter: { _id } } }));
  return writeThrottled(database, removalCollection(database), removals, () => false);
};

/**
 * `nearlyFullAtMs` of a vehicle whose storage is not nearly full. It is a number, as some databases omit null when they
 * create a document.
 */
export const belowThreshold = 0;

/**
 * Adds the bytes of files that were added or removed, and returns the usage. Removed bytes are ignored if the vehicle
 * has no usage record.
 */
export async function incrementUsage(
  database: Database,
  { accountId, vehicleId }: Pick<Media, 'accountId' | 'vehicleId'>,
  bytes: number,
): Promise<MediaUsage> {
  const update = {
    $inc: { bytes, revision: 1 },
    $setOnInsert: { accountId, nearlyFullAtMs: belowThreshold, isTold: false },
  } as object;
  for (;;) {
    try {
      const options = { upsert: bytes >= 0, returnDocument: 'after' } as const;
      const usage = await usageCollection(database).findOneAndUpdate({ _id: vehicleId }, update, options);
      if (usage !== null) return usage;
      if (bytes < 0)
        return { _id: vehicleId, accountId, bytes: 0, revision: 0, nearlyFullAtMs: belowThreshold, isTold: false };
    } catch (error) {
      // Two callers created the record concurrently: the second one finds it on its next attempt.
      if (!isDuplicateKey(error)) throw error;
    }
  }
}

export const findUsage = (database: Database, vehicleId: number): Promise<MediaUsage | null> =>
  usageCollection(database).findOne({ _id: vehicleId });

/** Deletes the usage of a deleted vehicle. */
export const deleteUsage = async (database: Database, vehicleId: number): Promise<void> => {
  await usageCollection(database).deleteOne({ _id: vehicleId });
};

export const listUsageAfter = (database: Database, vehicleId: number, limit: number): Promise<MediaUsage[]> =>
  usageCollection(database)
    .find({ _id: { $gt: vehicleId } })
    .sort({ _id: 1 })
    .limit(limit)
    .toArray();

/** Changes the usage of a vehicle unless it has changed since it was read; returns null if it has. */
export const updateUsage = (
  database: Database,
  { _id, revision }: MediaUsage,
  change: Partial<Pick<MediaUsage, 'bytes' | 'nearlyFullAtMs' | 'isTold'>>,
): Promise<MediaUsage | null> =>
  usageCollection(database).findOneAndUpdate(
    { _id, revision },
    { $set: change, $inc: { revision: 1 } },
    { returnDocument: 'after' },
  );

/** Marks the notification with this time as recorded. */
export const markNearlyFullNotified = async (
  database: Database,
  vehicleId: number,
  nearlyFullAtMs: number,
): Promise<void> => {
  await usageCollection(database).updateOne({ _id: vehicleId, nearlyFullAtMs }, { $set: { isTold: true } });
};
