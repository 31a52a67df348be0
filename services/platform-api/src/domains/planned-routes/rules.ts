import { AppError, validationError } from '@fleet/service-kit';
import { computeBounds } from '../../geometry/bounds.ts';
import { lineLengthM, nearestOnLine } from '../../geometry/lines.ts';
import { decodePolyline, encodePolyline } from '../../geometry/polyline.ts';
import type { Position } from '../../geometry/positions.ts';
import { flattenPositions, parsePositions, toPairs } from '../../platform/coordinates.ts';
import { omitUndefined } from '../../platform/fields.ts';
import { validateSchedule } from '../../platform/schedule.ts';
import type { Change } from '../../store/account-repository.ts';
import { type PathSource, type RouteBody, routeEvents, type StoredRoute, type Waypoint } from './schema.ts';

/** Assumed speed if no provider knows a better one. */
const assumedSpeedKmh = 40;
const defaultRadiusM = 50;

/** Defaults of the fields of a new route. */
export const routeDefaults = {
  description: null,
  color: null,
  waypoints: [],
  profile: 'car',
  deviationM: 100,
  notifyOn: routeEvents,
  schedule: null,
  speedLimitKmh: null,
  active: true,
  vehicleIds: [],
} as const satisfies Partial<StoredRoute>;

/** Returns the changes of a body, except for the path. */
export const toRouteChange = (body: RouteBody): Change<StoredRoute> =>
  omitUndefined({
    name: body.name,
    description: body.description,
    color: body.color,
    waypoints: body.waypoints?.map(toWaypoint),
    profile: body.profile,
    deviationM: body.deviation_m,
    notifyOn: body.notify_on && [...new Set(body.notify_on)],
    schedule: validateSchedule(body.schedule),
    speedLimitKmh: body.speed_limit_kmh,
    active: body.active,
  });

const toWaypoint = (waypoint: NonNullable<RouteBody['waypoints']>[number]): Waypoint => ({
  lat: waypoint.lat + 0,
  lng: waypoint.lng + 0,
  name: waypoint.name ?? null,
  radiusM: waypoint.radius_m ?? defaultRadiusM,
  stopSeconds: waypoint.stop_seconds ?? null,
});

/** The path of a stored route. */
export type Path = Pick<StoredRoute, 'points' | 'bounds' | 'pathSource' | 'distanceM' | 'durationSeconds'>;

/** Returns a path with its derived fields. */
export const createPath = (
  line: readonly Position[],
  source: PathSource,
  measured: { distanceM: number; durationS: number } = {
    distanceM: lineLengthM(line),
    durationS: lineLengthM(line) / (assumedSpeedKmh / 3.6),
  },
): Path => ({
  points: flattenPositions(line),
  bounds: computeBounds(line),
  pathSource: source,
  distanceM: Math.round(measured.distanceM),
  durationSeconds: Math.round(measured.durationS),
});

/**
 * Returns the line of a body, or null if it has none. Both `path` and `polyline` are accepted if they are the same
 * line, as in a record that was read.
 */
export function parseLine({ path, polyline }: RouteBody): Position[] | null {
  if (path !== undefined && path !== null) {
    const line = parsePositions(path, 'latlng', '/path');
    if (polyline !== undefined && polyline !== null && polyline !== encodePolyline(line))
      throw new AppError('conflicting_parameters', 'The fields path and polyline describe different lines.', {
        details: [{ path: '/polyline', message: 'differs from path' }],
      });
    return line;
  }
  if (polyline === undefined || polyline === null) return null;
  const line = decodePolyline(polyline);
  if (line === null || line.length < 2)
    throw validationError([
      { path: '/polyline', message: 'must be a polyline of precision 5 with at least two points' },
    ]);
  return line;
}

/** Returns true for the current line of a route. Sending it back as read preserves its source. */
export const isCurrentLine = ({ points }: StoredRoute, line: readonly Position[]): boolean =>
  points.length === line.length * 2 && flattenPositions(line).every((coordinate, at) => coordinate === points[at]);

/** Returns true if a change without a line requires the path to be redrawn. */
export function mustRedraw(body: RouteBody, existing: StoredRoute): boolean {
  if (body.path === null || body.polyline === null) return true;
  // Without waypoints there is nothing to draw through, and the path does not change.
  if (body.waypoints !== undefined) return body.waypoints.length > 0;
  return body.profile !== undefined && body.profile !== existing.profile && existing.pathSource !== 'client';
}

/** Throws for a single waypoint: a route has none, or at least two. */
export function validateWaypoints({ waypoints }: RouteBody): void {
  if (waypoints?.length === 1)
    throw validationError([{ path: '/waypoints', message: 'must have no items, or at least 2' }]);
}

/** Returns the waypoints to draw a path through; throws 400 if there are none. */
export function requireWaypoints(waypoints: readonly Waypoint[]): Position[] {
  if (waypoints.length < 2)
    throw validationError([{ path: '/waypoints', message: 'is missing: a route needs a path or waypoints' }]);
  return waypoints.map(({ lat, lng }) => [lat, lng]);
}

/** The progress of a vehicle on a route. */
export interface Progress {
  readonly waypointIndex: number | null;
  readonly distanceRemainingM: number;
  readonly secondsRemaining: number | null;
  readonly isOffRoute: boolean;
}

/** Computes the progress of a vehicle at a position on a route. */
export function estimateProgress(route: StoredRoute, position: Position): Progress | null {
  const path = toPairs(route.points);
  const nearest = nearestOnLine(position, path);
  if (nearest === null) return null;
  const totalM = lineLengthM(path);
  // The remaining distance is the same fraction of the route's own distance, which may be an estimate longer than the
  // line.
  const remainingShare = totalM === 0 ? 0 : Math.max(0, 1 - nearest.alongM / totalM);
  const nextIndex = waypointDistances(route.waypoints, path).findIndex((alongM) => alongM > nearest.alongM);
  const lastIndex = route.waypoints.length - 1;
  return {
    waypointIndex: lastIndex < 0 ? null : nextIndex === -1 ? lastIndex : nextIndex,
    distanceRemainingM: Math.round(route.distanceM * remainingShare),
    secondsRemaining:
      route.durationSeconds === 0 && remainingShare > 0 ? null : Math.round(route.durationSeconds * remainingShare),
    isOffRoute: nearest.distanceM > route.deviationM,
  };
}

/**
 * Returns the distances of the waypoints along the path. Each is searched after the previous one, so that a round trip
 * ends at its end.
 */
function waypointDistances(waypoints: readonly Waypoint[], path: readonly Position[]): number[] {
  let remaining = [...path];
  let startM = 0;
  return waypoints.map(({ lat, lng }) => {
    const found = nearestOnLine([lat, lng], remaining);
    if (found === null) return startM;
    startM += found.alongM;
    remaining = [found.position, ...remaining.slice(found.segment + 1)];
    return startM;
  });
}
