import { useMemo, useRef, useSyncExternalStore } from 'react';
import { useLiveStore } from '../live/live-context.ts';
import { type Bounds, boundsOf } from './shapes.ts';
import type { MapVehicle } from './vehicle-map-layers.ts';

/** Vehicles that a map beside a form shows; the live map has no such limit. */
const maxVehicles = 500;

/** Returns the vehicles that have a position, with their current values. */
export function useMapVehicles(): readonly MapVehicle[] {
  const store = useLiveStore();
  const version = useSyncExternalStore(store.subscribe, () => store.version);
  return useMemo(() => {
    const found: MapVehicle[] = [];
    for (let slot = 0; slot < store.columns.length && found.length < maxVehicles; slot += 1) {
      const vehicle = store.vehicleAt(slot);
      if (vehicle === undefined || vehicle.position === null) continue;
      const { latitude, longitude, course } = vehicle.position;
      found.push({ id: vehicle.id, label: vehicle.name, latitude, longitude, course, state: vehicle.state });
    }
    return found;
    // The store has the same identity after a change.
  }, [store, version]);
}

/** Returns the bounds that the vehicles had when they were first known; null before that. */
export function useFirstBounds(vehicles: readonly MapVehicle[]): Bounds | null {
  const first = useRef<Bounds | null>(null);
  first.current ??= boundsOf(
    vehicles.map(({ latitude, longitude }) => [latitude, longitude] as const),
    500,
  );
  return first.current;
}
