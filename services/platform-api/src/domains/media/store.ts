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

/** The record of a file, made where there is none; made again after a crash it is the same. */
export const insertMedia = (
  records: RecordStore,
  fields: NewRecord<Media>,
): Promise<{ record: Media; created: boolean }> =>
  records.insertUnique<Media>(collectionName, 'mediaKey', fields.mediaKey, fields);

export const findByKey = (records: RecordStore, key: string): Promise<Media | null> =>
  records.findByUnique<Media>(collectionName, 'mediaKey', key);

/** Of whatever account: whether it is visible is for the caller of this to see. */
export const findMedia = (records: RecordStore, id: number): Promise<Media | null> =>
  allMedia(records).findOne({ _id: id });

export const changeMedia = (
  records: RecordStore,
  scope: Scope,
  id: number,
  change: Partial<Pick<Media, 'protected' | 'notificationId' | 'file'>>,
  expectedVersion?: number,
): Promise<Media | null> => mediaIn(records).update(scope, id, change, expectedVersion);

/** Removes the record, where it is as `where` says; null where it is not, or somebody else has. */
export const removeRecord = (
  records: RecordStore,
  scope: Scope,
  id: number,
  where: Filter = {},
): Promise<Media | null> => mediaIn(records).remove(scope, id, { where });

/** Nothing of a vehicle is protected any more. */
export const unprotectAll = async (records: RecordStore, scope: Scope, vehicleId: number): Promise<void> => {
  await mediaIn(records).updateMany(scope, { vehicleId, protected: true }, { $set: { protected: false } });
};

/** What a maker that died may have left of a record that is gone. */
export const releaseKey = async (records: RecordStore, key: string, recordId: number): Promise<void> => {
  await records.uniqueValues.deleteOne({ _id: `${collectionName}.mediaKey:${key}`, recordId });
};

/** One page of a vehicle's files. */
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

/** Those of a vehicle that may be removed, the ones that came first. */
export const oldestOf = (records: RecordStore, vehicleId: number, limit: number): Promise<Media[]> =>
  allMedia(records).find({ vehicleId, protected: false }).sort({ receivedAt: 1, _id: 1 }).limit(limit).toArray();

/** Those of an account that came before a moment and may be removed. */
export const receivedBefore = (records: RecordStore, scope: Scope, before: Date, limit: number): Promise<Media[]> =>
  allMedia(records)
    .find({ accountId: scope.accountId, protected: false, receivedAt: { $lt: before } })
    .limit(limit)
    .toArray();

export const someOfAccount = (records: RecordStore, { accountId }: Scope, limit: number): Promise<Media[]> =>
  allMedia(records).find({ accountId }).limit(limit).toArray();

/** Clips by id from behind one. */
export const clipsAfter = (records: RecordStore, afterId: number, limit: number): Promise<Media[]> =>
  allMedia(records)
    .find({ source: 'upload', _id: { $gt: afterId } })
    .sort({ _id: 1 })
    .limit(limit)
    .toArray();

/** The sum of what a vehicle's files take. */
export async function bytesOf(records: RecordStore, vehicleId: number): Promise<number> {
  let bytes = 0;
  const found = allMedia(records).find({ vehicleId }, { projection: { sizeBytes: 1 } });
  for await (const { sizeBytes } of found) bytes += sizeBytes;
  return bytes;
}

export const findRemoval = (database: Database, key: string): Promise<MediaRemoval | null> =>
  removalsIn(database).findOne({ _id: key });

/** Notes what is to be removed; noted again, as by a terminal that has sent it once more, it is to be removed again. */
export async function noteRemoval(
  database: Database,
  { _id, ...fields }: Omit<MediaRemoval, 'notedAt' | 'doneAt'>,
): Promise<MediaRemoval> {
  const removal = { ...fields, notedAt: new Date(), doneAt: null };
  try {
    await removalsIn(database).updateOne({ _id }, { $set: removal }, { upsert: true });
  } catch (error) {
    // Noted by another at the same moment.
    if (!isDuplicateKey(error)) throw error;
  }
  return { _id, ...removal };
}

export const noteDone = async (database: Database, { _id, file }: MediaRemoval): Promise<void> => {
  // Sent again meanwhile, it is somewhere else.
  const filter: object = file === null ? { _id } : { _id, 'file.server': file.server };
  await removalsIn(database).updateOne(filter, { $set: { doneAt: new Date() } });
};

/** What is not to be removed after all, unless that was noted once more since. */
export const withdrawRemoval = async (database: Database, { _id, recordId, notedAt }: MediaRemoval): Promise<void> => {
  await removalsIn(database).deleteOne({ _id, recordId, notedAt, sparesProtected: true, doneAt: null });
};

/** What is still to be removed of what was noted since a moment, noted first; not what is with some servers, and not some of it. */
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

/** Forgets what was removed of an account that is gone. */
export const forgetRemovalsOf = async (database: Database, { accountId }: Scope): Promise<void> => {
  await removalsIn(database).deleteMany({ accountId, doneAt: { $ne: null } });
};

/** Finds what was done before one moment, and what could not be done since another: some of it each time. */
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

/** `nearlyFullAtMs` of a vehicle whose storage is not nearly full. A number, as some databases leave null out where a document is made. */
export const hasRoom = 0;

/** Counts bytes that have come or gone; what there is now. What goes of a vehicle that is not counted (any more) is not either. */
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
      // Two that make it at the same time: the second finds it there.
      if (!isDuplicateKey(error)) throw error;
    }
  }
}

export const findUsage = (database: Database, vehicleId: number): Promise<MediaUsage | null> =>
  usageIn(database).findOne({ _id: vehicleId });

/** What a vehicle that is gone had is not counted any more. */
export const deleteUsage = async (database: Database, vehicleId: number): Promise<void> => {
  await usageIn(database).deleteOne({ _id: vehicleId });
};

export const usageAfter = (database: Database, vehicleId: number, limit: number): Promise<MediaUsage[]> =>
  usageIn(database)
    .find({ _id: { $gt: vehicleId } })
    .sort({ _id: 1 })
    .limit(limit)
    .toArray();

/** Changes what is known of a vehicle's storage if nobody has since it was read; null where somebody has. */
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

/** The notification of that moment is on record. */
export const noteTold = async (database: Database, vehicleId: number, nearlyFullAtMs: number): Promise<void> => {
  await usageIn(database).updateOne({ _id: vehicleId, nearlyFullAtMs }, { $set: { isTold: true } });
};
