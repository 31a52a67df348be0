import type { Feature, FeatureCollection } from 'geojson';
import { GeoJSONSource, LngLatBounds, type Map as MapLibreMap } from 'maplibre-gl';
import { type ThemeColors, trackCasing, trackColors } from '../theme/tokens.ts';

/** A reported position of a track. */
export interface TrackPoint {
  readonly timeMs: number;
  readonly latitude: number;
  readonly longitude: number;
  /** km/h. */
  readonly speed: number;
}

/** A place beside the track, such as a stop. */
export interface TrackMark {
  readonly id: string;
  readonly kind: 'stop' | 'critical' | 'warning' | 'info';
  readonly timeMs: number;
  readonly label: string;
  readonly latitude: number;
  readonly longitude: number;
}

/** Lower limits of the five steps of speed, km/h. */
const speedSteps = [0, 20, 40, 60, 80] as const;
/** Positions that are further apart in time are not connected. */
const longestGapMs = 600_000;
const fitPadding = 40;
const maxFitZoom = 15;

const toStep = (speed: number): number => speedSteps.findLastIndex((limit) => speed >= limit);

const toLine = (coordinates: number[][], step: number): Feature => ({
  type: 'Feature',
  properties: { step },
  geometry: { type: 'LineString', coordinates },
});

/** Returns one line for each stretch of the same speed step. */
function toSpeedLines(points: readonly TrackPoint[]): FeatureCollection {
  const features: Feature[] = [];
  let line: number[][] = [];
  let step = 0;
  let last: TrackPoint | undefined;
  const finish = (): void => {
    if (line.length > 1) features.push(toLine(line, step));
  };
  for (const point of points) {
    const position = [point.longitude, point.latitude];
    const isGap = last !== undefined && point.timeMs - last.timeMs > longestGapMs;
    const nextStep = Math.max(0, toStep(point.speed));
    if (last === undefined || isGap) {
      finish();
      line = [position];
    } else {
      line.push(position);
      if (nextStep !== step) {
        finish();
        line = [position];
      }
    }
    step = nextStep;
    last = point;
  }
  finish();
  return { type: 'FeatureCollection', features };
}

/** Adds the layers of a track below the vehicles. */
export function addTrackLayers(map: MapLibreMap, theme: ThemeColors): void {
  const empty: FeatureCollection = { type: 'FeatureCollection', features: [] };
  map.addSource('speed-track', { type: 'geojson', data: empty });
  map.addSource('track-marks', { type: 'geojson', data: empty });
  addLineLayers(map);
  addMarkLayers(map, theme);
}

/** Adds the line in the colours of its speeds. */
function addLineLayers(map: MapLibreMap): void {
  const layout = { 'line-join': 'round', 'line-cap': 'round' } as const;
  map.addLayer(
    {
      id: 'track-casing',
      type: 'line',
      source: 'speed-track',
      layout,
      paint: { 'line-color': trackCasing, 'line-width': 7 },
    },
    'clusters',
  );
  const [slowest, ...faster] = trackColors;
  map.addLayer(
    {
      id: 'speed-track',
      type: 'line',
      source: 'speed-track',
      layout,
      paint: {
        'line-color': [
          'step',
          ['get', 'step'],
          slowest,
          ...faster.flatMap((color, index) => [index + 1, color]),
        ] as never,
        'line-width': 4,
      },
    },
    'clusters',
  );
}

/** Adds the places beside the track with their labels. */
function addMarkLayers(map: MapLibreMap, theme: ThemeColors): void {
  const colorOfKind = [
    'match',
    ['get', 'kind'],
    'stop',
    theme.stopped,
    'critical',
    theme.critical,
    'warning',
    theme.idle,
  ];
  map.addLayer(
    {
      id: 'track-marks',
      type: 'circle',
      source: 'track-marks',
      paint: {
        'circle-radius': ['match', ['get', 'kind'], 'stop', 7, 6],
        'circle-color': [...colorOfKind, theme.moving] as never,
        'circle-stroke-color': theme.surface,
        'circle-stroke-width': 2,
      },
    },
    'clusters',
  );
  map.addLayer(
    {
      id: 'track-labels',
      type: 'symbol',
      source: 'track-marks',
      layout: { 'text-field': ['get', 'label'], 'text-size': 12, 'text-offset': [0, 1], 'text-anchor': 'top' },
      paint: { 'text-color': theme.text, 'text-halo-color': theme.surface, 'text-halo-width': 1.5 },
    },
    'clusters',
  );
}

/** Replaces the track and its marks. */
export function setTrack(map: MapLibreMap, points: readonly TrackPoint[], marks: readonly TrackMark[]): void {
  const features = marks.map(
    ({ latitude, longitude, ...properties }): Feature => ({
      type: 'Feature',
      properties,
      geometry: { type: 'Point', coordinates: [longitude, latitude] },
    }),
  );
  const [lines, places] = [map.getSource('speed-track'), map.getSource('track-marks')];
  if (lines instanceof GeoJSONSource) void lines.setData(toSpeedLines(points));
  if (places instanceof GeoJSONSource) void places.setData({ type: 'FeatureCollection', features });
}

/** Moves the map so that the whole track is visible. */
export function fitTrack(map: MapLibreMap, points: readonly TrackPoint[]): void {
  const bounds = new LngLatBounds();
  for (const { longitude, latitude } of points) bounds.extend([longitude, latitude]);
  if (!bounds.isEmpty()) map.fitBounds(bounds, { padding: fitPadding, maxZoom: maxFitZoom, animate: false });
}
