import type { Database } from '@fleet/storage';
import { writeThrottled } from '../../store/throttled-writes.ts';
import { bucketCollection, bucketIdsOfDay, dayBucketId, dayCollection } from './buckets.ts';
import { pack } from './packing.ts';
import type { Point, VehicleDays } from './schema.ts';

/** Returns the days and terminals for which a vehicle has history. */
export const findVehicleDays = (database: Database, vehicleId: number): Promise<VehicleDays | null> =>
  dayCollection(database).findOne({ _id: String(vehicleId) });

/** Returns the days of some vehicles, including deleted ones, in the order of the vehicles' ids. */
export const listVehicleDays = (database: Database, vehicleId: number, limit: number): Promise<VehicleDays[]> =>
  dayCollection(database)
    .find({ vehicleId: { $gte: vehicleId } })
    .sort({ vehicleId: 1 })
    .limit(limit)
    .toArray();

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
  const _id = dayBucketId(imei, vehicleId, day);
  const bucket = { vehicleId, accountId, imei: points[0]?.position.imei ?? imei, points: Object.fromEntries(fields) };
  await bucketCollection(database).replaceOne({ _id }, bucket, { upsert: true });
  await dayCollection(database).updateOne({ _id: known._id }, { $set: { [`days.${day}:${imei}`]: 'thin' } });
  await deleteBuckets(database, bucketIdsOfDay(vehicleId, day, imei).slice(1));
}

/** Removes a day. Its entry in the list of days is removed last, so that an interrupted removal is repeated. */
export async function deleteDay(database: Database, known: VehicleDays, day: string, imei: string): Promise<void> {
  await deleteBuckets(database, bucketIdsOfDay(known.vehicleId, day, imei));
  await dayCollection(database).updateOne({ _id: known._id }, { $unset: { [`days.${day}:${imei}`]: '' } });
}

/** Removes buckets at low priority, so that other writes do not wait. */
async function deleteBuckets(database: Database, ids: readonly string[]): Promise<void> {
  const operations = ids.map((_id) => ({ deleteOne: { filter: { _id } } }));
  await writeThrottled(database, bucketCollection(database), operations, () => false);
}
