import type { FeatureCollection } from 'geojson';
import type { FilterSpecification, Map as MapLibreMap } from 'maplibre-gl';
import type { ThemeColors } from '../theme/tokens.ts';

const emptyCollection: FeatureCollection = { type: 'FeatureCollection', features: [] };
const isPolygon: FilterSpecification = ['==', ['geometry-type'], 'Polygon'];
const isLine: FilterSpecification = ['==', ['geometry-type'], 'LineString'];
const maxZoom = 24;
/** Layers that select a place by a click. */
export const placeLayerIds = ['place-areas', 'place-hits'] as const;

/**
 * Adds the layers of geofences, routes and marks below the vehicles, unless they exist. The first layer of vehicles is
 * that of `MapView` by default.
 */
export function addPlaceLayers(map: MapLibreMap, theme: ThemeColors, firstVehicleLayer = 'track'): void {
  if (map.getSource('places') !== undefined) return;
  for (const name of ['places', 'place-marks']) map.addSource(name, { type: 'geojson', data: emptyCollection });
  addAreas(map, theme, firstVehicleLayer);
  addLines(map, theme, firstVehicleLayer);
  addMarks(map, theme, firstVehicleLayer);
}

const colorOf = (theme: ThemeColors) => ['coalesce', ['get', 'color'], theme.moving] as never;

function addAreas(map: MapLibreMap, theme: ThemeColors, firstVehicleLayer: string): void {
  map.addLayer(
    {
      id: 'place-areas',
      type: 'fill',
      source: 'places',
      filter: isPolygon,
      paint: { 'fill-color': colorOf(theme), 'fill-opacity': 0.14 },
    },
    firstVehicleLayer,
  );
  map.addLayer(
    {
      id: 'place-edges',
      type: 'line',
      source: 'places',
      filter: isPolygon,
      paint: { 'line-color': colorOf(theme), 'line-width': 2, 'line-dasharray': [3, 2] },
    },
    firstVehicleLayer,
  );
}

function addLines(map: MapLibreMap, theme: ThemeColors, firstVehicleLayer: string): void {
  const layout = { 'line-cap': 'round', 'line-join': 'round' } as const;
  const width0 = ['coalesce', ['get', 'width0'], 0];
  map.addLayer(
    {
      id: 'place-bands',
      type: 'line',
      source: 'places',
      filter: isLine,
      layout,
      paint: {
        'line-color': colorOf(theme),
        'line-opacity': 0.18,
        // Pixels of a width in metres double with each zoom level.
        'line-width': [
          'interpolate',
          ['exponential', 2],
          ['zoom'],
          0,
          width0,
          maxZoom,
          ['*', width0, 2 ** maxZoom],
        ] as never,
      },
    },
    firstVehicleLayer,
  );
  map.addLayer(
    {
      id: 'place-lines',
      type: 'line',
      source: 'places',
      filter: ['all', isLine, ['!', ['coalesce', ['get', 'isBand'], false]]] as never,
      layout,
      paint: { 'line-color': colorOf(theme), 'line-width': 3 },
    },
    firstVehicleLayer,
  );
  // A thin line is hard to hit.
  map.addLayer(
    {
      id: 'place-hits',
      type: 'line',
      source: 'places',
      filter: isLine,
      paint: { 'line-color': theme.moving, 'line-opacity': 0, 'line-width': 16 },
    },
    firstVehicleLayer,
  );
}

function addMarks(map: MapLibreMap, theme: ThemeColors, firstVehicleLayer: string): void {
  const label = { 'text-color': theme.text, 'text-halo-color': theme.surface, 'text-halo-width': 1.5 };
  map.addLayer(
    {
      id: 'place-names',
      type: 'symbol',
      source: 'places',
      layout: { 'text-field': ['get', 'name'], 'text-size': 12, 'text-font': ['sans-serif'] },
      paint: { ...label, 'text-color': theme.mutedText },
    },
    firstVehicleLayer,
  );
  map.addLayer({
    id: 'place-marks',
    type: 'circle',
    source: 'place-marks',
    paint: {
      'circle-radius': ['case', ['get', 'isFocused'], 12, 5] as never,
      'circle-color': ['case', ['get', 'isFocused'], 'transparent', theme.surface] as never,
      'circle-stroke-color': ['case', ['get', 'isFocused'], theme.idle, theme.stopped] as never,
      'circle-stroke-width': ['case', ['get', 'isFocused'], 3, 2] as never,
    },
  });
  map.addLayer({
    id: 'place-mark-names',
    type: 'symbol',
    source: 'place-marks',
    layout: {
      'text-field': ['get', 'name'],
      'text-size': 12,
      'text-font': ['sans-serif'],
      'text-offset': [0, -1.4],
      'text-allow-overlap': true,
    },
    paint: label,
  });
}
