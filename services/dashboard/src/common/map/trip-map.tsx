import type { Map as MapLibreMap } from 'maplibre-gl';
import { useEffect, useMemo, useRef, useState } from 'react';
import { useTheme } from '../theme/theme-context.ts';
import { colors } from '../theme/tokens.ts';
import { addDestination, type Destination } from './destination-layer.ts';
import { isRemoved } from './map-overlays.ts';
import { MapView } from './map-view.tsx';
import type { MapVehicle } from './vehicle-map-layers.ts';

interface TripMapProps {
  readonly vehicle: MapVehicle;
  readonly track: readonly (readonly [number, number])[];
  readonly destination: Destination | null;
  readonly isFollowing: boolean;
  /** The user moved the map. */
  readonly onDrag: () => void;
}

const firstZoom = 14;

/** Shows one vehicle with its track and its destination. */
export function TripMap({ vehicle, track, destination, isFollowing, onDrag }: TripMapProps) {
  const theme = useTheme();
  const [map, setMap] = useState<MapLibreMap | null>(null);
  const [place] = useState({ latitude: vehicle.latitude, longitude: vehicle.longitude, zoom: firstZoom });
  const vehicles = useMemo(() => [vehicle], [vehicle]);
  const newest = useRef(onDrag);
  newest.current = onDrag;
  useEffect(() => {
    if (map === null) return undefined;
    const subscription = map.on('dragstart', () => newest.current());
    return () => subscription.unsubscribe();
  }, [map]);
  useEffect(() => {
    if (map !== null && !isRemoved(map) && destination !== null) addDestination(map, destination, colors[theme]);
    // Another theme creates another map.
  }, [map, destination]);
  return (
    <MapView
      vehicles={vehicles}
      selectedId={vehicle.id}
      isFollowing={isFollowing}
      track={track}
      place={place}
      onMap={setMap}
    />
  );
}
