import { routePathOf } from './route-path.ts';
import type { Progress } from './rules.ts';
import type { StoredRoute } from './schema.ts';

/** Key of `RouteState` among the states of a vehicle's rules. */
export const routeRuleName = 'route';

/** Consecutive fixes beyond the deviation. */
export interface Beyond {
  readonly sinceMs: number;
  readonly fixes: number;
  /** The deviation was reported; it ends when the vehicle is back. */
  readonly isDeviation?: true;
}

/** Progress of a vehicle on one route. */
export interface OnRoute {
  /** Of the path and the stops. */
  readonly code: string;
  /** Newest position along the path; null before the first. */
  readonly alongM: number | null;
  /** Next stop; after the last one when the route is completed. */
  readonly next: number;
  readonly beyond?: Beyond;
}

/** State of a vehicle's routes. */
export interface RouteState {
  readonly latitude: number;
  readonly longitude: number;
  /** Device time of the last counted fix. */
  readonly ms: number;
  /** By route id. */
  readonly routes: Readonly<Record<string, OnRoute>>;
}

/** Returns a vehicle's progress on a route from the rule's state; null if it is unknown. */
export function progressOf(route: StoredRoute, state: RouteState | undefined): Progress | null {
  const known = state?.routes[route._id];
  const { code, totalM } = routePathOf(route);
  if (known === undefined || known.code !== code || known.alongM === null) return null;
  const left = totalM === 0 ? 0 : Math.max(0, 1 - known.alongM / totalM);
  const last = route.waypoints.length - 1;
  return {
    waypointIndex: last < 0 ? null : Math.min(known.next, last),
    distanceRemainingM: Math.round(route.distanceM * left),
    secondsRemaining: route.durationSeconds === 0 && left > 0 ? null : Math.round(route.durationSeconds * left),
    isOffRoute: known.beyond !== undefined,
  };
}
