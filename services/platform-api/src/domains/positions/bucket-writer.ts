import { dayMs } from '@fleet/service-kit';
import { type Database, findTooLargeIds, isDuplicateKey } from '@fleet/storage';
import { writeThrottled } from '../../store/throttled-writes.ts';
import { BucketCapacity, type BucketFields, maxBucketPoints } from './bucket-capacity.ts';
import { bucketCollection, bucketId, dayCollection, floorToBucket, formatDay, toTerminalNumber } from './buckets.ts';
import { pack } from './packing.ts';
import type { NewPoint } from './schema.ts';

/** Limit of the cache of days that this process has recorded in the database. The cache avoids writing a day again. */
const maxKnownDays = 200_000;
const knownDayTtlMs = dayMs;
const knownDays = new WeakMap<Database, Set<string>>();

/** Options of `appendPositions`. */
interface AppendOptions {
  readonly maxPoints?: number;
  /** While it returns false, other writers have priority. */
  readonly isUrgent?: () => boolean;
  /** Current time, for tests. */
  readonly nowMs?: number;
}

/**
 * Adds points to the history of vehicles: one write for each bucket, and one more for each vehicle with the first point
 * of a day. Adding the same points again changes nothing, so that a failed call can be repeated as a whole. Points that
 * exceed the limit of a bucket are dropped.
 */
export async function appendPositions(
  database: Database,
  items: readonly NewPoint[],
  { maxPoints = maxBucketPoints, isUrgent = () => true, nowMs = Date.now() }: AppendOptions = {},
): Promise<DroppedPoints> {
  if (items.length === 0) return { points: 0, buckets: [] };
  await recordDays(database, items, isUrgent, nowMs);
  const capacity = BucketCapacity.of(database);
  const { buckets, dropped } = capacity.trim(groupByBucket(items), maxPoints);
  const rejected = await writeWithoutTooLarge(buckets, () => {
    const operations = [...buckets].map(([_id, { head, points }]) => ({
      updateOne: { filter: { _id }, update: { $set: { ...head, ...points } }, upsert: true },
    }));
    return retryDuplicates(() => writeThrottled(database, bucketCollection(database), operations, isUrgent));
  });
  for (const id of rejected.keys()) capacity.markFull(id);
  const points = [...rejected.values()].reduce((sum, bucket) => sum + Object.keys(bucket.points).length, dropped);
  return { points, buckets: [...rejected.keys(), ...capacity.recordWrite(buckets, maxPoints)] };
}

/** Number of points that were dropped, and the buckets that are now full. */
export interface DroppedPoints {
  readonly points: number;
  readonly buckets: readonly string[];
}

/** Removes buckets that the database rejects as too large, so that the others are written. Returns the removed ones. */
async function writeWithoutTooLarge(
  buckets: Map<string, BucketFields>,
  write: () => Promise<unknown>,
): Promise<Map<string, BucketFields>> {
  const rejected = new Map<string, BucketFields>();
  for (;;) {
    try {
      await write();
      return rejected;
    } catch (error) {
      const tooLarge = findTooLargeIds(error).flatMap((id) => [...buckets].filter(([each]) => each === id));
      if (tooLarge.length === 0) throw error;
      for (const [id, bucket] of tooLarge) {
        buckets.delete(id);
        rejected.set(id, bucket);
      }
    }
  }
}

/** Returns the fields to write, by bucket. */
function groupByBucket(items: readonly NewPoint[]): Map<string, BucketFields> {
  const buckets = new Map<string, BucketFields>();
  for (const item of items) {
    const { position, vehicleId, accountId, hash } = item;
    const startMs = floorToBucket(position.timestamp);
    const id = bucketId(toTerminalNumber(position.imei), vehicleId, startMs);
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
  const oldest = formatDay(nowMs - knownDayTtlMs);
  const vehicles = new Map<string, Record<string, unknown>>();
  for (const { position, vehicleId, accountId } of items) {
    const day = `${formatDay(position.timestamp)}:${toTerminalNumber(position.imei)}`;
    const key = `${vehicleId}:${day}`;
    // A day of long ago may have been downsampled since, and becomes full again.
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
  await retryDuplicates(() => writeThrottled(database, dayCollection(database), operations, isUrgent));
  for (const key of added) known.add(key);
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
