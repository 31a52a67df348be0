import { useComputedColorScheme } from '@mantine/core';
import { useReducedMotion } from '@mantine/hooks';
import type { FeatureCollection } from 'geojson';
import { type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useLiveConnection, useLiveStore, useVisibleSlots } from '../live/live-context.ts';
import type { LiveStore } from '../live/live-store.ts';
import { type Viewport, vehicleStates } from '../live/protocol.ts';
import { colors, type Theme } from '../theme/tokens.ts';
import type { FleetMap } from './fleet-map.ts';
import type { MapArea } from './map-overlays.ts';
import type { MapPlace } from './map-place.ts';
import type { OverlayName } from './overlay-names.ts';
import type { Bounds } from './shapes.ts';
import { type PlaceData, usePlaceLayers } from './use-place-layers.ts';
import { type EditedShape, useShapeEditor } from './use-shape-editor.ts';

/** The first layer of vehicles, below which the edited place is. */
const firstVehicleLayer = 'vehicles';

interface FleetMapViewProps {
  /** The place that is drawn or changed, with its marks; it has no shape if nothing is edited. */
  readonly edited: PlaceData & EditedShape;
  readonly selectedId: number | undefined;
  readonly isFollowing: boolean;
  /** Marks are pale: their data is old. */
  readonly isStale: boolean;
  /** Where the map begins; without it all vehicles are visible. */
  readonly place: MapPlace | undefined;
  readonly overlays: readonly OverlayName[];
  readonly geofences: FeatureCollection;
  readonly routes: FeatureCollection;
  readonly onSelect: (vehicleId: number | undefined) => void;
  readonly onMove: (place: MapPlace, bounds: Bounds) => void;
  /** Called with the geofence or route at a click. */
  readonly onArea: (area: MapArea) => void;
  readonly onPlace: (latitude: number, longitude: number) => void;
  readonly onDrag: () => void;
  /** Steps to the next (1) or the previous (-1) vehicle. */
  readonly onStep: (direction: 1 | -1) => void;
  /** Receives the map, and null when it is removed. */
  readonly onReady: (map: FleetMap | null) => void;
}

/** The map does not wait longer for the list. */
const maxListWaitMs = 2_000;

/** Loads the code of the map after the first list: both need the processor, and the list has the same facts. */
async function loadFleetMap(store: LiveStore): Promise<typeof FleetMap> {
  await store.waitUntilLoaded(maxListWaitMs);
  return (await import('./fleet-map.ts')).FleetMap;
}

/** Shows the live map of all vehicles. Without WebGL 2 it gives the reason; the list beside it has the same facts. */
export function FleetMapView(props: FleetMapViewProps) {
  const { t } = useTranslation();
  const container = useRef<HTMLDivElement>(null);
  const { map, failure } = useFleetMap(container, props);
  const { view, hasLoaded } = useVisibleSlots();
  const { selectedId, isFollowing, overlays, geofences, routes, isStale } = props;
  useEffect(() => map?.select(selectedId, isFollowing), [map, selectedId, isFollowing]);
  useEffect(() => map?.setOverlays(overlays), [map, overlays]);
  useEffect(() => map?.setAreas('geofences', geofences), [map, geofences]);
  useEffect(() => map?.setAreas('routes', routes), [map, routes]);
  useEffect(() => map?.setStale(isStale), [map, isStale]);
  useEditing(map, props.edited);
  useFirstView(map, props, hasLoaded && view.totalCount > 0);
  useSelectionMoves(map, props);
  if (failure !== null)
    return (
      <div className="fleet-map fleet-map-failure" role="alert">
        {t('mapView.failed', { reason: failure })}
      </div>
    );
  const alarms = view.counts[vehicleStates.length] ?? 0;
  const onKeyDown = ({ key, ctrlKey, metaKey, altKey }: KeyboardEvent): void => {
    if (ctrlKey || metaKey || altKey) return;
    if (key === 'n') props.onStep(1);
    if (key === 'p') props.onStep(-1);
  };
  return (
    <div
      ref={container}
      className="fleet-map"
      data-stale={isStale}
      role="region"
      aria-label={`${t('mapView.label', { count: view.matchedCount })}, ${t('mapView.alarms', { count: alarms })}`}
      onKeyDown={onKeyDown}
    />
  );
}

