import type { LastLocation } from '../../domains/last-positions/schema.ts';
import {
  type Deviation,
  type RouteProgressState,
  type RouteState,
  routeRuleName,
} from '../../domains/planned-routes/progress.ts';
import { getRoutePath, locateOnPath, type RoutePath, type Stop } from '../../domains/planned-routes/route-path.ts';
import type { RouteEvent, StoredRoute } from '../../domains/planned-routes/schema.ts';
import { nearestOnSegment } from '../../geometry/lines.ts';
import { distanceM, type Position } from '../../geometry/positions.ts';
import { isOnSchedule } from '../../platform/schedule.ts';
import type { Report } from '../../telemetry/report.ts';
import { findingAt } from '../finding.ts';
import { type Finding, noFindings, type Outcome, type Rule } from '../rule.ts';

const fixesNeeded = 3;
const timeNeededMs = 60_000;
/** A stop counts as reached slightly before its position on the path. */
const stopToleranceM = 1;

/**
 * Finds events of routes: `route_deviation` after 3 fixes or 60 s beyond `deviation_m`, once until the vehicle is back;
 * `route` at the return, at waypoints and at the end. Outside its schedule a route is ignored, and restarts with the
 * next one.
 */
export const routeRule: Rule<RouteState> = {
  name: routeRuleName,
  takesLate: false,
  step(state, report, { routes }): Outcome<RouteState> {
    if (routes.length === 0) return noFindings<RouteState>(undefined);
    const { position } = report;
    if (report.isLate || !position.gpsValid || !isNew(state, position)) return noFindings(state);
    const movement: Movement = {
      report,
      here: [position.latitude, position.longitude],
      before: state === undefined ? null : [state.latitude, state.longitude],
      findings: [],
    };
    let hasTurned = false;
    const kept: Record<string, RouteProgressState> = {};
    for (const route of routes) {
      if (!route.active || !isOnSchedule(route.schedule, position.timestamp)) continue;
      const was = state?.routes[route._id];
      const is = advanceRoute(movement, route, was);
      kept[route._id] = is;
      hasTurned ||= was?.code !== is.code || was.next !== is.next || was.beyond?.isDeviation !== is.beyond?.isDeviation;
    }
    const { latitude, longitude, timestamp: ms } = position;
    const mustPersist = hasTurned || movement.findings.length > 0;
    return { state: { latitude, longitude, ms, routes: kept }, findings: movement.findings, updates: [], mustPersist };
  },
};

/** Previous and current position of a vehicle along the path. */
interface PathProgress {
  readonly beforeM: number | null;
  readonly alongM: number | null;
  readonly next: number;
}

interface Movement {
  readonly report: Report;
  readonly here: Position;
  readonly before: Position | null;
  readonly findings: Finding[];
}

function isNew(state: RouteState | undefined, { timestamp, latitude, longitude }: LastLocation): boolean {
  if (state === undefined || timestamp > state.ms) return true;
  return timestamp === state.ms && (latitude !== state.latitude || longitude !== state.longitude);
}

function advanceRoute(movement: Movement, route: StoredRoute, was: RouteProgressState | undefined): RouteProgressState {
  const path = getRoutePath(route);
  const known = was?.code === path.fingerprint ? was : { code: path.fingerprint, alongM: null, next: 0 };
  const { alongM: beforeM, next } = restartIfCompleted(movement, path, known);
  const place = locateOnPath(path, movement.here[0], movement.here[1], route.deviationM, beforeM);
  const alongM = place ?? beforeM;
  const reached = findArrivals(movement, path, route.deviationM, { beforeM, alongM, next });
  const beyond = place === null ? checkDeviation(movement, route, path, known.beyond) : undefined;
  if (beyond === undefined && known.beyond?.isDeviation === true) report(movement, route, 'return');
  for (const at of reached) if (route.waypoints.length > 0) reportArrival(movement, route, at);
  const last = reached.at(-1);
  if (last === path.stops.length - 1) report(movement, route, 'completed');
  return {
    code: path.fingerprint,
    alongM: last === path.stops.length - 1 ? path.totalM : alongM,
    next: last === undefined ? next : last + 1,
    ...(beyond === undefined ? {} : { beyond }),
  };
}

