import { dayMs, type Page, type Pagination, type Sort } from '@fleet/service-kit';
import { type Collection, type Database, isDuplicateKey } from '@fleet/storage';
import { toSortOrder } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { UnassignedDetails, UnassignedDevice } from './schema.ts';

/** Largest number of stored terminals. It is limited because anyone can connect under any number. */
export const maxUnassigned = 10_000;
/**
 * Number of terminals that the cleanup job retains. It makes room so that a flood of numbers does not block others for
 * long.
 */
const keptBySweep = Math.floor(maxUnassigned * 0.9);
/** A terminal that has not been seen for this long is deleted. */
export const retentionMs = 30 * dayMs;
const batchSize = 500;

const devices = (database: Database): Collection<UnassignedDevice> =>
  database.collection<UnassignedDevice>('unassigned_devices');

/** Matches all terminals. Unlike an empty filter, it counts the keys of an index. */
const all = { lastSeen: { $gt: new Date(0) } };

const unknown = { edition: null, manufacturer: null, model: null, terminalId: null, plate: null } as const;

/** Records that a terminal was seen. Returns false for a new terminal while the limit is reached. */
export async function saveUnassigned(
  records: RecordStore,
  imei: string,
  seenAt: Date,
  details: UnassignedDetails,
): Promise<boolean> {
  const { database } = records;
  if (await updateUnassigned(database, imei, seenAt, details)) return true;
  if ((await devices(database).countDocuments(all, { limit: maxUnassigned })) >= maxUnassigned) return false;
  try {
    const times = { firstSeen: seenAt, lastSeen: seenAt };
    const number = await records.nextId('unassigned_devices');
    await devices(database).insertOne({ _id: imei, number, ...unknown, ...details, ...times });
    return true;
  } catch (error) {
    // Another replica inserted it first.
    if (!isDuplicateKey(error)) throw error;
    return updateUnassigned(database, imei, seenAt, details);
  }
}

async function updateUnassigned(
  database: Database,
  imei: string,
  lastSeen: Date,
  details: UnassignedDetails,
): Promise<boolean> {
  const update = { $set: { ...details }, $max: { lastSeen }, $min: { firstSeen: lastSeen } };
  return (await devices(database).updateOne({ _id: imei }, update)).matchedCount === 1;
}

export const findUnassigned = (database: Database, imei: string): Promise<UnassignedDevice | null> =>
  devices(database).findOne({ _id: imei });

export async function listUnassigned(
  database: Database,
  sorting: Sort,
  { offset, limit }: Pagination,
): Promise<Page<UnassignedDevice>> {
  const found = devices(database).find({}).sort(toSortOrder(sorting)).skip(offset).limit(limit);
  const [items, total] = await Promise.all([found.toArray(), devices(database).countDocuments(all)]);
  return { items, total };
}

export async function removeUnassigned(database: Database, imeis: readonly string[]): Promise<void> {
  if (imeis.length > 0) await devices(database).deleteMany({ _id: { $in: [...imeis] } });
}

/** Passes all terminals to `keep` in batches, and removes those that it does not return. */
export async function retainUnassigned(
  database: Database,
  keep: (batch: readonly UnassignedDevice[]) => Promise<ReadonlySet<string>>,
): Promise<void> {
  let after = '';
  for (;;) {
    const where = { _id: { $gt: after } };
    const batch = await devices(database).find(where).sort({ _id: 1 }).limit(batchSize).toArray();
    const last = batch.at(-1);
    if (last === undefined) return;
    after = last._id;
    const kept = await keep(batch);
    await removeUnassigned(
      database,
      batch.flatMap(({ _id }) => (kept.has(_id) ? [] : [_id])),
    );
  }
}

/** Removes the terminals that were last seen longest ago, until `keptCount` are left. */
export async function trimUnassigned(database: Database, keptCount = keptBySweep): Promise<void> {
  for (;;) {
    const surplus = (await devices(database).countDocuments(all)) - keptCount;
    if (surplus <= 0) return;
    const found = devices(database).find({}, { projection: { _id: 1 } });
    const oldest = await found.sort({ lastSeen: 1, _id: 1 }).limit(Math.min(surplus, batchSize)).toArray();
    await removeUnassigned(
      database,
      oldest.map(({ _id }) => _id),
    );
  }
}