/** Draws or changes one place on the map. While it does, the pointer selects nothing else. */
function useEditing(map: FleetMap | null, edited: FleetMapViewProps['edited']): void {
  const theme: Theme = useComputedColorScheme('light');
  const base = map?.base ?? null;
  const isEditing = edited.shape !== null || edited.drawing !== null;
  useEffect(() => map?.setEditing(isEditing), [map, isEditing]);
  usePlaceLayers(base, theme, edited, firstVehicleLayer);
  useShapeEditor(base, theme, edited);
}

/**
 * Shows the selected vehicle or all vehicles at first, unless the address names a place. Waits for the first position of
 * new vehicles.
 */
function useFirstView(map: FleetMap | null, { place, selectedId }: FleetMapViewProps, areVehiclesKnown: boolean): void {
  const isDone = useRef(place !== undefined);
  useEffect(() => {
    if (map === null || !areVehiclesKnown || isDone.current) return;
    if (selectedId === undefined) isDone.current = map.fit();
    else {
      isDone.current = true;
      map.showSelected();
    }
  });
}

/** Moves the map to a vehicle that is selected or followed later. */
function useSelectionMoves(map: FleetMap | null, { selectedId, isFollowing }: FleetMapViewProps): void {
  const handled = useRef({ selectedId, isFollowing });
  useEffect(() => {
    const before = handled.current;
    handled.current = { selectedId, isFollowing };
    const isNew = selectedId !== before.selectedId || (isFollowing && !before.isFollowing);
    if (isNew && selectedId !== undefined) map?.showSelected();
  }, [map, selectedId, isFollowing]);
}

/** Creates the map in the container, again for another theme. */
function useFleetMap(container: { readonly current: HTMLDivElement | null }, props: FleetMapViewProps) {
  const { i18n } = useTranslation();
  const store = useLiveStore();
  const getConnection = useLiveConnection();
  const [map, setMap] = useState<FleetMap | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  const theme = useComputedColorScheme('light');
  const isMotionReduced = useReducedMotion();
  const newest = useRef(props);
  newest.current = props;
  /** Where the map is: another theme creates another map, which continues there. The address follows later. */
  const current = useRef(props.place);
  useEffect(() => {
    const element = container.current;
    if (element === null) return undefined;
    const removal = new AbortController();
    const listener = {
      onSelect: (id: number | undefined) => newest.current.onSelect(id),
      onPlace: (latitude: number, longitude: number) => newest.current.onPlace(latitude, longitude),
      onDrag: () => newest.current.onDrag(),
      onArea: (area: MapArea) => newest.current.onArea(area),
      onMove: (place: MapPlace, viewport: Viewport) => {
        current.current = place;
        getConnection()?.setViewport(viewport);
        newest.current.onMove(place, viewport.bounds);
      },
    };
    const options = { theme: colors[theme], language: i18n.language, place: current.current, isMotionReduced };
    loadFleetMap(store)
      .then((Loaded) => {
        removal.signal.throwIfAborted();
        return Loaded.create(element, store, listener, options, removal.signal);
      })
      .then(
        (created) => {
          setMap(created);
          newest.current.onReady(created);
        },
        (error: unknown) => {
          if (!removal.signal.aborted) setFailure(error instanceof Error ? error.message : String(error));
        },
      );
    return () => {
      removal.abort();
      getConnection()?.setViewport(null);
      setMap(null);
      newest.current.onReady(null);
    };
  }, [container, store, getConnection, theme, i18n.language, isMotionReduced]);
  return { map, failure };
}
