import { terminalKey } from '@fleet/jt808';
import { type Collection, type Database, findByIds, findTooLargeIds, isDuplicateKey } from '@fleet/storage';
import { dayMs } from '../../platform/constants.ts';
import { writeThrottled } from '../../store/throttled-writes.ts';
import { BucketCapacity, type BucketFields, maxBucketPoints } from './bucket-capacity.ts';
import { pack, unpack } from './packing.ts';
import type { Bucket, NewPoint, Point, VehicleDays, Window } from './schema.ts';

const bucketMs = 600_000;

const bucketsIn = (database: Database): Collection<Bucket> => database.collection<Bucket>('position_buckets');
const daysIn = (database: Database): Collection<VehicleDays> => database.collection<VehicleDays>('position_days');

const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
const bucketIdOf = (imei: string, vehicleId: number, startMs: number): string =>
  `${imei}:${vehicleId}:${new Date(startMs).toISOString().slice(0, 16)}`;

/** Limit of the cache of days that this process has recorded in the database. The cache avoids writing a day again. */
const maxKnownDays = 200_000;
const knownDayTtlMs = dayMs;
const knownDays = new WeakMap<Database, Set<string>>();

/** Options of `appendPositions`. */
export interface AppendOptions {
  readonly maxPoints?: number;
  /** While it returns false, other writers have priority. */
  readonly isUrgent?: () => boolean;
  /** Current time, for tests. */
  readonly nowMs?: number;
}

/**
 * Adds points to the history of vehicles: one write for each bucket, and one more for each vehicle with the first point
 * of a day. Adding the same points again changes nothing, so that a failed call can be repeated as a whole. Points that
 * exceed the limit of a bucket are left out.
 */
export async function appendPositions(
  database: Database,
  items: readonly NewPoint[],
  { maxPoints = maxBucketPoints, isUrgent = () => true, nowMs = Date.now() }: AppendOptions = {},
): Promise<DroppedPoints> {
  if (items.length === 0) return { points: 0, buckets: [] };
  await recordDays(database, items, isUrgent, nowMs);
  const bounds = BucketCapacity.of(database);
  const { buckets, leftOut } = bounds.trim(byBucket(items), maxPoints);
  const refused = await writeWithoutTooLarge(buckets, () => {
    const operations = [...buckets].map(([_id, { head, points }]) => ({
      updateOne: { filter: { _id }, update: { $set: { ...head, ...points } }, upsert: true },
    }));
    return retryDuplicates(() => writeThrottled(database, bucketsIn(database), operations, isUrgent));
  });
  for (const id of refused.keys()) bounds.markFull(id);
  const points = [...refused.values()].reduce((sum, bucket) => sum + Object.keys(bucket.points).length, leftOut);
  return { points, buckets: [...refused.keys(), ...bounds.recordWrite(buckets, maxPoints)] };
}

/** Number of points that were left out, and the buckets that are now full. */
export interface DroppedPoints {
  readonly points: number;
  readonly buckets: readonly string[];
}

/** Removes buckets that the database rejects as too large, so that the others are written. Returns the removed ones. */
async function writeWithoutTooLarge(
  buckets: Map<string, BucketFields>,
  write: () => Promise<unknown>,
): Promise<Map<string, BucketFields>> {
  const refused = new Map<string, BucketFields>();
  for (;;) {
    try {
      await write();
      return refused;
    } catch (error) {
      const tooLarge = findTooLargeIds(error).flatMap((id) => [...buckets].filter(([each]) => each === id));
      if (tooLarge.length === 0) throw error;
      for (const [id, bucket] of tooLarge) {
        buckets.delete(id);
        refused.set(id, bucket);
      }
    }
  }
}

/** Returns the days and terminals for which a vehicle has history. */
export const daysOf = (database: Database, vehicleId: number): Promise<VehicleDays | null> =>
  daysIn(database).findOne({ _id: String(vehicleId) });

/** Returns the days of some vehicles, including deleted ones, in the order of the vehicles' ids. */
export const daysFrom = (database: Database, vehicleId: number, limit: number): Promise<VehicleDays[]> =>
  daysIn(database)
    .find({ vehicleId: { $gte: vehicleId } })
    .sort({ vehicleId: 1 })
    .limit(limit)
    .toArray();

