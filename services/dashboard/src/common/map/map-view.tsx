import { useComputedColorScheme } from '@mantine/core';
import type { Feature, FeatureCollection, Point } from 'geojson';
import { GeoJSONSource, LngLatBounds, type Map as MapLibreMap } from 'maplibre-gl';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { colors, type Theme, type ThemeColors } from '../theme/tokens.ts';
import { createMap } from './create-map.ts';
import { addVehicleImages } from './vehicle-images.ts';

/** A vehicle on the map. */
export interface MapVehicle {
  readonly id: number;
  readonly label: string;
  readonly latitude: number;
  readonly longitude: number;
  readonly course: number;
  readonly state: string;
}

interface MapViewProps {
  readonly vehicles: readonly MapVehicle[];
  readonly selectedId?: number | undefined;
  /** Whether the map moves with the selected vehicle. */
  readonly isFollowing?: boolean;
  readonly track?: readonly (readonly [number, number])[];
  readonly onSelect?: (id: number) => void;
  /** Called with the map when its layers exist, and with null when it is removed. */
  readonly onMap?: (map: MapLibreMap | null) => void;
}

const singleZoom = 13;
const fitPadding = 60;
const maxFitZoom = 14;
const clusterMaxZoom = 12;

const toFeature = ({ id, label, latitude, longitude, course, state }: MapVehicle): Feature<Point> => ({
  type: 'Feature',
  id,
  geometry: { type: 'Point', coordinates: [longitude, latitude] },
  properties: { id, label, course: state === 'moving' ? course : 0, image: `vehicle-${state}` },
});

const toCollection = (vehicles: readonly MapVehicle[]): FeatureCollection => ({
  type: 'FeatureCollection',
  features: vehicles.map(toFeature),
});

const toTrack = (track: readonly (readonly [number, number])[]): FeatureCollection => ({
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
function addLayers(map: MapLibreMap, theme: ThemeColors): void {
  map.addSource('track', { type: 'geojson', data: toTrack([]) });
  map.addSource('vehicles', {
    type: 'geojson',
    data: toCollection([]),
    cluster: true,
    clusterMaxZoom,
    clusterRadius: 44,
  });
  map.addLayer({ id: 'track', type: 'line', source: 'track', paint: { 'line-color': theme.moving, 'line-width': 3 } });
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

/** Moves the map so that all vehicles are visible. */
function fitVehicles(map: MapLibreMap, vehicles: readonly MapVehicle[]): void {
  const bounds = new LngLatBounds();
  for (const { longitude, latitude } of vehicles) bounds.extend([longitude, latitude]);
  if (!bounds.isEmpty()) map.fitBounds(bounds, { padding: fitPadding, maxZoom: maxFitZoom, animate: false });
}

function setData(map: MapLibreMap, name: string, data: FeatureCollection): void {
  const source = map.getSource(name);
  if (source instanceof GeoJSONSource) void source.setData(data);
}

/** Shows vehicles by shape and colour on the base map, with clusters. The list beside it holds the same facts. */
export function MapView({ vehicles, selectedId, isFollowing = false, track = [], onSelect, onMap }: MapViewProps) {
  const { t } = useTranslation();
  const container = useRef<HTMLDivElement>(null);
  const [map, setMap] = useState<MapLibreMap | null>(null);
  const [failure, setFailure] = useState<string | null>(null);
  const theme: Theme = useComputedColorScheme('light');
  const select = useRef(onSelect);
  select.current = onSelect;
  const hasFitted = useRef(false);
  useEffect(() => onMap?.(map), [onMap, map]);

  useEffect(() => {
    const element = container.current;
    if (element === null) return undefined;
    const removal = new AbortController();
    createVehicleMap(element, colors[theme], (id) => select.current?.(id), removal.signal).then(
      setMap,
      (error: unknown) => {
        if (!removal.signal.aborted) setFailure(error instanceof Error ? error.message : String(error));
      },
    );
    return () => {
      removal.abort();
      setMap(null);
    };
  }, [theme]);

  useEffect(() => {
    if (map !== null) setData(map, 'vehicles', toCollection(vehicles));
    if (map === null || hasFitted.current || vehicles.length === 0) return;
    hasFitted.current = true;
    fitVehicles(map, vehicles);
  }, [map, vehicles]);

  useEffect(() => {
    if (map !== null) setData(map, 'track', toTrack(track));
  }, [map, track]);

  const selected = vehicles.find(({ id }) => id === selectedId);
  useEffect(() => {
    map?.setFilter('selection', ['==', ['get', 'id'], selectedId ?? -1]);
    if (map === null || selected === undefined) return;
    map.easeTo({ center: [selected.longitude, selected.latitude], zoom: Math.max(map.getZoom(), singleZoom) });
    // Only a new selection moves the map; following is the effect below.
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

/** Creates the map with its layers. */
async function createVehicleMap(
  element: HTMLElement,
  theme: ThemeColors,
  onSelect: (id: number) => void,
  removal: AbortSignal,
): Promise<MapLibreMap> {
  const map = await createMap(element, theme, removal);
  map.on('click', 'vehicles', ({ features }) => {
    const id: unknown = features?.[0]?.properties['id'];
    if (typeof id === 'number') onSelect(id);
  });
  map.on('click', 'clusters', ({ lngLat }) => {
    map.easeTo({ center: lngLat, zoom: map.getZoom() + 2 });
  });
  addVehicleImages(map, theme);
  addLayers(map, theme);
  return map;
}
