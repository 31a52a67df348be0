import { dayMs } from '@fleet/service-kit';
import { type Database, findByIds } from '@fleet/storage';
import { bucketCollection, bucketId, bucketStart, dayBucketId, floorToBucket, parseDayKey } from './buckets.ts';
import { unpack } from './packing.ts';
import type { Bucket, Point, VehicleDays, Window } from './schema.ts';
import { findVehicleDays } from './vehicle-days.ts';

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
  const days = selectDays(await findVehicleDays(database, vehicleId), window);
  // A day that received late points after downsampling has both kinds of buckets.
  const ids = days.flatMap((day) => dayBucketIds(day, vehicleId));
  const downsampled = new Map((await findBuckets(database, ids)).map((bucket) => [bucket._id, bucket]));
  for (const day of days) {
    const buckets = dayBucketIds(day, vehicleId).flatMap((id) => downsampled.get(id) ?? []);
    const points = unpackPoints(buckets, window);
    if (!day.isFull) yield points;
    else yield* mergeByTime(points, readFull(database, day, vehicleId, window));
  }
}

/** Returns the existing buckets of some ids. */
export const findBuckets = (database: Database, ids: readonly string[]): Promise<Bucket[]> =>
  findByIds(bucketCollection(database), ids);

/** A day on which a vehicle has reported. */
interface Day {
  readonly day: string;
  readonly imeis: readonly string[];
  /** False if all of it is downsampled. */
  readonly isFull: boolean;
}

const dayBucketIds = ({ day, imeis }: Day, vehicleId: number): string[] =>
  imeis.map((imei) => dayBucketId(imei, vehicleId, day));

/**
 * Yields the points of a day from its buckets of ten minutes, half a day at a time. The buckets of each terminal are
 * one range of ids.
 */
async function* readFull(
  database: Database,
  { day, imeis }: Day,
  vehicleId: number,
  window: Window,
): AsyncGenerator<readonly Point[]> {
  const startMs = Date.parse(day);
  for (let fromMs = startMs; fromMs < startMs + dayMs; fromMs += rangeMs) {
    const firstMs = Math.max(fromMs, floorToBucket(window.fromMs));
    const endMs = Math.min(fromMs + rangeMs, window.toMs + 1);
    if (firstMs >= endMs) continue;
    const ranges = imeis.map((imei) => {
      const [$gte, $lte] = [firstMs, endMs - 1].map((atMs) => bucketId(imei, vehicleId, atMs));
      return bucketCollection(database)
        .find({ _id: { $gte, $lte } } as object)
        .toArray();
    });
    yield unpackPoints((await Promise.all(ranges)).flat(), window);
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
        // Skips a downsampled point if the original point still exists.
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
function selectDays(known: VehicleDays | null, { fromMs, toMs }: Window): Day[] {
  const days = new Map<string, { day: string; imeis: string[]; isFull: boolean }>();
  for (const [key, kind] of Object.entries(known?.days ?? {}).toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    const { day, imei } = parseDayKey(key);
    const startMs = Date.parse(day);
    if (startMs + dayMs <= fromMs || startMs > toMs) continue;
    const found = days.get(day) ?? { day, imeis: [], isFull: false };
    found.imeis.push(imei);
    found.isFull ||= kind === 'full';
    days.set(day, found);
  }
  return [...days.values()];
}

/** Returns all points of a day of one terminal in one vehicle, in order. */
export async function readDay(database: Database, vehicleId: number, day: string, imei: string): Promise<Point[]> {
  const startMs = Date.parse(day);
  const window = { fromMs: startMs, toMs: startMs + dayMs - 1 };
  const found: Point[] = [];
  const whole = { day, imeis: [imei], isFull: true };
  const downsampled = unpackPoints(await findBuckets(database, dayBucketIds(whole, vehicleId)), window);
  for await (const points of mergeByTime(downsampled, readFull(database, whole, vehicleId, window)))
    for (const point of points) found.push(point);
  return found;
}

/** Returns the points of some buckets within a window, in order. A report that a terminal sent twice counts once. */
function unpackPoints(buckets: readonly Bucket[], { fromMs, toMs }: Window): Point[] {
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