/** Returns all points of a day of one terminal in one vehicle, in order. */
export async function readDay(database: Database, vehicleId: number, day: string, imei: string): Promise<Point[]> {
  const startMs = Date.parse(day);
  const window = { fromMs: startMs, toMs: startMs + dayMs - 1 };
  const found: Point[] = [];
  const whole = { day, imeis: [imei], isFull: true };
  const thinned = pointsOf(await bucketsOf(database, downsampledIds(whole, vehicleId)), window);
  for await (const points of mergeByTime(thinned, fullPoints(database, whole, vehicleId, window)))
    for (const point of points) found.push(point);
  return found;
}

/**
 * Replaces the points of a day by fewer ones in a single bucket. That bucket is written first, then the others are
 * removed. After an interruption some points exist twice, which reads hide, and the next run completes the work.
 */
export async function downsampleDay(
  database: Database,
  known: VehicleDays,
  day: string,
  imei: string,
  points: readonly Point[],
): Promise<void> {
  const { vehicleId, accountId } = known;
  const startMs = Date.parse(day);
  const fields = points.map((point) => [`${point.position.timestamp - startMs}-thin`, pack(point)] as const);
  const _id = dayIdOf(imei, vehicleId, day);
  const bucket = { vehicleId, accountId, imei: points[0]?.position.imei ?? imei, points: Object.fromEntries(fields) };
  await bucketsIn(database).replaceOne({ _id }, bucket, { upsert: true });
  await daysIn(database).updateOne({ _id: known._id }, { $set: { [`days.${day}:${imei}`]: 'thin' } });
  await deleteBuckets(database, idsOfDay(vehicleId, day, imei).slice(1));
}

/** Removes a day. Its entry in the list of days is removed last, so that an interrupted removal is repeated. */
export async function deleteDay(database: Database, known: VehicleDays, day: string, imei: string): Promise<void> {
  await deleteBuckets(database, idsOfDay(known.vehicleId, day, imei));
  await daysIn(database).updateOne({ _id: known._id }, { $unset: { [`days.${day}:${imei}`]: '' } });
}

/** Removes buckets at low priority, so that other writes do not wait. */
async function deleteBuckets(database: Database, ids: readonly string[]): Promise<void> {
  const operations = ids.map((_id) => ({ deleteOne: { filter: { _id } } }));
  await writeThrottled(database, bucketsIn(database), operations, () => false);
}

const dayIdOf = (imei: string, vehicleId: number, day: string): string => `${imei}:${vehicleId}:${day}`;

/** Returns the ids of all buckets that a day may have: that of the thinned day, then those of ten minutes. */
function idsOfDay(vehicleId: number, day: string, imei: string): string[] {
  const startMs = Date.parse(day);
  const starts = Array.from({ length: dayMs / bucketMs }, (_unused, at) => startMs + at * bucketMs);
  return [dayIdOf(imei, vehicleId, day), ...starts.map((atMs) => bucketIdOf(imei, vehicleId, atMs))];
}

/** Returns the fields to write, by bucket. */
function byBucket(items: readonly NewPoint[]): Map<string, BucketFields> {
  const buckets = new Map<string, BucketFields>();
  for (const item of items) {
    const { position, vehicleId, accountId, hash } = item;
    const startMs = Math.floor(position.timestamp / bucketMs) * bucketMs;
    const id = bucketIdOf(numberOf(position.imei), vehicleId, startMs);
    const fields = buckets.get(id) ?? { head: { vehicleId, accountId, imei: position.imei }, points: {} };
    fields.points[`points.${position.timestamp - startMs}-${hash}`] = pack(item);
    buckets.set(id, fields);
  }
  return buckets;
}

