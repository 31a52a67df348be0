import { useComputedColorScheme } from '@mantine/core';
import type { Map as MapLibreMap } from 'maplibre-gl';
import { useEffect, useRef, useState } from 'react';
import { colors, type Theme } from '../theme/tokens.ts';
import { isRemoved } from './map-overlays.ts';
import { MapView } from './map-view.tsx';
import { addTrackLayers, fitTrack, setTrack, type TrackMark, type TrackPoint } from './track-layers.ts';
import type { MapVehicle } from './vehicle-map-layers.ts';

interface TrackMapProps {
  readonly points: readonly TrackPoint[];
  readonly marks: readonly TrackMark[];
  /** The vehicle at the playhead; null before its first position. */
  readonly vehicle: MapVehicle | null;
  /** Called with the time of the position nearest to a click. */
  readonly onSeek: (timeMs: number) => void;
}

/** Shows a track coloured by speed, its stops and events, and the vehicle at one moment. */
export function TrackMap({ points, marks, vehicle, onSeek }: TrackMapProps) {
  const [map, setMap] = useState<MapLibreMap | null>(null);
  const theme: Theme = useComputedColorScheme('light');
  const seek = useRef(onSeek);
  seek.current = onSeek;

  useEffect(() => {
    if (map === null || isRemoved(map)) return;
    if (map.getSource('speed-track') === undefined) addTrackLayers(map, colors[theme]);
    setTrack(map, points, marks);
    fitTrack(map, points);
    // Another theme creates another map.
  }, [map, points, marks]);

  useEffect(() => {
    if (map === null) return undefined;
    const subscription = map.on('click', ({ point }) => {
      const timeMs = findNearest(map, points, point);
      if (timeMs !== null) seek.current(timeMs);
    });
    return () => subscription.unsubscribe();
  }, [map, points]);

  return <MapView vehicles={vehicle === null ? [] : [vehicle]} onMap={setMap} />;
}

/** A click counts within this distance of the track, in pixels. */
const clickDistance = 20;

/** Returns the time of the position nearest to a point on the screen; null if none is near. */
function findNearest(
  map: MapLibreMap,
  points: readonly TrackPoint[],
  { x, y }: { readonly x: number; readonly y: number },
): number | null {
  let best: { timeMs: number; distance: number } | null = null;
  for (const { timeMs, longitude, latitude } of points) {
    const place = map.project([longitude, latitude]);
    const distance = Math.hypot(place.x - x, place.y - y);
    if (distance < (best?.distance ?? clickDistance)) best = { timeMs, distance };
  }
  return best?.timeMs ?? null;
}
