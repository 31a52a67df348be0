import { getRoutePath } from './route-path.ts';
import type { Progress } from './rules.ts';
import type { StoredRoute } from './schema.ts';

/** Key of `RouteState` among the states of a vehicle's rules. */
export const routeRuleName = 'route';

/** Consecutive fixes beyond the deviation. */
export interface Deviation {
  readonly sinceMs: number;
  readonly fixes: number;
  /** The deviation was reported; it ends when the vehicle is back. */
  readonly isDeviation?: true;
}

/** Progress of a vehicle on one route. */
export interface RouteProgressState {
  /** Of the path and the stops. */
  readonly code: string;
  /** Newest position along the path; null before the first. */
  readonly alongM: number | null;
  /** Next stop; after the last one when the route is completed. */
  readonly next: number;
  readonly beyond?: Deviation;
}

/** State of a vehicle's routes. */
export interface RouteState {
  readonly latitude: number;
  readonly longitude: number;
  /** Device time of the last counted fix. */
  readonly ms: number;
  /** By route id. */
  readonly routes: Readonly<Record<string, RouteProgressState>>;
}

/** Returns a vehicle's progress on a route from the rule's state; null if it is unknown. */
export function progressFromState(route: StoredRoute, state: RouteState | undefined): Progress | null {
  const current = state?.routes[route._id];
  const { fingerprint, totalM } = getRoutePath(route);
  if (current === undefined || current.code !== fingerprint || current.alongM === null) return null;
  const remainingShare = totalM === 0 ? 0 : Math.max(0, 1 - current.alongM / totalM);
  const lastIndex = route.waypoints.length - 1;
  return {
    waypointIndex: lastIndex < 0 ? null : Math.min(current.next, lastIndex),
    distanceRemainingM: Math.round(route.distanceM * remainingShare),
    secondsRemaining:
      route.durationSeconds === 0 && remainingShare > 0 ? null : Math.round(route.durationSeconds * remainingShare),
    isOffRoute: current.beyond !== undefined,
  };
}
