import { encodePolyline } from '../../geometry/polyline.ts';
import type { Components, DrawnRoute } from '../../maps/providers.ts';

/** Converts the components of an address to response fields. */
export const toComponentsResponse = ({ countryCode, ...components }: Components) => ({
  ...components,
  country_code: countryCode,
});

export const metres = (value: number): number => Math.round(value * 10) / 10;

/** Converts a route to response fields. */
export const toWayResponse = ({ path, distanceM, durationS, source }: DrawnRoute) => ({
  distance_m: metres(distanceM),
  duration_seconds: Math.round(durationS),
  polyline: encodePolyline(path),
  coordinates: path.map(([latitude, longitude]) => [latitude, longitude]),
  path_source: source,
});
