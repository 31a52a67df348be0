import { terminalKey } from '@fleet/jt808';
import { dayMs } from '@fleet/service-kit';
import { type Collection, type Database, findByIds, insertIgnoringDuplicates } from '@fleet/storage';
import type { JobSlice } from '../../jobs/job-slice.ts';
import type { Deps } from '../../platform/deps.ts';
import type { RecordFields, RecordStore } from '../../store/record-store.ts';
import { deleteInBatches, writeThrottled } from '../../store/throttled-writes.ts';
import type { Notification } from './schema.ts';

/** Notification that is not recorded yet. */
export type NewNotification = Omit<Notification, keyof RecordFields | 'serverTimestamp'>;

/** Server time that a notification of a terminal uses; `_id` is `<canonical number>:<ms>`. */
interface AllocatedTime {
  readonly _id: string;
  readonly takenAt: Date;
}

type Store = Pick<Deps, 'records' | 'database'>;

const collectionName = 'notifications';

export const dedupeId = (dedupeKey: string): string => `${collectionName}.dedupeKey:${dedupeKey}`;

/**
 * Records notifications in one batch, each dedupe key once. Returns them as recorded, in the order in which their keys
 * first occur. If it is repeated after a crash, or concurrently elsewhere, it completes what exists: the key is first
 * claimed for an id, and any caller then creates the record with that id.
 */
export async function insertNotifications(
  { records, database }: Store,
  given: readonly NewNotification[],
  now = new Date(),
): Promise<Notification[]> {
  const unique = new Map<string, NewNotification>();
  for (const each of given) if (!unique.has(each.dedupeKey)) unique.set(each.dedupeKey, each);
  const claims = await claimKeys(records, [...unique.keys()], now);
  const known = await findRecorded(
    records,
    claims.filter(({ isOwn }) => !isOwn).map(({ id }) => id),
  );
  const missing = claims.filter(({ id }) => !known.has(id));
  const fields = missing.map(({ key }) => unique.get(key) as NewNotification);
  const times = await allocateServerTimes(database, fields, now);
  const made = missing.map(
    ({ id }, at): Notification => ({
      _id: id,
      createdAt: now,
      updatedAt: now,
      version: 1,
      ...(fields[at] as NewNotification),
      serverTimestamp: times[at] as number,
    }),
  );
  const taken = await insertIgnoringDuplicates(records.collection<Notification>(collectionName), made);
  const others = await findRecorded(
    records,
    taken.map((at) => (made[at] as Notification)._id),
  );
  const byId = new Map([...made.map((each) => [each._id, each] as const), ...known, ...others]);
  return claims.map(({ id }) => byId.get(id) as Notification);
}

interface Claim {
  readonly key: string;
  readonly id: number;
  /** True if this call claimed the key, so that the record does not exist yet. */
  readonly isOwn: boolean;
}

async function claimKeys(records: RecordStore, keys: readonly string[], now: Date): Promise<Claim[]> {
  if (keys.length === 0) return [];
  const ids = await records.nextIds(collectionName, keys.length);
  const values = keys.map((key, at) => ({ _id: dedupeId(key), recordId: ids[at] as number, takenAt: now }));
  const taken = new Set(await insertIgnoringDuplicates(records.uniqueValues, values));
  const holders = await findClaimedIds(
    records,
    keys.filter((_key, at) => taken.has(at)),
  );
  return keys.map((key, at) => {
    if (!taken.has(at)) return { key, id: ids[at] as number, isOwn: true };
    const id = holders.get(key);
    if (id === undefined) throw new Error(`the notification ${key} was removed while it was raised again`);
    return { key, id, isOwn: false };
  });
}

/** Returns the ids of notifications that are recorded, or are about to be, by dedupe key. */
export async function findClaimedIds(records: RecordStore, keys: readonly string[]): Promise<Map<string, number>> {
  const ids = new Map(keys.map((key) => [dedupeId(key), key]));
  const found = await findByIds(records.uniqueValues, [...ids.keys()]);
  return new Map(found.map((each) => [ids.get(each._id) as string, each.recordId]));
}

async function findRecorded(records: RecordStore, ids: readonly number[]): Promise<Map<number, Notification>> {
  const found = await findByIds(records.collection<Notification>(collectionName), ids);
  return new Map(found.map((each) => [each._id, each]));
}

const serverTimes = (database: Database): Collection<AllocatedTime> =>
  database.collection<AllocatedTime>('notification_times');

/**
 * Returns a server time for each notification that no other one of the terminal has: now, or the next free millisecond.
 */
async function allocateServerTimes(
  database: Database,
  wanted: readonly { readonly imei: string }[],
  now: Date,
): Promise<number[]> {
  const last = new Map<string, number>();
  const found = wanted.map(() => 0);
  let open = wanted.map(({ imei }, at) => ({ at, imei: terminalKey(imei) ?? 'none' }));
  while (open.length > 0) {
    const documents = open.map(({ at, imei }) => {
      const ms = (last.get(imei) ?? now.getTime() - 1) + 1;
      last.set(imei, ms);
      found[at] = ms;
      return { _id: `${imei}:${ms}`, takenAt: now };
    });
    const taken = await insertIgnoringDuplicates(serverTimes(database), documents);
    open = taken.flatMap((place) => open[place] ?? []);
  }
  return found;
}

/** Time after which a server time cannot be used again and is deleted. */
const serverTimeTtlMs = dayMs;
const batchSize = 1_000;

/** Deletes expired server times. Returns where to continue, or null when done. */
export async function purgeServerTimes(
  database: Database,
  { from, isOver }: JobSlice,
  nowMs = Date.now(),
): Promise<number | null> {
  const times = serverTimes(database);
  const isOld = { takenAt: { $lt: new Date(nowMs - serverTimeTtlMs) } };
  const find = () =>
    times
      .find(isOld, { projection: { _id: 1 } })
      .limit(batchSize)
      .toArray();
  const remove = (some: readonly Pick<AllocatedTime, '_id'>[]): Promise<void> => {
    const removals = some.map(({ _id }) => ({ deleteOne: { filter: { _id } } }));
    return writeThrottled(database, times, removals, () => false);
  };
  // Deleted times are not found again, so the next slice continues automatically.
  return (await deleteInBatches(find, remove, isOver)) ? null : from;
}
