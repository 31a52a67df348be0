import { hourMs } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import { readPositions } from './bucket-reader.ts';
import type { Window } from './schema.ts';
import { type Trip, TripFinder } from './trips.ts';

/** Time that is read before a window, to find trips in progress at its start, and after it, to find their ends. */
const marginMs = 12 * hourMs;

/** Returns the trips of a vehicle that began in a window, each complete, oldest first. */
export async function findTrips(
  { database, thresholds }: Pick<Deps, 'database' | 'thresholds'>,
  vehicleId: number,
  { fromMs, toMs }: Window,
  nowMs: number,
): Promise<Trip[]> {
  const finder = new TripFinder(thresholds.movingFromKmh);
  const found: Trip[] = [];
  const keep = (trips: readonly Trip[]): void => {
    found.push(...trips.filter(({ startedAtMs }) => startedAtMs >= fromMs && startedAtMs <= toMs));
  };
  const wide = { fromMs: fromMs - marginMs, toMs: toMs + marginMs };
  for await (const point of readPositions(database, vehicleId, wide)) {
    if (point.position.timestamp > toMs && !finder.isDriving) break;
    finder.add(point);
    keep(finder.take());
  }
  keep(finder.end(nowMs));
  return found;
}
