import type { Map as MapLibreMap } from 'maplibre-gl';
import type { ThemeColors } from '../theme/tokens.ts';

export interface Destination {
  readonly latitude: number;
  readonly longitude: number;
  readonly name: string | null;
}

/** A layer of `MapView`; the destination is below the vehicle. */
const firstVehicleLayer = 'selection';

/** Marks the destination of a trip with a ring and its name, unless the map has it. */
export function addDestination(map: MapLibreMap, { latitude, longitude, name }: Destination, theme: ThemeColors): void {
  if (map.getSource('destination') !== undefined) return;
  map.addSource('destination', {
    type: 'geojson',
    data: {
      type: 'Feature',
      properties: { name: name ?? '' },
      geometry: { type: 'Point', coordinates: [longitude, latitude] },
    },
  });
  map.addLayer(
    {
      id: 'destination',
      type: 'circle',
      source: 'destination',
      paint: {
        'circle-radius': 8,
        'circle-color': theme.surface,
        'circle-stroke-color': theme.stopped,
        'circle-stroke-width': 5,
      },
    },
    firstVehicleLayer,
  );
  map.addLayer(
    {
      id: 'destination-name',
      type: 'symbol',
      source: 'destination',
      layout: { 'text-field': ['get', 'name'], 'text-size': 12, 'text-offset': [0, 1.4], 'text-anchor': 'top' },
      paint: { 'text-color': theme.text, 'text-halo-color': theme.surface, 'text-halo-width': 1.5 },
    },
    firstVehicleLayer,
  );
}
