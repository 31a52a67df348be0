import type { Database } from '@fleet/storage';
import { findBuckets } from './bucket-reader.ts';
import { bucketId, floorToBucket, toTerminalNumber } from './buckets.ts';

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
  const ids = new Set(
    requested.map(({ imei, vehicleId, timestamp }) => bucketId(imei, vehicleId, floorToBucket(timestamp))),
  );
  const buckets = await findBuckets(database, [...ids]);
  const known = new Set<string>();
  for (const { _id, points } of buckets)
    for (const key of Object.keys(points))
      known.add(`${_id.slice(0, _id.indexOf(':'))}:${Date.parse(`${_id.slice(-16)}Z`)}:${key}`);
  return ({ imei, timestamp }, hash) => {
    const startMs = floorToBucket(timestamp);
    return known.has(`${toTerminalNumber(imei)}:${startMs}:${timestamp - startMs}-${hash}`);
  };
}
