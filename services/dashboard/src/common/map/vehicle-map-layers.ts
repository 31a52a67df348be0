import type { Feature, FeatureCollection, Point } from 'geojson';
import type { Map as MapLibreMap } from 'maplibre-gl';
import type { ThemeColors } from '../theme/tokens.ts';

/** A vehicle on the map. */
export interface MapVehicle {
  readonly id: number;
  readonly label: string;
  readonly latitude: number;
  readonly longitude: number;
  readonly course: number;
  readonly state: string;
}

const clusterMaxZoom = 12;

const toFeature = ({ id, label, latitude, longitude, course, state }: MapVehicle): Feature<Point> => ({
  type: 'Feature',
  id,
  geometry: { type: 'Point', coordinates: [longitude, latitude] },
  properties: { id, label, course: state === 'moving' ? course : 0, image: `vehicle-${state}` },
});

/** Returns the vehicles as points. */
export const toVehicleFeatures = (vehicles: readonly MapVehicle[]): FeatureCollection => ({
  type: 'FeatureCollection',
  features: vehicles.map(toFeature),
});

/** Returns a line through positions (latitude, longitude); none for fewer than two. */
export const toTrackLine = (track: readonly (readonly [number, number])[]): FeatureCollection => ({
  type: 'FeatureCollection',
  features:
    track.length < 2
      ? []
      : [
          {
            type: 'Feature',
            properties: {},
            geometry: { type: 'LineString', coordinates: track.map(([latitude, longitude]) => [longitude, latitude]) },
          },
        ],
});

/** Adds the layers of tracks, clusters, vehicles, labels and the selection above the base map. */
export function addVehicleLayers(map: MapLibreMap, theme: ThemeColors): void {
  map.addSource('track', { type: 'geojson', data: toTrackLine([]) });
  map.addSource('vehicles', {
    type: 'geojson',
    data: toVehicleFeatures([]),
    cluster: true,
    clusterMaxZoom,
    clusterRadius: 44,
  });
  map.addLayer({ id: 'track', type: 'line', source: 'track', paint: { 'line-color': theme.moving, 'line-width': 3 } });
  addClusterLayers(map, theme);
  addMarkLayers(map, theme);
}

function addClusterLayers(map: MapLibreMap, theme: ThemeColors): void {
  map.addLayer({
    id: 'clusters',
    type: 'circle',
    source: 'vehicles',
    filter: ['has', 'point_count'],
    paint: {
      'circle-radius': ['step', ['get', 'point_count'], 16, 10, 20, 100, 26],
      'circle-color': theme.surface,
      'circle-stroke-color': theme.stopped,
      'circle-stroke-width': 3,
    },
  });
  map.addLayer({
    id: 'cluster-counts',
    type: 'symbol',
    source: 'vehicles',
    filter: ['has', 'point_count'],
    layout: { 'text-field': ['get', 'point_count_abbreviated'], 'text-size': 13, 'text-allow-overlap': true },
    paint: { 'text-color': theme.text },
  });
}

/** Adds the vehicles with their labels, and the ring of the selected one. */
function addMarkLayers(map: MapLibreMap, theme: ThemeColors): void {
  map.addLayer({
    id: 'selection',
    type: 'circle',
    source: 'vehicles',
    filter: ['==', ['get', 'id'], -1],
    paint: {
      'circle-radius': 18,
      'circle-color': 'transparent',
      'circle-stroke-color': theme.moving,
      'circle-stroke-width': 3,
    },
  });
  map.addLayer({
    id: 'vehicles',
    type: 'symbol',
    source: 'vehicles',
    filter: ['!', ['has', 'point_count']],
    layout: {
      'icon-image': ['get', 'image'],
      'icon-rotate': ['get', 'course'],
      'icon-rotation-alignment': 'map',
      'icon-allow-overlap': true,
      'text-field': ['get', 'label'],
      'text-size': 12,
      'text-offset': [0, 1.6],
      'text-anchor': 'top',
      'text-optional': true,
    },
    paint: { 'text-color': theme.text, 'text-halo-color': theme.surface, 'text-halo-width': 1.5 },
  });
}
