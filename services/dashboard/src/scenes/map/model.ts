import type { components } from '@fleet/api-client';
import type { Feature, FeatureCollection } from 'geojson';
import type { FleetColumns } from '../../common/live/fleet-columns.ts';
import { vehicleStates } from '../../common/live/protocol.ts';
import { distanceM } from '../../common/map/mercator.ts';
import type { Bounds } from '../../common/map/shapes.ts';
import type { Edit } from './search.ts';

type Geofence = components['schemas']['Geofence'];
type Route = components['schemas']['Route'];

export const toGeofenceFeatures = (geofences: readonly Geofence[]): FeatureCollection => ({
  type: 'FeatureCollection',
  features: geofences.map(
    ({ id, geojson, name, color }) => ({ ...geojson, properties: { id, name, color } }) as unknown as Feature,
  ),
});

export const toRouteFeatures = (routes: readonly Route[]): FeatureCollection => ({
  type: 'FeatureCollection',
  features: routes.map(({ id, name, color, path }) => ({
    type: 'Feature',
    properties: { id, name, color },
    geometry: { type: 'LineString', coordinates: path.map(([latitude = 0, longitude = 0]) => [longitude, latitude]) },
  })),
});

/** Returns the bounds of a geofence or a route on the map; null for a new one. */
export function boundsOfPlace(
  { kind, id }: Pick<Edit, 'kind' | 'id'>,
  geofences: FeatureCollection,
  routes: FeatureCollection,
): Bounds | null {
  const { features } = kind === 'geofence' ? geofences : routes;
  const geometry = features.find(({ properties }) => properties?.['id'] === id)?.geometry;
  if (id === null || geometry === undefined || !('coordinates' in geometry)) return null;
  const numbers = (geometry.coordinates as unknown[]).flat(3).map(Number);
  // Longitude and latitude alternate.
  const [longitudes, latitudes] = [0, 1].map((odd) => numbers.filter((_, index) => index % 2 === odd));
  if (longitudes === undefined || latitudes === undefined || latitudes.length === 0) return null;
  return [Math.min(...longitudes), Math.min(...latitudes), Math.max(...longitudes), Math.max(...latitudes)];
}

/** A vehicle near a place. */
interface NearbySlot {
  readonly slot: number;
  readonly distanceM: number;
}

const offline = vehicleStates.indexOf('offline');

/** Returns the vehicles with the smallest distances to a place, without those whose position is old. */
export function findNearest(columns: FleetColumns, place: readonly [number, number], count: number): NearbySlot[] {
  const found: NearbySlot[] = [];
  for (let slot = 0; slot < columns.length; slot += 1) {
    if (!columns.hasPosition(slot) || (columns.state[slot] ?? offline) >= offline) continue;
    found.push({ slot, distanceM: distanceM(place, [columns.latitude[slot] ?? 0, columns.longitude[slot] ?? 0]) });
  }
  return found.toSorted((a, b) => a.distanceM - b.distanceM).slice(0, count);
}
