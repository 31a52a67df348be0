import { minuteMs } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import { readPositions } from './bucket-reader.ts';
import { filterFix, isFix, toPosition } from './outlier-filter.ts';
import type { Point, Window } from './schema.ts';
import { simplify } from './simplify.ts';

/** The recent track of a vehicle, for a map. */
export interface Track {
  /** Latitude, longitude and ms since 1970, oldest first. */
  readonly points: readonly (readonly [number, number, number])[];
  /** Recent speed without stops; null if the vehicle has hardly moved. */
  readonly paceKmh: number | null;
}

/** Largest number of points of a track that are read, and that are returned. */
const maxRead = 90_000;
const maxPoints = 1_000;
const toleranceM = 5;
/** The time span that counts as recent, and the shortest distance from which a pace is computed. */
const recentMs = 15 * minuteMs;
const leastWayM = 300;

/** Returns the valid fixes of a window without jumps, simplified. */
export async function readTrack(
  { database, thresholds }: Pick<Deps, 'database' | 'thresholds'>,
  vehicleId: number,
  window: Window,
): Promise<Track> {
  const fixes: Point[] = [];
  const [pace, sinceMs] = [{ wayM: 0, ms: 0 }, window.toMs - recentMs];
  let believed = null;
  for await (const point of readPositions(database, vehicleId, window)) {
    if (!isFix(point.position)) continue;
    const before = believed;
    const step = filterFix(before, point.position);
    believed = step.accepted;
    if (step.kind === 'jump') continue;
    fixes.push(point);
    if (before !== null && before.atMs >= sinceMs && point.position.speed >= thresholds.movingFromKmh) {
      pace.wayM += step.distanceM;
      pace.ms += point.position.timestamp - before.atMs;
    }
    if (fixes.length >= maxRead) break;
  }
  const line = simplify(fixes, toleranceM, ({ position }) => toPosition(position));
  const every = Math.ceil(line.length / maxPoints);
  const response = line.filter((_point, at) => at % every === 0 || at === line.length - 1);
  return {
    points: response.map(({ position }) => [position.latitude, position.longitude, position.timestamp]),
    paceKmh: pace.wayM < leastWayM ? null : (pace.wayM / pace.ms) * 3_600,
  };
}
