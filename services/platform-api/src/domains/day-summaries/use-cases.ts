import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { readLists } from '../dashcam/recording-lists.ts';
import { findTakenTimes } from '../media/queries.ts';
import { findNotificationTimes } from '../notifications/notification-times.ts';
import { findTrips } from '../positions/find-trips.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { visibleVehicle } from '../vehicles/visibility.ts';
import { summarize, toSpan } from './rules.ts';
import type { DaySummary } from './schema.ts';

type DaysDeps = Pick<Deps, 'records' | 'database' | 'redis' | 'thresholds'>;

/** Returns the days of a month on which a vehicle drove, raised events, or recorded something. */
export async function listDays(
  deps: DaysDeps,
  caller: Caller,
  vehicleId: number,
  month: string,
  nowMs = Date.now(),
): Promise<DaySummary[]> {
  const { vehicle, permissions } = await visibleVehicle(deps, caller, vehicleId);
  const span = toSpan(month);
  const hasVideo = permissions.includes('history_video');
  const [trips, events, media, recordings] = await Promise.all([
    findTrips(deps, vehicleId, { fromMs: span.fromMs, toMs: span.toMs - 1 }, nowMs),
    permissions.includes('notifications') ? findNotificationTimes(deps, vehicle, span) : [],
    hasVideo ? findTakenTimes(deps.records, vehicle, span) : [],
    hasVideo ? findRecordingStarts(deps, vehicle, span) : [],
  ]);
  const drives = trips.map(({ startedAtMs, lastAtMs, idleMs, distanceM }) => ({
    startedAtMs,
    distanceM,
    drivingMs: lastAtMs - startedAtMs - idleMs,
  }));
  return summarize(month, vehicle.timezone, { trips: drives, events, media, recordings });
}

/** Returns the starts of the recordings in the stored lists of a vehicle's cameras. */
async function findRecordingStarts(
  { redis }: Pick<Deps, 'redis'>,
  vehicle: Vehicle,
  span: ReturnType<typeof toSpan>,
): Promise<number[]> {
  const lists = await readLists(redis, vehicle, span);
  return lists.flatMap(({ segments }) => segments.map(({ fromMs }) => fromMs));
}
