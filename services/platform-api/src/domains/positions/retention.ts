import { dayMs } from '@fleet/service-kit';
import type { JobSlice } from '../../jobs/job-slice.ts';
import type { Deps } from '../../platform/deps.ts';
import { readDay } from './bucket-reader.ts';
import { parseDayKey } from './buckets.ts';
import { isFix } from './outlier-filter.ts';
import type { Point, VehicleDays } from './schema.ts';
import { deleteDay, downsampleDay, listVehicleDays } from './vehicle-days.ts';

type RetentionDeps = Pick<Deps, 'database' | 'config'>;

/** Returns for how many days an account retains all points. */
type FullHistoryDays = (accountId: number) => Promise<number>;

const downsampleIntervalMs = 300_000;

/** Largest number of vehicles in one slice. */
const maxVehicles = 1_000;
const pageSize = 100;

/**
 * Downsamples the history that is past the account's days of complete history, and removes what is past retention. Returns
 * the vehicle to continue with, or null if all is done. It goes by ids, so that deleted vehicles are included.
 */
export async function applyPositionRetention(
  deps: RetentionDeps,
  { from, isOver }: JobSlice,
  fullDaysOf: FullHistoryDays,
  nowMs = Date.now(),
): Promise<number | null> {
  const fullDays = daysByAccount(fullDaysOf);
  let next = from;
  for (let read = 0; read < maxVehicles; read += pageSize) {
    const page = await listVehicleDays(deps.database, next, pageSize);
    for (const days of page) {
      if (!(await applyToVehicle(deps, days, await fullDays(days.accountId), nowMs, isOver))) return days.vehicleId;
      next = days.vehicleId + 1;
    }
    if (page.length < pageSize) return null;
  }
  return next;
}

/** Returns false if the time is over and some history may be left. */
async function applyToVehicle(
  deps: RetentionDeps,
  known: VehicleDays,
  fullDays: number,
  nowMs: number,
  isOver: () => boolean,
): Promise<boolean> {
  const { LOCATION_RETENTION_DAYS: retentionDays } = deps.config;
  for (const [key, kind] of Object.entries(known.days)) {
    const { day, imei } = parseDayKey(key);
    const ageDays = (nowMs - Date.parse(day) - dayMs) / dayMs;
    if (ageDays > fullDays + retentionDays) await deleteDay(deps.database, known, day, imei);
    else if (kind === 'full' && ageDays > fullDays) {
      const points = await readDay(deps.database, known.vehicleId, day, imei);
      await downsampleDay(deps.database, known, day, imei, downsample(points));
    } else continue;
    // Checked after a change, so that each slice makes progress.
    if (isOver()) return false;
  }
  return true;
}

/** Returns for how many days an account retains all points; looks up each account once. */
function daysByAccount(read: FullHistoryDays): FullHistoryDays {
  const known = new Map<number, number>();
  return async (accountId) => {
    const days = known.get(accountId) ?? (await read(accountId));
    known.set(accountId, days);
    return days;
  };
}

/** Returns one point of each five minutes: the first that has a fix, or the first. */
export function downsample(points: readonly Point[]): Point[] {
  const slots = new Map<number, Point>();
  for (const point of points) {
    const slot = Math.floor(point.position.timestamp / downsampleIntervalMs);
    const known = slots.get(slot);
    if (known === undefined || (!isFix(known.position) && isFix(point.position))) slots.set(slot, point);
  }
  return [...slots.values()];
}
