import { dayMs, validationError } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { parseTimestamp } from '../../platform/timestamps.ts';
import { findDriverNames } from '../drivers/queries.ts';
import type { LocationResponse } from '../last-positions/responses.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { type VisibleVehicle, visibleVehicle } from '../vehicles/visibility.ts';
import { readPositions } from './bucket-reader.ts';
import { findTrips } from './find-trips.ts';
import { toPosition } from './outlier-filter.ts';
import { type HistoryFrame, toPointResponse, toTripResponse } from './responses.ts';
import {
  type LocationsQuery,
  maxDays,
  maxPoints,
  type Point,
  type StopResponse,
  type TripResponse,
  type TripsQuery,
  type Window,
} from './schema.ts';
import { simplify } from './simplify.ts';
import { stopsBetween, withAddresses } from './stops.ts';

type HistoryDeps = Pick<Deps, 'records' | 'database' | 'thresholds'>;

/** A notification of a vehicle, as trips count them. */
interface VehicleEvent {
  readonly type: string;
  /** Device time, ms. */
  readonly timestamp: number;
}

/** Returns the notifications of a vehicle in a window, both ends included. */
export type FindVehicleEvents = (
  vehicle: { readonly accountId: number; readonly _id: number },
  window: Window,
) => Promise<VehicleEvent[]>;

/** A part of a vehicle's history, and where the rest begins. */
export interface History {
  readonly vehicle: Vehicle;
  readonly window: Window;
  readonly points: readonly LocationResponse[];
  /** Null if there are no more points. */
  readonly nextFromMs: number | null;
}

/** Largest number of points that are read for one response. */
const maxRead = 200_000;

/** Returns the positions of a vehicle with all of its terminals, oldest first. */
export async function locationsOf(
  deps: HistoryDeps,
  caller: Caller,
  vehicleId: number,
  query: LocationsQuery,
  nowMs = Date.now(),
): Promise<History> {
  const visible = await visibleVehicle(deps, caller, vehicleId);
  const window = windowOf(query, nowMs);
  const limit = Math.min(query.limit, maxPoints);
  // To simplify, all points are read first. Otherwise one point beyond the limit shows that there are more.
  const read = await readSome(deps, vehicleId, window, query.simplify_m > 0 ? maxRead : limit);
  const response = pageOf(
    simplify(read.points, query.simplify_m, ({ position }) => toPosition(position)),
    limit,
  );
  const frame = frameOf(deps, visible);
  return {
    vehicle: visible.vehicle,
    window,
    points: response.points.map((point) => toPointResponse(point, frame)),
    nextFromMs: response.nextMs ?? read.nextMs,
  };
}

/** Points, and the time of the next one; null if there are no more. */
interface Page {
  readonly points: readonly Point[];
  readonly nextMs: number | null;
}

/** Reads a limited number of points of a window. */
async function readSome({ database }: HistoryDeps, vehicleId: number, window: Window, limit: number): Promise<Page> {
  const points: Point[] = [];
  for await (const point of readPositions(database, vehicleId, window)) {
    points.push(point);
    if (points.length > limit && atMs(point) !== atMs(points[0])) break;
  }
  return pageOf(points, limit);
}

/**
 * Returns a limited number of points. Points with the same time are never split between two pages, so that a client
 * that continues from a time gets all of them. If more than `limit` points have the same time, all of them are
 * returned; otherwise paging would never get past that time.
 */
function pageOf(points: readonly Point[], limit: number): Page {
  const next = points[limit];
  if (next === undefined) return { points, nextMs: null };
  const start = points.findIndex((each) => atMs(each) === atMs(next));
  const end = start > 0 ? start : points.findIndex((each) => atMs(each) !== atMs(next));
  const last = end === -1 ? points.length : end;
  return { points: points.slice(0, last), nextMs: atMs(points[last]) };
}

const atMs = (point: Point | undefined): number | null => point?.position.timestamp ?? null;

type TripDeps = HistoryDeps & Pick<Deps, 'limits' | 'log' | 'maps'>;

/** Trips, oldest first, and the stops after them if they were requested. */
interface Trips {
  readonly trips: readonly TripResponse[];
  readonly stops: readonly StopResponse[];
}

/**
 * Returns the trips of a vehicle that began in a window, each complete, oldest first. They are computed from the points
 * on each call, and so include late points.
 */
export async function tripsOf(
  deps: TripDeps,
  caller: Caller,
  vehicleId: number,
  query: TripsQuery,
  findEvents: FindVehicleEvents,
  nowMs = Date.now(),
): Promise<Trips> {
  const visible = await visibleVehicle(deps, caller, vehicleId);
  const { vehicle, permissions } = visible;
  const window = windowOf(query, nowMs);
  const trips = await findTrips(deps, vehicleId, window, nowMs);
  const [first, last] = [trips[0], trips.at(-1)];
  const happened =
    first === undefined || last === undefined || !permissions.includes('notifications')
      ? []
      : await findEvents(vehicle, { fromMs: first.startedAtMs, toMs: last.lastAtMs });
  const frame = frameOf(deps, visible);
  const ids = [...new Set(trips.flatMap(({ driverId }) => (driverId === null ? [] : [driverId])))];
  const names = frame.seesDrivers ? await findDriverNames(deps, vehicle, ids) : new Map<number, string>();
  const responses = trips.map((trip) => toTripResponse(trip, frame, { happened, driverNames: names }));
  const stops = query.stops === true ? await stopsBetween(deps, caller, responses) : [];
  return query.address === true ? withAddresses(deps, caller, responses, stops) : { trips: responses, stops };
}

const frameOf = ({ thresholds }: HistoryDeps, { vehicle, access }: VisibleVehicle): HistoryFrame => ({
  thresholds,
  vehicleId: vehicle._id,
  // The driver of a shared vehicle is not returned.
  seesDrivers: access === 'owner',
});

/** Returns the requested window; the default is one day up to now. */
function windowOf(query: { readonly from?: string; readonly to?: string }, nowMs: number): Window {
  const toMs = parseTimestamp(query.to, 'to')?.getTime() ?? nowMs;
  const fromMs = parseTimestamp(query.from, 'from')?.getTime() ?? toMs - dayMs;
  if (fromMs > toMs) throw validationError([{ path: '/from', message: 'must not be after to' }]);
  if (toMs - fromMs > maxDays * dayMs)
    throw validationError([{ path: '/to', message: `must not be more than ${maxDays} days after from` }]);
  return { fromMs, toMs };
}
