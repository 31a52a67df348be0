import type { FeatureCollection } from 'geojson';
import type { Map as MapLibreMap } from 'maplibre-gl';
import { useEffect, useMemo } from 'react';
import { colors, type Theme } from '../theme/tokens.ts';
import { isRemoved, setSourceData } from './map-overlays.ts';
import { addPlaceLayers } from './place-layers.ts';
import type { Position } from './shapes.ts';

/** A point beside the places, such as a toll gate. */
export interface PlaceMark {
  readonly name: string;
  readonly position: Position;
  /** The corner that has the keyboard. */
  readonly isFocused: boolean;
}

/** Places on a map, and marks beside them. */
export interface PlaceData {
  /** Places with `id`, `name`, `color` and `width0`, without the one that is edited. */
  readonly features: FeatureCollection;
  readonly marks: readonly PlaceMark[];
}

/** Shows places and marks below a layer of the map. */
export function usePlaceLayers(
  map: MapLibreMap | null,
  theme: Theme,
  { features, marks }: PlaceData,
  firstVehicleLayer?: string,
): void {
  useEffect(() => {
    if (map === null || isRemoved(map)) return;
    addPlaceLayers(map, colors[theme], firstVehicleLayer);
    setSourceData(map, 'places', features);
    // Another theme creates another map.
  }, [map, features, firstVehicleLayer]);
  const markData = useMemo(() => toMarkData(marks), [marks]);
  useEffect(() => {
    if (map !== null) setSourceData(map, 'place-marks', markData);
  }, [map, markData]);
}

const toMarkData = (marks: readonly PlaceMark[]): FeatureCollection => ({
  type: 'FeatureCollection',
  features: marks.map(({ name, position: [latitude, longitude], isFocused }) => ({
    type: 'Feature',
    properties: { name, isFocused },
    geometry: { type: 'Point', coordinates: [longitude, latitude] },
  })),
});
