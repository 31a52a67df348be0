import { terminalKey } from '@fleet/jt808';
import { dayMs } from '@fleet/service-kit';
import type { Collection, Database } from '@fleet/storage';
import type { Bucket, VehicleDays } from './schema.ts';

/** Device time that a bucket covers. */
const bucketMs = 600_000;

export const bucketCollection = (database: Database): Collection<Bucket> =>
  database.collection<Bucket>('position_buckets');
export const dayCollection = (database: Database): Collection<VehicleDays> =>
  database.collection<VehicleDays>('position_days');

/** Returns the day of a time in UTC, as `2026-11-21`. */
export const formatDay = (ms: number): string => new Date(ms).toISOString().slice(0, 10);

/** Returns the start of the bucket of a time. */
export const floorToBucket = (ms: number): number => Math.floor(ms / bucketMs) * bucketMs;

/** Returns the id of the bucket that starts at a time; `imei` is the canonical number. */
export const bucketId = (imei: string, vehicleId: number, startMs: number): string =>
  `${imei}:${vehicleId}:${new Date(startMs).toISOString().slice(0, 16)}`;

/** Returns the id of the bucket of a downsampled day. */
export const dayBucketId = (imei: string, vehicleId: number, day: string): string => `${imei}:${vehicleId}:${day}`;

/** Returns the ids of all buckets that a day may have: that of the downsampled day, then those of ten minutes. */
export function bucketIdsOfDay(vehicleId: number, day: string, imei: string): string[] {
  const startMs = Date.parse(day);
  const starts = Array.from({ length: dayMs / bucketMs }, (_unused, at) => startMs + at * bucketMs);
  return [dayBucketId(imei, vehicleId, day), ...starts.map((atMs) => bucketId(imei, vehicleId, atMs))];
}

/** Parses a key of `VehicleDays.days`. */
export function parseDayKey(key: string): { readonly day: string; readonly imei: string } {
  const [day = '', imei = ''] = key.split(':');
  return { day, imei };
}

/** Returns the start of the bucket with an `_id`. */
export function bucketStart(id: string): number {
  const start = id.split(':').slice(2).join(':');
  return Date.parse(start.length === 'YYYY-MM-DD'.length ? start : `${start}Z`);
}

/** Returns the canonical number of a terminal. */
export function toTerminalNumber(imei: string): string {
  const key = terminalKey(imei);
  if (key === null) throw new Error(`${imei} is not a valid terminal number`);
  return key;
}