/** Records the days before the points are written: reads find only points of recorded days. */
async function recordDays(
  database: Database,
  items: readonly NewPoint[],
  isUrgent: () => boolean,
  nowMs: number,
): Promise<void> {
  let known = knownDays.get(database);
  if (known === undefined || known.size > maxKnownDays) knownDays.set(database, (known = new Set()));
  const added: string[] = [];
  const oldest = dayOf(nowMs - knownDayTtlMs);
  const vehicles = new Map<string, Record<string, unknown>>();
  for (const { position, vehicleId, accountId } of items) {
    const day = `${dayOf(position.timestamp)}:${numberOf(position.imei)}`;
    const key = `${vehicleId}:${day}`;
    // A day of long ago may have been thinned since, and becomes full again.
    if (day >= oldest && known.has(key)) continue;
    const fields = vehicles.get(String(vehicleId)) ?? { vehicleId, accountId };
    fields[`days.${day}`] = 'full';
    vehicles.set(String(vehicleId), fields);
    if (day >= oldest) added.push(key);
  }
  if (vehicles.size === 0) return;
  const operations = [...vehicles].map(([_id, $set]) => ({
    updateOne: { filter: { _id }, update: { $set }, upsert: true },
  }));
  await retryDuplicates(() => writeThrottled(database, daysIn(database), operations, isUrgent));
  for (const key of added) known.add(key);
}

function numberOf(imei: string): string {
  const key = terminalKey(imei);
  if (key === null) throw new Error(`${imei} is not a valid terminal number`);
  return key;
}

/** Retries if another writer creates the same document concurrently; the retry finds it. */
async function retryDuplicates(write: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await write();
      return;
    } catch (error) {
      if (!isDuplicateKey(error) || attempt >= 5) throw error;
    }
  }
}

/** Time span of a terminal that one query reads: half a day. */
const rangeMs = dayMs / 2;

/**
 * Yields the history of a vehicle within a window, of all its terminals, sorted by device time, each report once. Reads
 * lazily, a few buckets ahead.
 */
export async function* readPositions(database: Database, vehicleId: number, window: Window): AsyncGenerator<Point> {
  let before: Point | undefined;
  for await (const points of readStored(database, vehicleId, window))
    for (const point of points) {
      const isNowhere = hasNoPosition(point);
      if (!isNowhere) before = point;
      // A late report without a fix: the vehicle was at its previous position.
      yield isNowhere && before !== undefined ? withPositionOf(before, point) : point;
    }
}

const hasNoPosition = ({ position: { gpsValid, latitude, longitude } }: Point): boolean =>
  !gpsValid && latitude === 0 && longitude === 0;

const withPositionOf = ({ position: { latitude, longitude } }: Point, point: Point): Point => ({
  ...point,
  position: { ...point.position, latitude, longitude },
});

/** Yields the points of a window in order, in batches. */
async function* readStored(database: Database, vehicleId: number, window: Window): AsyncGenerator<readonly Point[]> {
  const days = daysWithin(await daysOf(database, vehicleId), window);
  // A day that received late points after thinning has both kinds of buckets.
  const ids = days.flatMap((day) => downsampledIds(day, vehicleId));
  const thinned = new Map((await bucketsOf(database, ids)).map((bucket) => [bucket._id, bucket]));
  for (const day of days) {
    const buckets = downsampledIds(day, vehicleId).flatMap((id) => thinned.get(id) ?? []);
    const points = pointsOf(buckets, window);
    if (!day.isFull) yield points;
    else yield* mergeByTime(points, fullPoints(database, day, vehicleId, window));
  }
}

const bucketsOf = (database: Database, ids: readonly string[]): Promise<Bucket[]> =>
  findByIds(bucketsIn(database), ids);

/** A day on which a vehicle has reported. */
interface Day {
  readonly day: string;
  readonly imeis: readonly string[];
  /** False if all of it is thinned. */
  readonly isFull: boolean;
}

const downsampledIds = ({ day, imeis }: Day, vehicleId: number): string[] =>
  imeis.map((imei) => dayIdOf(imei, vehicleId, day));

/**
 * Yields the points of a day from its buckets of ten minutes, half a day at a time. The buckets of each terminal are
 * one range of ids.
 */
