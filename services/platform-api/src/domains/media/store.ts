import type { Page, Pagination, Sort } from '@fleet/service-kit';
import type { Collection, Database } from '@fleet/storage';
import { isDuplicateKey } from '@fleet/storage';
import { AccountRepository, type Filter, type Scope, toSortOrder } from '../../store/account-repository.ts';
import type { NewRecord, RecordStore } from '../../store/record-store.ts';
import { writeThrottled } from '../../store/throttled-writes.ts';
import type { Media, MediaRemoval, MediaUsage } from './schema.ts';

const collectionName = 'media';

const mediaIn = (records: RecordStore): AccountRepository<Media> =>
  new AccountRepository<Media>(records, 'media', { unique: { mediaKey: 'system' } });

const removalsIn = (database: Database): Collection<MediaRemoval> =>
  database.collection<MediaRemoval>('media_removals');

const usageIn = (database: Database): Collection<MediaUsage> => database.collection<MediaUsage>('media_usage');

const allMedia = (records: RecordStore): Collection<Media> => records.collection<Media>('media');

/** Creates the record of a file unless it exists. Repeating it after a crash returns the same record. */
export const insertMedia = (
  records: RecordStore,
  fields: NewRecord<Media>,
): Promise<{ record: Media; created: boolean }> =>
  records.insertUnique<Media>(collectionName, 'mediaKey', fields.mediaKey, fields);

export const findByKey = (records: RecordStore, key: string): Promise<Media | null> =>
  records.findByUnique<Media>(collectionName, 'mediaKey', key);

/** Returns a file of any account; the caller checks whether it is visible. */
export const findMedia = (records: RecordStore, id: number): Promise<Media | null> =>
  allMedia(records).findOne({ _id: id });

export const changeMedia = (
  records: RecordStore,
  scope: Scope,
  id: number,
  change: Partial<Pick<Media, 'protected' | 'notificationId' | 'file'>>,
  expectedVersion?: number,
): Promise<Media | null> => mediaIn(records).update(scope, id, change, expectedVersion);

/** Removes the record if it matches `where`. Returns null if it does not, or if it was removed concurrently. */
export const removeRecord = (
  records: RecordStore,
  scope: Scope,
  id: number,
  where: Filter = {},
): Promise<Media | null> => mediaIn(records).remove(scope, id, { where });

/** Ends the protection of all files of a vehicle. */
export const unprotectAll = async (records: RecordStore, scope: Scope, vehicleId: number): Promise<void> => {
  await mediaIn(records).updateMany(scope, { vehicleId, protected: true }, { $set: { protected: false } });
};

/** Deletes the unique key of a removed record, which a process that died while creating it may have left. */
export const releaseKey = async (records: RecordStore, key: string, recordId: number): Promise<void> => {
  await records.uniqueValues.deleteOne({ _id: `${collectionName}.mediaKey:${key}`, recordId });
};

/** Returns one page of the files of a vehicle. */
export async function listOfVehicle(
  records: RecordStore,
  vehicle: { readonly accountId: number; readonly _id: number },
  { where, sorting, paging }: { readonly where: Filter; readonly sorting: Sort; readonly paging: Pagination },
): Promise<Page<Media>> {
  const filter: object = { ...where, vehicleId: vehicle._id, accountId: vehicle.accountId };
  const found = allMedia(records).find(filter).sort(toSortOrder(sorting)).skip(paging.offset).limit(paging.limit);
  const [items, total] = await Promise.all([found.toArray(), allMedia(records).countDocuments(filter)]);
  return { items, total };
}

/** Returns files of a vehicle that may be removed, in the order of their reception. */
export const oldestOf = (records: RecordStore, vehicleId: number, limit: number): Promise<Media[]> =>
  allMedia(records).find({ vehicleId, protected: false }).sort({ receivedAt: 1, _id: 1 }).limit(limit).toArray();

/** Returns files of an account that were received before a time and may be removed. */
export const receivedBefore = (records: RecordStore, scope: Scope, before: Date, limit: number): Promise<Media[]> =>
  allMedia(records)
    .find({ accountId: scope.accountId, protected: false, receivedAt: { $lt: before } })
    .limit(limit)
    .toArray();

export const someOfAccount = (records: RecordStore, { accountId }: Scope, limit: number): Promise<Media[]> =>
  allMedia(records).find({ accountId }).limit(limit).toArray();

/** Returns clips in the order of their ids, after a given id. */
export const clipsAfter = (records: RecordStore, afterId: number, limit: number): Promise<Media[]> =>
  allMedia(records)
    .find({ source: 'upload', _id: { $gt: afterId } })
    .sort({ _id: 1 })
    .limit(limit)
    .toArray();

/** Returns the total size of the files of a vehicle. */
export async function bytesOf(records: RecordStore, vehicleId: number): Promise<number> {
  let bytes = 0;
  const found = allMedia(records).find({ vehicleId }, { projection: { sizeBytes: 1 } });
  for await (const { sizeBytes } of found) bytes += sizeBytes;
  return bytes;
}

export const findRemoval = (database: Database, key: string): Promise<MediaRemoval | null> =>
  removalsIn(database).findOne({ _id: key });

/**
 * Records a removal. A removal that is recorded again, for example because a terminal sent the file again, is pending
 * again.
 */
