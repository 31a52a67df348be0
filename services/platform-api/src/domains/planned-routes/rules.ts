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

/** How fast one drives where nobody knows better. */
const assumedKmh = 40;
const defaultRadiusM = 50;

/** The fields of a new route that its maker does not give. */
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

/** What a body changes, beside the path. */
export const detailsOf = (body: RouteBody): Change<StoredRoute> =>
  omitUndefined({
    name: body.name,
    description: body.description,
    color: body.color,
    waypoints: body.waypoints?.map(waypointOf),
    profile: body.profile,
    deviationM: body.deviation_m,
    notifyOn: body.notify_on && [...new Set(body.notify_on)],
    schedule: validateSchedule(body.schedule),
    speedLimitKmh: body.speed_limit_kmh,
    active: body.active,
  });

const waypointOf = (waypoint: NonNullable<RouteBody['waypoints']>[number]): Waypoint => ({
  lat: waypoint.lat + 0,
  lng: waypoint.lng + 0,
  name: waypoint.name ?? null,
  radiusM: waypoint.radius_m ?? defaultRadiusM,
  stopSeconds: waypoint.stop_seconds ?? null,
});

/** The path of a route as it is stored. */
export type Path = Pick<StoredRoute, 'points' | 'bounds' | 'pathSource' | 'distanceM' | 'durationSeconds'>;

/** A path with what is worked out of it. */
export const pathOf = (
  line: readonly Position[],
  source: PathSource,
  known: { distanceM: number; durationS: number } = {
    distanceM: lineLengthM(line),
    durationS: lineLengthM(line) / (assumedKmh / 3.6),
  },
): Path => ({
  points: flattenPositions(line),
  bounds: computeBounds(line),
  pathSource: source,
  distanceM: Math.round(known.distanceM),
  durationSeconds: Math.round(known.durationS),
});

/** The line that a body brings, or null when it brings none. Both forms are no fault where they say the same, as a record that was read does. */
export function givenLine({ path, polyline }: RouteBody): Position[] | null {
  if (path !== undefined && path !== null) {
    const line = parsePositions(path, 'latlng', '/path');
    if (polyline !== undefined && polyline !== null && polyline !== encodePolyline(line))
      throw new AppError('conflicting_parameters', 'The fields path and polyline are different lines.', {
        details: [{ path: '/polyline', message: 'is another line than path' }],
      });
    return line;
  }
  if (polyline === undefined || polyline === null) return null;
  const line = decodePolyline(polyline);
  if (line === null || line.length < 2)
    throw validationError([
      { path: '/polyline', message: 'must be a polyline of precision 5 with two points or more' },
    ]);
  return line;
}

/** True for the line that a route has: sent back as it was read it stays what it is, with who drew it. */
export const isLineOf = ({ points }: StoredRoute, line: readonly Position[]): boolean =>
  points.length === line.length * 2 && flattenPositions(line).every((coordinate, at) => coordinate === points[at]);

/** True when a change without a line needs the path to be drawn again. */
export function isDrawnAgain(body: RouteBody, known: StoredRoute): boolean {
  if (body.path === null || body.polyline === null) return true;
  // No waypoints: there is nothing to draw through, and the path stays.
  if (body.waypoints !== undefined) return body.waypoints.length > 0;
  return body.profile !== undefined && body.profile !== known.profile && known.pathSource !== 'client';
}

/** A route leads from one waypoint to another, or has none. */
export function checkWaypoints({ waypoints }: RouteBody): void {
  if (waypoints?.length === 1)
    throw validationError([{ path: '/waypoints', message: 'must have no items, or at least 2' }]);
}

/** The waypoints to draw a path through; 400 when there are none. */
export function drawnThrough(waypoints: readonly Waypoint[]): Position[] {
  if (waypoints.length < 2)
    throw validationError([{ path: '/waypoints', message: 'is missing: a route has a path or waypoints' }]);
  return waypoints.map(({ lat, lng }) => [lat, lng]);
}

/** How far a vehicle has come. */
export interface Progress {
  readonly waypointIndex: number | null;
  readonly distanceRemainingM: number;
  readonly secondsRemaining: number | null;
  readonly isOffRoute: boolean;
}

/** How far a vehicle at a position has come on a route. */
export function progressAt(route: StoredRoute, position: Position): Progress | null {
  const path = toPairs(route.points);
  const here = nearestOnLine(position, path);
  if (here === null) return null;
  const totalM = lineLengthM(path);
  // What is left is the same part of the route's own distance, which may be an estimate longer than the line.
  const left = totalM === 0 ? 0 : Math.max(0, 1 - here.alongM / totalM);
  const next = alongs(route.waypoints, path).findIndex((alongM) => alongM > here.alongM);
  const last = route.waypoints.length - 1;
  return {
    waypointIndex: last < 0 ? null : next === -1 ? last : next,
    distanceRemainingM: Math.round(route.distanceM * left),
    secondsRemaining: route.durationSeconds === 0 && left > 0 ? null : Math.round(route.durationSeconds * left),
    isOffRoute: here.distanceM > route.deviationM,
  };
}

/** Where along the path the waypoints lie: each behind the one before, so that a round trip ends at its end. */
function alongs(waypoints: readonly Waypoint[], path: readonly Position[]): number[] {
  let rest = [...path];
  let startM = 0;
  return waypoints.map(({ lat, lng }) => {
    const found = nearestOnLine([lat, lng], rest);
    if (found === null) return startM;
    startM += found.alongM;
    rest = [found.position, ...rest.slice(found.segment + 1)];
    return startM;
  });
}
