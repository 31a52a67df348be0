import { formatBbox } from '../../geometry/bounds.ts';
import { encodePolyline } from '../../geometry/polyline.ts';
import { toPairs } from '../../platform/coordinates.ts';
import { toRecordResponse } from '../../platform/schemas.ts';
import type { Progress } from './rules.ts';
import type { ProgressResponse, RouteResponse, StoredRoute } from './schema.ts';

/** Returns a route with those of its vehicles that the caller may see. */
export function toRouteResponse(
  route: StoredRoute,
  canNameVehicle: (vehicleId: number) => boolean = () => true,
): RouteResponse {
  const path = toPairs(route.points);
  return {
    ...toRecordResponse(route),
    name: route.name,
    description: route.description,
    color: route.color,
    waypoints: route.waypoints.map(({ lat, lng, name, radiusM, stopSeconds }) => ({
      lat,
      lng,
      name,
      radius_m: radiusM,
      stop_seconds: stopSeconds,
    })),
    path,
    polyline: encodePolyline(path),
    profile: route.profile,
    deviation_m: route.deviationM,
    notify_on: [...route.notifyOn],
    schedule: route.schedule,
    speed_limit_kmh: route.speedLimitKmh,
    active: route.active,
    distance_m: route.distanceM,
    duration_seconds: route.durationSeconds,
    path_source: route.pathSource,
    vehicle_ids: route.vehicleIds.filter(canNameVehicle).sort((a, b) => a - b),
    bbox: formatBbox(route.bounds),
  };
}

const noProgress: ProgressResponse = { waypoint_index: null, distance_remaining_m: null, eta: null, off_route: null };

export function toProgressResponse(progress: Progress | null, nowMs: number): ProgressResponse {
  if (progress === null) return noProgress;
  const { waypointIndex, distanceRemainingM, secondsRemaining, isOffRoute } = progress;
  return {
    waypoint_index: waypointIndex,
    distance_remaining_m: distanceRemainingM,
    eta: secondsRemaining === null ? null : new Date(nowMs + secondsRemaining * 1000).toISOString(),
    off_route: isOffRoute,
  };
}
