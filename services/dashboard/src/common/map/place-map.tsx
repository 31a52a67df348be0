import { useComputedColorScheme } from '@mantine/core';
import type { MapLayerMouseEvent, Map as MapLibreMap } from 'maplibre-gl';
import { useEffect, useRef, useState } from 'react';
import type { Theme } from '../theme/tokens.ts';
import type { MapPlace } from './map-place.ts';
import { MapView } from './map-view.tsx';
import { placeLayerIds } from './place-layers.ts';
import type { Bounds } from './shapes.ts';
import { type PlaceData, usePlaceLayers } from './use-place-layers.ts';
import { type EditedShape, useShapeEditor } from './use-shape-editor.ts';
import type { MapVehicle } from './vehicle-map-layers.ts';

interface PlaceMapProps extends PlaceData, EditedShape {
  readonly vehicles: readonly MapVehicle[];
  /** Where the map begins. */
  readonly place: MapPlace | undefined;
  /** The map moves to these bounds when they appear or change. */
  readonly target: Bounds | null;
  readonly onSelect: (id: number) => void;
  readonly onMove: (place: MapPlace, bounds: Bounds) => void;
}

const fitPadding = 60;
const maxFitZoom = 15;

/** Shows a map of geofences or routes on which one shape is drawn and changed. */
export function PlaceMap({ features, marks, vehicles, place, target, ...props }: PlaceMapProps) {
  const [map, setMap] = useState<MapLibreMap | null>(null);
  const theme: Theme = useComputedColorScheme('light');
  usePlaceLayers(map, theme, { features, marks });
  useTarget(map, target, place !== undefined);
  useMoves(map, props.onMove);
  useSelection(map, props.onSelect, props.shape === null && props.drawing === null);
  useShapeEditor(map, theme, props);
  return <MapView vehicles={vehicles} place={place} canFit={false} onMap={setMap} />;
}

/** Moves the map to its target. The place of the address comes first. */
function useTarget(map: MapLibreMap | null, target: Bounds | null, hasPlace: boolean): void {
  const isFirst = useRef(hasPlace);
  const key = target?.join();
  useEffect(() => {
    if (map === null || target === null) return;
    const isKept = isFirst.current;
    isFirst.current = false;
    if (isKept) return;
    map.fitBounds([...target], { padding: fitPadding, maxZoom: maxFitZoom, animate: false });
    // Only other bounds move the map.
  }, [map, key]);
}

function useMoves(map: MapLibreMap | null, onMove: PlaceMapProps['onMove']): void {
  const newest = useRef(onMove);
  newest.current = onMove;
  useEffect(() => {
    if (map === null) return undefined;
    const notify = (): void => {
      const { lat, lng } = map.getCenter().wrap();
      const bounds = map.getBounds();
      newest.current({ latitude: lat, longitude: lng, zoom: map.getZoom() }, [
        bounds.getWest(),
        bounds.getSouth(),
        bounds.getEast(),
        bounds.getNorth(),
      ]);
    };
    notify();
    const subscription = map.on('moveend', notify);
    return () => subscription.unsubscribe();
  }, [map]);
}

/** Selects the place at a click, unless a shape is drawn. */
function useSelection(map: MapLibreMap | null, onSelect: (id: number) => void, isEnabled: boolean): void {
  const newest = useRef(onSelect);
  newest.current = onSelect;
  useEffect(() => {
    if (map === null || !isEnabled) return undefined;
    const setCursor = (cursor: string) => () => {
      map.getCanvas().style.cursor = cursor;
    };
    const select = ({ features }: MapLayerMouseEvent): void => {
      const id: unknown = features?.[0]?.properties['id'];
      if (typeof id === 'number') newest.current(id);
    };
    const subscriptions = [
      map.on('click', [...placeLayerIds], select),
      map.on('mouseenter', [...placeLayerIds], setCursor('pointer')),
      map.on('mouseleave', [...placeLayerIds], setCursor('')),
    ];
    return () => subscriptions.forEach((subscription) => subscription.unsubscribe());
  }, [map, isEnabled]);
}
