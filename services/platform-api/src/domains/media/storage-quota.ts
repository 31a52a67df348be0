import { raiseVehicleEvents } from '../../event-consumers/vehicle-events.ts';
import { type JobSlice, unlimited } from '../../jobs/job-slice.ts';
import type { Deps } from '../../platform/deps.ts';
import { vehicleCollection } from '../vehicles/queries.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { evictMedia } from './removal.ts';
import type { RemovalDeps } from './removal-states.ts';
import type { Media, MediaUsage } from './schema.ts';
import {
  belowThreshold,
  deleteUsage,
  findUsage,
  incrementUsage,
  listOldestUnprotected,
  listUsageAfter,
  markNearlyFullNotified,
  sumBytes,
  updateUsage,
} from './store.ts';

/** Dependencies of the functions that limit the storage of vehicles. */
export type StorageDeps = RemovalDeps & Pick<Deps, 'config' | 'notifications' | 'redis'>;

const evictionBatchSize = 20;
const pageSize = 200;

/** Counts a new file and removes the oldest files of its vehicle if they exceed the limit. */
export async function countNewFile(deps: StorageDeps, vehicle: Vehicle, media: Media): Promise<void> {
  const { bytes } = await incrementUsage(deps.database, media, media.sizeBytes);
  await enforceQuota(deps, vehicle, bytes);
}

/** Recounts the files of a vehicle, for example after a crash between recording and counting a file. */
export async function recalculateUsage(deps: StorageDeps, vehicle: Vehicle): Promise<void> {
  const { _id: vehicleId, accountId } = vehicle;
  const usage = await incrementUsage(deps.database, { accountId, vehicleId }, 0);
  await enforceQuota(deps, vehicle, await correctUsage(deps, usage));
}

/** Recounts the files of all vehicles. Returns the vehicle to continue with, or null when done. */
export async function recalculateAllUsage(
  deps: StorageDeps,
  { from, isOver }: JobSlice = unlimited,
): Promise<number | null> {
  for (let after = from - 1; ; ) {
    const page = await listUsageAfter(deps.database, after, pageSize);
    if (page.length === 0) return null;
    for (const usage of page) {
      const vehicle = await vehicleCollection(deps.records).find(usage, usage._id);
      if (vehicle === null) await deleteUsage(deps.database, usage._id);
      else if (!(await enforceQuota(deps, vehicle, await correctUsage(deps, usage), isOver))) return usage._id;
      after = usage._id;
      if (isOver()) return after + 1;
    }
  }
}

async function correctUsage({ database, records }: StorageDeps, usage: MediaUsage): Promise<number> {
  const bytes = await sumBytes(records, usage._id);
  if (bytes === usage.bytes) return bytes;
  // Files added or removed during the count are included in the next one.
  return ((await updateUsage(database, usage, { bytes })) ?? (await findUsage(database, usage._id)))?.bytes ?? 0;
}

/**
 * Removes the oldest files until the vehicle is within its limit. Returns false if the slice is over and files above
 * the limit may remain.
 */
async function enforceQuota(
  deps: StorageDeps,
  vehicle: Vehicle,
  usedBytes: number,
  isOver: () => boolean = () => false,
): Promise<boolean> {
  const { database, records, config } = deps;
  const limit = config.MEDIA_MAX_BYTES_PER_VEHICLE;
  const unavailableServers = new Set<string>();
  let bytes = usedBytes;
  while (bytes > limit) {
    const oldest = await listOldestUnprotected(records, vehicle._id, evictionBatchSize);
    // All remaining files are protected.
    if (oldest.length === 0) break;
    for (const media of oldest) {
      if (bytes <= limit) break;
      bytes = (await evictMedia(deps, media, unavailableServers)) ?? bytes;
      if (isOver()) return false;
    }
    bytes = (await findUsage(database, vehicle._id))?.bytes ?? 0;
  }
  await notifyNearlyFull(deps, vehicle);
  return true;
}

/** Raises `storage_quota` once, until there has been room again. */
async function notifyNearlyFull(deps: StorageDeps, vehicle: Vehicle): Promise<void> {
  const { database, config } = deps;
  const limit = config.MEDIA_MAX_BYTES_PER_VEHICLE;
  const usage = await findUsage(database, vehicle._id);
  if (usage === null) return;
  if (usage.bytes * 100 < limit * config.MEDIA_NEARLY_FULL_PERCENT) {
    if (usage.nearlyFullAtMs !== belowThreshold)
      await updateUsage(database, usage, { nearlyFullAtMs: belowThreshold, isTold: false });
    return;
  }
  const marked =
    usage.nearlyFullAtMs === belowThreshold
      ? await updateUsage(database, usage, { nearlyFullAtMs: Date.now(), isTold: false })
      : usage;
  // Another caller has changed the usage and checks it as well.
  if (marked === null || marked.isTold) return;
  const percent = Math.round((marked.bytes * 100) / limit);
  const attributes = { used_bytes: marked.bytes, limit_bytes: limit, percent };
  const event = { type: 'storage_quota', subject: 'media', atMs: marked.nearlyFullAtMs, attributes };
  await raiseVehicleEvents(deps, [{ vehicle, event }]);
  await markNearlyFullNotified(database, vehicle._id, marked.nearlyFullAtMs);
}
