import type { FeatureCollection } from 'geojson';
import type { FilterSpecification, GeoJSONSource, Map as MapLibreMap, Point } from 'maplibre-gl';
import { clusterColumn, clusterLength } from '../live/protocol.ts';
import type { ThemeColors } from '../theme/tokens.ts';
import { type OverlayName, overlayNames } from './overlay-names.ts';

const emptyCollection: FeatureCollection = { type: 'FeatureCollection', features: [] };
const isPolygon: FilterSpecification = ['==', ['geometry-type'], 'Polygon'];
const labelFont = { 'text-size': 12, 'text-font': ['sans-serif'] };

/** Ids of the layers of each overlay. */
const layersOf: Readonly<Record<OverlayName, readonly string[]>> = {
  geofences: ['geofence-areas', 'geofence-lines', 'geofence-names'],
  routes: ['route-casings', 'route-lines'],
  labels: ['vehicle-names'],
};

/** Adds the layers below the vehicles: geofences and planned routes. */
export function addAreaLayers(map: MapLibreMap, theme: ThemeColors): void {
  for (const name of ['geofences', 'routes']) map.addSource(name, { type: 'geojson', data: emptyCollection });
  const color = ['coalesce', ['get', 'color'], theme.moving] as never;
  map.addLayer({
    id: 'geofence-areas',
    type: 'fill',
    source: 'geofences',
    filter: isPolygon,
    paint: { 'fill-color': color, 'fill-opacity': 0.12 },
  });
  map.addLayer({
    id: 'geofence-lines',
    type: 'line',
    source: 'geofences',
    paint: { 'line-color': color, 'line-width': 2, 'line-dasharray': [3, 2] },
  });
  map.addLayer({
    id: 'geofence-names',
    type: 'symbol',
    source: 'geofences',
    minzoom: 9,
    layout: { ...labelFont, 'text-field': ['get', 'name'] },
    paint: { 'text-color': theme.mutedText, 'text-halo-color': theme.surface, 'text-halo-width': 1.5 },
  });
  map.addLayer({
    id: 'route-casings',
    type: 'line',
    source: 'routes',
    paint: { 'line-color': theme.surface, 'line-width': 6 },
  });
  map.addLayer({ id: 'route-lines', type: 'line', source: 'routes', paint: { 'line-color': color, 'line-width': 3 } });
}

/** Adds the layers above the vehicles: names, and the numbers of clusters. */
export function addLabelLayers(map: MapLibreMap, theme: ThemeColors): void {
  for (const name of ['labels', 'clusters']) map.addSource(name, { type: 'geojson', data: emptyCollection });
  map.addLayer({
    id: 'cluster-counts',
    type: 'symbol',
    source: 'clusters',
    layout: {
      'text-font': ['sans-serif'],
      'text-size': 13,
      'text-field': ['get', 'count'],
      'text-allow-overlap': true,
    },
    paint: { 'text-color': theme.text },
  });
  const label = {
    type: 'symbol',
    source: 'labels',
    paint: { 'text-color': theme.text, 'text-halo-color': theme.surface, 'text-halo-width': 1.5 },
  } as const;
  const layout = {
    ...labelFont,
    'text-field': ['get', 'name'],
    'text-offset': [0, 1.5],
    'text-anchor': 'top',
  } as never;
  map.addLayer({ ...label, id: 'vehicle-names', filter: ['!', ['get', 'isSelected']], layout });
  // The selected vehicle always has its name.
  map.addLayer({
    ...label,
    id: 'selected-name',
    filter: ['get', 'isSelected'],
    // Below its rings.
    layout: { ...(layout as object), 'text-offset': [0, 2.1], 'text-allow-overlap': true } as never,
  });
}

/** A geofence or a route on the map. */
export interface MapArea {
  readonly kind: 'geofence' | 'route';
  readonly id: number;
}

/** Layers whose features are found at a point: thin ones first. */
const areaLayers = ['route-casings', 'geofence-lines', 'geofence-areas'] as const;
/** A thin line is hard to hit. */
const hitRadiusPx = 4;

/** Returns the geofence or route at a point of the screen; null without any. */
export function findArea(map: MapLibreMap, { x, y }: Point): MapArea | null {
  const box = [
    [x - hitRadiusPx, y - hitRadiusPx],
    [x + hitRadiusPx, y + hitRadiusPx],
  ] as [[number, number], [number, number]];
  const found = map.queryRenderedFeatures(box, { layers: [...areaLayers] });
  for (const layer of areaLayers)
    for (const {
      layer: { id: layerId },
      properties,
    } of found)
      if (layerId === layer && typeof properties['id'] === 'number')
        return { kind: layer === 'route-casings' ? 'route' : 'geofence', id: properties['id'] };
  return null;
}

export function showOverlays(map: MapLibreMap, visible: readonly OverlayName[]): void {
  for (const name of overlayNames)
    for (const id of layersOf[name])
      map.setLayoutProperty(id, 'visibility', visible.includes(name) ? 'visible' : 'none');
}

/**
 * Returns whether a map was removed. Another theme creates another map; effects that run in the same moment still get the
 * old one.
 */
export const isRemoved = (map: MapLibreMap): boolean => map.getLayersOrder().length === 0;

export function setSourceData(map: MapLibreMap, name: string, data: FeatureCollection): void {
  const source = map.getSource(name);
  // The class itself would load MapLibre with every page that only passes data to a map.
  if (source?.type === 'geojson') void (source as GeoJSONSource).setData(data);
}

/** Returns the numbers of clusters as text at their positions. */
export function toClusterLabels(clusters: Float64Array, language: string): FeatureCollection {
  const format = new Intl.NumberFormat(language, { notation: 'compact', maximumFractionDigits: 1 });
  return {
    type: 'FeatureCollection',
    features: Array.from({ length: clusters.length / clusterLength }, (_, index) => {
      const offset = index * clusterLength;
      return {
        type: 'Feature' as const,
        properties: { count: format.format(clusters[offset + clusterColumn.count] ?? 0) },
        geometry: {
          type: 'Point' as const,
          coordinates: [
            clusters[offset + clusterColumn.longitude] ?? 0,
            clusters[offset + clusterColumn.latitude] ?? 0,
          ],
        },
      };
    }),
  };
}
