import { getRoutePath, isNearPath } from '../../domains/planned-routes/route-path.ts';
import type { StoredRoute } from '../../domains/planned-routes/schema.ts';
import { isOnSchedule } from '../../platform/schedule.ts';
import type { RuleContext } from '../rule.ts';
import { type Area, depthWithinBoundsM } from './area.ts';
import { toAreas } from './areas.ts';

/** Speed limit at a position, and its source. */
export interface Limit {
  readonly limitKmh: number;
  readonly source: 'geofence' | 'route' | 'vehicle';
}

/**
 * Returns the lowest limit of the containing geofences, the active routes and the vehicle; null if none is below the
 * speed.
 */
export function limitBelow(
  speedKmh: number,
  latitude: number,
  longitude: number,
  atMs: number,
  {
    vehicle,
    geofences,
    routes,
  }: Pick<RuleContext, 'geofences' | 'routes'> & {
    readonly vehicle: Pick<RuleContext['vehicle'], 'speedLimitKmh'>;
  },
): Limit | null {
  let smallest: Limit | null = null;
  const take = (limitKmh: number | null, source: Limit['source'], holds: () => boolean): void => {
    if (limitKmh === null || speedKmh <= limitKmh || limitKmh >= (smallest?.limitKmh ?? Number.POSITIVE_INFINITY))
      return;
    if (holds()) smallest = { limitKmh, source };
  };
  take(vehicle.speedLimitKmh, 'vehicle', () => true);
  for (const route of routes)
    take(route.speedLimitKmh, 'route', () => appliesOnRoute(route, latitude, longitude, atMs));
  const areas = toAreas(geofences);
  if (speedKmh > areas.lowestLimitKmh)
    for (const area of areas.findAlong(latitude, longitude, latitude, longitude))
      take(area.geofence.speedLimitKmh, 'geofence', () => appliesInArea(area, latitude, longitude, atMs));
  return smallest;
}

const appliesOnRoute = (route: StoredRoute, latitude: number, longitude: number, atMs: number): boolean =>
  route.active &&
  isOnSchedule(route.schedule, atMs) &&
  isNearPath(getRoutePath(route), latitude, longitude, route.deviationM);

const appliesInArea = (area: Area, latitude: number, longitude: number, atMs: number): boolean =>
  depthWithinBoundsM(area, latitude, longitude) >= 0 && isOnSchedule(area.geofence.schedule, atMs);