async function* fullPoints(
  database: Database,
  { day, imeis }: Day,
  vehicleId: number,
  window: Window,
): AsyncGenerator<readonly Point[]> {
  const startMs = Date.parse(day);
  for (let fromMs = startMs; fromMs < startMs + dayMs; fromMs += rangeMs) {
    const firstMs = Math.max(fromMs, Math.floor(window.fromMs / bucketMs) * bucketMs);
    const endMs = Math.min(fromMs + rangeMs, window.toMs + 1);
    if (firstMs >= endMs) continue;
    const ranges = imeis.map((imei) => {
      const [$gte, $lte] = [firstMs, endMs - 1].map((atMs) => bucketIdOf(imei, vehicleId, atMs));
      return bucketsIn(database)
        .find({ _id: { $gte, $lte } } as object)
        .toArray();
    });
    yield pointsOf((await Promise.all(ranges)).flat(), window);
  }
}

/** Merges points into batches of others, sorted by time. */
async function* mergeByTime(
  some: readonly Point[],
  others: AsyncIterable<readonly Point[]>,
): AsyncGenerator<readonly Point[]> {
  let next = 0;
  for await (const points of others) {
    const both: Point[] = [];
    for (const point of points) {
      for (let each = some[next]; each !== undefined; each = some[next]) {
        if (each.position.timestamp > point.position.timestamp) break;
        next += 1;
        // Skips a thinned point if the original point still exists.
        if (each.position.timestamp < point.position.timestamp || each.position.imei !== point.position.imei)
          both.push(each);
      }
      both.push(point);
    }
    yield both;
  }
  yield some.slice(next);
}

/** Returns the days of a vehicle's history that overlap a window, in order. */
function daysWithin(known: VehicleDays | null, { fromMs, toMs }: Window): Day[] {
  const days = new Map<string, { day: string; imeis: string[]; isFull: boolean }>();
  for (const [key, kind] of Object.entries(known?.days ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const { day, imei } = dayKey(key);
    const startMs = Date.parse(day);
    if (startMs + dayMs <= fromMs || startMs > toMs) continue;
    const found = days.get(day) ?? { day, imeis: [], isFull: false };
    found.imeis.push(imei);
    found.isFull ||= kind === 'full';
    days.set(day, found);
  }
  return [...days.values()];
}

/** Parses a key of `VehicleDays.days`. */
export function dayKey(key: string): { readonly day: string; readonly imei: string } {
  const [day = '', imei = ''] = key.split(':');
  return { day, imei };
}

/** Returns the start of the bucket with an `_id`. */
function bucketStart(id: string): number {
  const start = id.split(':').slice(2).join(':');
  return Date.parse(start.length === 'YYYY-MM-DD'.length ? start : `${start}Z`);
}

/** Returns the points of some buckets within a window, in order. A report that a terminal sent twice counts once. */
function pointsOf(buckets: readonly Bucket[], { fromMs, toMs }: Window): Point[] {
  const found: Point[] = [];
  for (const { _id, imei, points } of buckets) {
    const startMs = bucketStart(_id);
    for (const [key, packed] of Object.entries(points)) {
      const atMs = startMs + Number.parseInt(key, 10);
      if (atMs >= fromMs && atMs <= toMs) found.push(unpack(packed, imei, atMs));
    }
  }
  return found.toSorted((a, b) => a.position.timestamp - b.position.timestamp);
}

/** Returns a function that says whether a report, by position and hash, is already in the history. */
export async function knownPoints(
  database: Database,
  requested: readonly {
    readonly imei: string;
    readonly vehicleId: number;
    readonly timestamp: number;
    readonly hash: string;
  }[],
): Promise<(position: { readonly imei: string; readonly timestamp: number }, hash: string) => boolean> {
  if (requested.length === 0) return () => false;
  const startOf = (timestamp: number): number => Math.floor(timestamp / bucketMs) * bucketMs;
  const ids = new Set(
    requested.map(({ imei, vehicleId, timestamp }) => bucketIdOf(imei, vehicleId, startOf(timestamp))),
  );
  const buckets = await bucketsOf(database, [...ids]);
  const known = new Set<string>();
  for (const { _id, points } of buckets)
    for (const key of Object.keys(points))
      known.add(`${_id.slice(0, _id.indexOf(':'))}:${Date.parse(`${_id.slice(-16)}Z`)}:${key}`);
  return ({ imei, timestamp }, hash) => {
    const startMs = startOf(timestamp);
    return known.has(`${numberOf(imei)}:${startMs}:${timestamp - startMs}-${hash}`);
  };
}
