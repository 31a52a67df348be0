import { useComputedColorScheme } from '@mantine/core';
import type { FeatureCollection } from 'geojson';
import type { MapLayerMouseEvent, Map as MapLibreMap } from 'maplibre-gl';
import { useEffect, useMemo, useRef, useState } from 'react';
import { colors, type Theme } from '../theme/tokens.ts';
import { setSourceData } from './map-overlays.ts';
import type { MapPlace } from './map-place.ts';
import { MapView } from './map-view.tsx';
import { addPlaceLayers, placeLayerIds } from './place-layers.ts';
import type { ShapeEditor } from './shape-editor.ts';
import type { Bounds, Position, Shape, ShapeKind } from './shapes.ts';
import type { MapVehicle } from './vehicle-map-layers.ts';

/** A point beside the places, such as a toll gate. */
export interface PlaceMark {
  readonly name: string;
  readonly position: Position;
  /** The corner that has the keyboard. */
  readonly isFocused: boolean;
}

interface PlaceMapProps {
  /** Places with `id`, `name`, `color` and `width0`, without the one that is edited. */
  readonly features: FeatureCollection;
  readonly marks: readonly PlaceMark[];
  readonly vehicles: readonly MapVehicle[];
  /** The shape with handles; null if nothing is edited. */
  readonly shape: Shape | null;
  /** The kind that the user draws now. */
  readonly drawing: ShapeKind | null;
  readonly widthM: number | null;
  /** Where the map begins. */
  readonly place: MapPlace | undefined;
  /** The map moves to these bounds when they appear or change. */
  readonly target: Bounds | null;
  readonly onShape: (shape: Shape) => void;
  readonly onSelect: (id: number) => void;
  readonly onMove: (place: MapPlace, bounds: Bounds) => void;
}

const fitPadding = 60;
const maxFitZoom = 15;

/** Shows a map of geofences or routes on which one shape is drawn and changed. */
export function PlaceMap({ features, marks, vehicles, place, target, ...props }: PlaceMapProps) {
  const [map, setMap] = useState<MapLibreMap | null>(null);
  const theme: Theme = useComputedColorScheme('light');
  useEffect(() => {
    if (map === null) return;
    addPlaceLayers(map, colors[theme]);
    setSourceData(map, 'places', features);
    // Another theme creates another map; the old one has lost its layers.
  }, [map, features]);
  const markData = useMemo(() => toMarkData(marks), [marks]);
  useEffect(() => {
    if (map !== null) setSourceData(map, 'place-marks', markData);
  }, [map, markData]);
  useTarget(map, target, place !== undefined);
  useMoves(map, props.onMove);
  useSelection(map, props.onSelect, props.shape === null && props.drawing === null);
  useShapeEditor(map, theme, props);
  return <MapView vehicles={vehicles} place={place} canFit={false} onMap={setMap} />;
}

const toMarkData = (marks: readonly PlaceMark[]): FeatureCollection => ({
  type: 'FeatureCollection',
  features: marks.map(({ name, position: [latitude, longitude], isFocused }) => ({
    type: 'Feature',
    properties: { name, isFocused },
    geometry: { type: 'Point', coordinates: [longitude, latitude] },
  })),
});

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

type EditorProps = Pick<PlaceMapProps, 'shape' | 'drawing' | 'widthM' | 'onShape'>;

/** Shows the shape with handles, or draws one. The code of the editor is loaded when it is first needed. */
function useShapeEditor(map: MapLibreMap | null, theme: Theme, { shape, drawing, widthM, onShape }: EditorProps): void {
  const [editor, setEditor] = useState<ShapeEditor | null>(null);
  const newest = useRef(onShape);
  newest.current = onShape;
  const isNeeded = shape !== null || drawing !== null;
  useEffect(() => {
    if (map === null || !isNeeded) return undefined;
    let isOver = false;
    let created: ShapeEditor | null = null;
    void import('./shape-editor.ts').then(({ ShapeEditor: Editor }) => {
      if (isOver) return;
      created = new Editor(map, colors[theme], (changed) => newest.current(changed));
      setEditor(created);
    });
    return () => {
      isOver = true;
      created?.stop();
      setEditor(null);
    };
  }, [map, theme, isNeeded]);
  useEffect(() => {
    if (editor === null) return;
    if (drawing === null) editor.show(shape);
    else editor.draw(drawing, widthM);
    // A width that changes while a line is drawn does not begin another one.
  }, [editor, shape, drawing]);
}