// A completed route restarts when the vehicle is back at its start; a round trip when it leaves its end.
function restartIfCompleted(
  { here }: Movement,
  { stops, totalM }: RoutePath,
  known: RouteProgressState,
): Pick<RouteProgressState, 'alongM' | 'next'> {
  const [first, last] = [stops[0], stops.at(-1)];
  if (known.next < stops.length || first === undefined || last === undefined) return known;
  const isRoundTrip = distanceM(first.position, last.position) <= last.radiusM && totalM > last.radiusM;
  if (isRoundTrip) return isAt(here, last) ? known : { alongM: 0, next: 1 };
  return isAt(here, first) ? { alongM: 0, next: 0 } : known;
}

const isAt = (here: Position, { position, radiusM }: Stop): boolean => distanceM(here, position) <= radiusM;

/** Returns the stops reached with this fix. Omitted ones are skipped. */
function findArrivals(movement: Movement, { stops }: RoutePath, deviationM: number, came: PathProgress): number[] {
  const reached: number[] = [];
  for (let at = came.next; at < stops.length; at += 1) {
    const stop = stops[at];
    if (stop === undefined || !hasPassed(movement, stop)) continue;
    const { alongM } = came;
    const isAhead = stop.alongM !== null && alongM !== null && stop.alongM > alongM + stop.radiusM + deviationM;
    if (!isAhead && (at === 0 || hasArrived(movement, stop, came))) reached.push(at);
  }
  return reached;
}

// A vehicle at a stop when a route begins has not driven there: it must arrive from outside or along the path.
function hasArrived({ before }: Movement, stop: Stop, { beforeM, alongM }: PathProgress): boolean {
  if (before === null) return false;
  if (!isAt(before, stop)) return true;
  if (stop.alongM === null || beforeM === null || alongM === null) return false;
  const reachedM = stop.alongM - stopToleranceM;
  return beforeM < reachedM && alongM >= reachedM;
}

/** Returns true at the stop, or if the segment from the last fix passes it. */
function hasPassed({ here, before }: Movement, stop: Stop): boolean {
  if (isAt(here, stop)) return true;
  return before !== null && nearestOnSegment(stop.position, before, here).distanceM <= stop.radiusM;
}

function checkDeviation(
  movement: Movement,
  route: StoredRoute,
  path: RoutePath,
  was: Deviation | undefined,
): Deviation {
  const ms = movement.report.position.timestamp;
  const beyond = { sinceMs: was?.sinceMs ?? ms, fixes: (was?.fixes ?? 0) + 1 };
  if (was?.isDeviation === true) return was;
  if (beyond.fixes < fixesNeeded && ms - beyond.sinceMs < timeNeededMs) return beyond;
  report(movement, route, 'deviation', { distance_m: Math.round(path.distanceM(movement.here)) });
  return { ...beyond, isDeviation: true };
}

function report(
  movement: Movement,
  route: StoredRoute,
  event: RouteEvent,
  more: Readonly<Record<string, unknown>> = {},
): void {
  const type = event === 'deviation' ? 'route_deviation' : 'route';
  const subject = event === 'deviation' ? String(route._id) : `${route._id}:${event}`;
  addFinding(movement, route, event, type, subject, more);
}

function reportArrival(movement: Movement, route: StoredRoute, at: number): void {
  const more = { waypoint_index: at, waypoint_name: route.waypoints[at]?.name ?? null };
  addFinding(movement, route, 'waypoint_arrival', 'route', `${route._id}:${at}`, more);
}

function addFinding(
  { report, findings }: Movement,
  { _id, name, notifyOn }: StoredRoute,
  event: RouteEvent,
  type: string,
  subject: string,
  more: Readonly<Record<string, unknown>>,
): void {
  if (!notifyOn.includes(event)) return;
  const attributes = { event, route_id: _id, route_name: name, ...more };
  findings.push(findingAt(report, { type, subject, attributes }));
}
