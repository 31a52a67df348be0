import { raiseHappenings } from '../../event-consumers/parts.ts';
import { type JobSlice, unlimited } from '../../jobs/job-slice.ts';
import type { Deps } from '../../platform/deps.ts';
import { vehiclesIn } from '../vehicles/queries.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { type RemovalParts, removeUnprotected } from './removal.ts';
import type { Media, MediaUsage } from './schema.ts';
import {
  bytesOf,
  changeUsage,
  countBytes,
  deleteUsage,
  findUsage,
  hasRoom,
  noteTold,
  oldestOf,
  usageAfter,
} from './store.ts';

/** Dependencies of the functions that limit the storage of vehicles. */
export type StorageParts = RemovalParts & Pick<Deps, 'config' | 'notifications' | 'redis'>;

const atOnce = 20;
const vehiclesAtOnce = 200;

/** Counts a new file and removes the oldest files of its vehicle if they exceed the limit. */
export async function countAdded(parts: StorageParts, vehicle: Vehicle, media: Media): Promise<void> {
  const { bytes } = await countBytes(parts.database, media, media.sizeBytes);
  await keepWithin(parts, vehicle, bytes);
}

/** Recounts the files of a vehicle, for example after a crash between recording and counting a file. */
export async function recount(parts: StorageParts, vehicle: Vehicle): Promise<void> {
  const { _id: vehicleId, accountId } = vehicle;
  const usage = await countBytes(parts.database, { accountId, vehicleId }, 0);
  await keepWithin(parts, vehicle, await corrected(parts, usage));
}

/** Recounts the files of all vehicles. Returns the vehicle to continue with, or null when done. */
export async function recountAll(parts: StorageParts, { from, isOver }: JobSlice = unlimited): Promise<number | null> {
  for (let after = from - 1; ; ) {
    const page = await usageAfter(parts.database, after, vehiclesAtOnce);
    if (page.length === 0) return null;
    for (const usage of page) {
      const vehicle = await vehiclesIn(parts.records).find(usage, usage._id);
      if (vehicle === null) await deleteUsage(parts.database, usage._id);
      else if (!(await keepWithin(parts, vehicle, await corrected(parts, usage), isOver))) return usage._id;
      after = usage._id;
      if (isOver()) return after + 1;
    }
  }
}

async function corrected({ database, records }: StorageParts, usage: MediaUsage): Promise<number> {
  const bytes = await bytesOf(records, usage._id);
  if (bytes === usage.bytes) return bytes;
  // Files added or removed during the count are included in the next one.
  return ((await changeUsage(database, usage, { bytes })) ?? (await findUsage(database, usage._id)))?.bytes ?? 0;
}

/**
 * Removes the oldest files until the vehicle is within its limit. Returns false if the slice is over and files above
 * the limit may remain.
 */
async function keepWithin(
  parts: StorageParts,
  vehicle: Vehicle,
  bytesNow: number,
  isOver: () => boolean = () => false,
): Promise<boolean> {
  const { database, records, config } = parts;
  const limit = config.MEDIA_MAX_BYTES_PER_VEHICLE;
  const away = new Set<string>();
  let bytes = bytesNow;
  while (bytes > limit) {
    const oldest = await oldestOf(records, vehicle._id, atOnce);
    // All remaining files are protected.
    if (oldest.length === 0) break;
    for (const media of oldest) {
      if (bytes <= limit) break;
      bytes = (await removeUnprotected(parts, media, away)) ?? bytes;
      if (isOver()) return false;
    }
    bytes = (await findUsage(database, vehicle._id))?.bytes ?? 0;
  }
  await tellWhenNearlyFull(parts, vehicle);
  return true;
}

/** Raises `storage_quota` once, until there has been room again. */
async function tellWhenNearlyFull(parts: StorageParts, vehicle: Vehicle): Promise<void> {
  const { database, config } = parts;
  const limit = config.MEDIA_MAX_BYTES_PER_VEHICLE;
  const usage = await findUsage(database, vehicle._id);
  if (usage === null) return;
  if (usage.bytes * 100 < limit * config.MEDIA_NEARLY_FULL_PERCENT) {
    if (usage.nearlyFullAtMs !== hasRoom)
      await changeUsage(database, usage, { nearlyFullAtMs: hasRoom, isTold: false });
    return;
  }
  const noted =
    usage.nearlyFullAtMs === hasRoom
      ? await changeUsage(database, usage, { nearlyFullAtMs: Date.now(), isTold: false })
      : usage;
  // Another caller has changed the usage and checks it as well.
  if (noted === null || noted.isTold) return;
  const percent = Math.round((noted.bytes * 100) / limit);
  const attributes = { used_bytes: noted.bytes, limit_bytes: limit, percent };
  const happening = { type: 'storage_quota', subject: 'media', atMs: noted.nearlyFullAtMs, attributes };
  await raiseHappenings(parts, [{ vehicle, happening }]);
  await noteTold(database, vehicle._id, noted.nearlyFullAtMs);
}