export async function noteRemoval(
  database: Database,
  { _id, ...fields }: Omit<MediaRemoval, 'notedAt' | 'doneAt'>,
): Promise<MediaRemoval> {
  const removal = { ...fields, notedAt: new Date(), doneAt: null };
  try {
    await removalsIn(database).updateOne({ _id }, { $set: removal }, { upsert: true });
  } catch (error) {
    // The removal was recorded concurrently.
    if (!isDuplicateKey(error)) throw error;
  }
  return { _id, ...removal };
}

export const noteDone = async (database: Database, { _id, file }: MediaRemoval): Promise<void> => {
  // A file that was sent again concurrently is on another server.
  const filter: object = file === null ? { _id } : { _id, 'file.server': file.server };
  await removalsIn(database).updateOne(filter, { $set: { doneAt: new Date() } });
};

/** Deletes a removal that is not needed after all, unless it was recorded again since. */
export const withdrawRemoval = async (database: Database, { _id, recordId, notedAt }: MediaRemoval): Promise<void> => {
  await removalsIn(database).deleteOne({ _id, recordId, notedAt, sparesProtected: true, doneAt: null });
};

/** Returns pending removals that were recorded since a time, the oldest first, without some servers and some ids. */
export const openRemovals = (
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
  return removalsIn(database).find(filter).sort({ notedAt: 1 }).limit(limit).toArray();
};

export const openRemovalsOf = (database: Database, { accountId }: Scope): Promise<MediaRemoval[]> =>
  removalsIn(database).find({ accountId, doneAt: null }).toArray();

/** Deletes the completed removals of a deleted account. */
export const forgetRemovalsOf = async (database: Database, { accountId }: Scope): Promise<void> => {
  await removalsIn(database).deleteMany({ accountId, doneAt: { $ne: null } });
};

/**
 * Returns queries for removals that were completed before one time, and for those that were recorded before another.
 * Each call finds some of them.
 */
export const removalsToForget = (
  database: Database,
  before: { readonly done: Date; readonly noted: Date },
  limit: number,
): (() => Promise<Pick<MediaRemoval, '_id'>[]>)[] =>
  [{ doneAt: { $lt: before.done, $ne: null } }, { notedAt: { $lt: before.noted } }].map(
    (filter: object) => () =>
      removalsIn(database)
        .find(filter, { projection: { _id: 1 } })
        .limit(limit)
        .toArray(),
  );

export const removeRemovals = (database: Database, some: readonly Pick<MediaRemoval, '_id'>[]): Promise<void> => {
  const removals = some.map(({ _id }) => ({ deleteOne: { filter: { _id } } }));
  return writeThrottled(database, removalsIn(database), removals, () => false);
};

/**
 * `nearlyFullAtMs` of a vehicle whose storage is not nearly full. It is a number, as some databases omit null when they
 * create a document.
 */
export const hasRoom = 0;

/**
 * Adds the bytes of files that were added or removed, and returns the usage. Removed bytes are ignored if the vehicle
 * has no usage record.
 */
export async function countBytes(
  database: Database,
  { accountId, vehicleId }: Pick<Media, 'accountId' | 'vehicleId'>,
  bytes: number,
): Promise<MediaUsage> {
  const update = {
    $inc: { bytes, revision: 1 },
    $setOnInsert: { accountId, nearlyFullAtMs: hasRoom, isTold: false },
  } as object;
  for (;;) {
    try {
      const options = { upsert: bytes >= 0, returnDocument: 'after' } as const;
      const usage = await usageIn(database).findOneAndUpdate({ _id: vehicleId }, update, options);
      if (usage !== null) return usage;
      if (bytes < 0)
        return { _id: vehicleId, accountId, bytes: 0, revision: 0, nearlyFullAtMs: hasRoom, isTold: false };
    } catch (error) {
      // Two callers created the record concurrently: the second one finds it on its next attempt.
      if (!isDuplicateKey(error)) throw error;
    }
  }
}

export const findUsage = (database: Database, vehicleId: number): Promise<MediaUsage | null> =>
  usageIn(database).findOne({ _id: vehicleId });

/** Deletes the usage of a deleted vehicle. */
export const deleteUsage = async (database: Database, vehicleId: number): Promise<void> => {
  await usageIn(database).deleteOne({ _id: vehicleId });
};

export const usageAfter = (database: Database, vehicleId: number, limit: number): Promise<MediaUsage[]> =>
  usageIn(database)
    .find({ _id: { $gt: vehicleId } })
    .sort({ _id: 1 })
    .limit(limit)
    .toArray();

/** Changes the usage of a vehicle unless it has changed since it was read; returns null if it has. */
export const changeUsage = (
  database: Database,
  { _id, revision }: MediaUsage,
  change: Partial<Pick<MediaUsage, 'bytes' | 'nearlyFullAtMs' | 'isTold'>>,
): Promise<MediaUsage | null> =>
  usageIn(database).findOneAndUpdate(
    { _id, revision },
    { $set: change, $inc: { revision: 1 } },
    { returnDocument: 'after' },
  );

/** Marks the notification with this time as recorded. */
export const noteTold = async (database: Database, vehicleId: number, nearlyFullAtMs: number): Promise<void> => {
  await usageIn(database).updateOne({ _id: vehicleId, nearlyFullAtMs }, { $set: { isTold: true } });
};
