import type { components } from '@fleet/api-client';
import type { Feature, FeatureCollection } from 'geojson';
import type { FleetColumns } from '../../common/live/fleet-columns.ts';
import type { GroupNode } from '../../common/live/fleet-query.ts';
import { vehicleStates } from '../../common/live/protocol.ts';
import { distanceM } from '../../common/map/mercator.ts';

type Geofence = components['schemas']['Geofence'];
type Route = components['schemas']['Route'];

/** A folder of the tree; the children have the same shape. */
export interface Folder {
  readonly id: number;
  readonly name: string;
  readonly color: string | null;
  readonly children: readonly Folder[];
}

/** A folder with its name and its level in the tree. */
export interface NamedGroup extends GroupNode {
  readonly name: string;
}

/** Returns the folders in the order of the list: parents before their children. */
export const flattenFolders = (
  folders: readonly Folder[],
  parentId: number | null = null,
  depth = 0,
): readonly NamedGroup[] =>
  folders.flatMap(({ id, name, children }) => [
    { id, name, parentId, depth },
    ...flattenFolders(children, id, depth + 1),
  ]);

export const toGeofenceFeatures = (geofences: readonly Geofence[]): FeatureCollection => ({
  type: 'FeatureCollection',
  features: geofences.map(
    ({ geojson, name, color }) => ({ ...geojson, properties: { name, color } }) as unknown as Feature,
  ),
});

export const toRouteFeatures = (routes: readonly Route[]): FeatureCollection => ({
  type: 'FeatureCollection',
  features: routes.map(({ name, color, path }) => ({
    type: 'Feature',
    properties: { name, color },
    geometry: { type: 'LineString', coordinates: path.map(([latitude = 0, longitude = 0]) => [longitude, latitude]) },
  })),
});

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
