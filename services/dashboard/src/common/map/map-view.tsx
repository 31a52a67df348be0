import { LngLatBounds, type Map as MapLibreMap } from 'maplibre-gl';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useTheme } from '../theme/theme-context.ts';
import { colors, type ThemeColors } from '../theme/tokens.ts';
import { createMap } from './create-map.ts';
import { isRemoved, setSourceData } from './map-overlays.ts';
import type { MapPlace } from './map-place.ts';
import { addVehicleImages } from './vehicle-images.ts';
import { addVehicleLayers, type MapVehicle, toTrackLine, toVehicleFeatures } from './vehicle-map-layers.ts';

interface MapViewProps {
  readonly vehicles: readonly MapVehicle[];
  readonly selectedId?: number | undefined;
  /** Whether the map moves with the selected vehicle. */
  readonly isFollowing?: boolean;
  readonly track?: readonly (readonly [number, number])[];
  /** Where the map begins. Without it the map moves to the first vehicles. */
  readonly place?: MapPlace | undefined;
  /** False for a map that does not move to its vehicles. */
  readonly canFit?: boolean;
  readonly onSelect?: (id: number) => void;
  /** Called with the map when its layers exist, and with null when it is removed. */
  readonly onMap?: (map: MapLibreMap | null) => void;
}

const singleZoom = 13;
const fitPadding = 60;
const maxFitZoom = 14;

/** Moves the map so that all vehicles are visible. */
function fitVehicles(map: MapLibreMap, vehicles: readonly MapVehicle[]): void {
  const bounds = new LngLatBounds();
  for (const { longitude, latitude } of vehicles) bounds.extend([longitude, latitude]);
  if (!bounds.isEmpty()) map.fitBounds(bounds, { padding: fitPadding, maxZoom: maxFitZoom, animate: false });
}

/** Shows vehicles by shape and colour on the base map, with clusters. The list beside it holds the same facts. */
export function MapView({
  vehicles,
  selectedId,
  isFollowing = false,
  track = [],
  place,
  canFit = true,
  onSelect,
  onMap,
}: MapViewProps) {
  const { t } = useTranslation();
  const container = useRef<HTMLDivElement>(null);
  const { map, failure } = useVehicleMap(container, place, onSelect);
  const hasFitted = useRef(!canFit || place !== undefined);
  useEffect(() => onMap?.(map), [onMap, map]);

  useEffect(() => {
    if (map !== null) setSourceData(map, 'vehicles', toVehicleFeatures(vehicles));
    if (map === null || hasFitted.current || vehicles.length === 0) return;
    hasFitted.current = true;
    fitVehicles(map, vehicles);
  }, [map, vehicles]);

  useEffect(() => {
    if (map !== null) setSourceData(map, 'track', toTrackLine(track));
  }, [map, track]);

  const selected = vehicles.find(({ id }) => id === selectedId);
  const movedToId = useRef<number>(undefined);
  useEffect(() => {
    if (map === null || isRemoved(map)) return;
    map.setFilter('selection', ['==', ['get', 'id'], selectedId ?? -1]);
    if (selected?.id === movedToId.current) return;
    const isFirst = movedToId.current === undefined;
    movedToId.current = selected?.id;
    if (selected === undefined) return;
    map.easeTo({
      center: [selected.longitude, selected.latitude],
      zoom: Math.max(map.getZoom(), singleZoom),
      animate: !isFirst,
    });
    // Only a new selection moves the map, not another theme; following is the effect below.
  }, [map, selectedId, selected === undefined]);

  const { latitude, longitude } = selected ?? {};
  useEffect(() => {
    if (isFollowing && latitude !== undefined && longitude !== undefined)
      map?.easeTo({ center: [longitude, latitude] });
  }, [map, isFollowing, latitude, longitude]);

  if (failure !== null) return <div role="alert">{t('mapView.failed', { reason: failure })}</div>;
  return (
    <div
      ref={container}
      className="map-view"
      role="region"
      aria-label={t('mapView.label', { count: vehicles.length })}
    />
  );
}

/** Creates the map in the container, again for another theme. */
function useVehicleMap(
  container: { readonly current: HTMLDivElement | null },
  place: MapPlace | undefined,
  onSelect: ((id: number) => void) | undefined,
) {
  const [map, setMap] = useState<MapLibreMap | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  const theme = useTheme();
  const select = useRef(onSelect);
  select.current = onSelect;
  /** Where the map is: another theme creates another map, which continues there. */
  const current = useRef(place);

  useEffect(() => {
    const element = container.current;
    if (element === null) return undefined;
    const removal = new AbortController();
    let created: MapLibreMap | null = null;
    createVehicleMap(element, colors[theme], (id) => select.current?.(id), removal.signal, current.current).then(
      (ready) => {
        created = ready;
        setMap(ready);
      },
      (error: unknown) => {
        if (!removal.signal.aborted) setFailure(error instanceof Error ? error.message : String(error));
      },
    );
    return () => {
      if (created !== null) current.current = readPlace(created);
      removal.abort();
      setMap(null);
    };
  }, [theme]);
  return { map, failure };
}

function readPlace(map: MapLibreMap): MapPlace {
  const { lat, lng } = map.getCenter();
  return { latitude: lat, longitude: lng, zoom: map.getZoom() };
}

/** Creates the map with its layers. */
async function createVehicleMap(
  element: HTMLElement,
  theme: ThemeColors,
  onSelect: (id: number) => void,
  removal: AbortSignal,
  place: MapPlace | undefined,
): Promise<MapLibreMap> {
  const map = await createMap(element, theme, removal, place);
  map.on('click', 'vehicles', ({ features }) => {
    const id: unknown = features?.[0]?.properties['id'];
    if (typeof id === 'number') onSelect(id);
  });
  map.on('click', 'clusters', ({ lngLat }) => {
    map.easeTo({ center: lngLat, zoom: map.getZoom() + 2 });
  });
  addVehicleImages(map, theme);
  addVehicleLayers(map, theme);
  return map;
}
