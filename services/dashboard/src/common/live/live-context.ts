import { createContext, useContext, useEffect, useRef, useSyncExternalStore } from 'react';
import type { LiveConnection } from './live-connection.ts';
import type { LivePosition, LiveStore, LiveVehicle } from './live-store.ts';
import type { ConnectionState, FleetView, RecordEvent } from './protocol.ts';

/** The store of the live data, and the worker that fills it. */
interface Live {
  readonly store: LiveStore;
  readonly getConnection: () => LiveConnection | null;
}

export const LiveContext = createContext<Live | null>(null);

function useLive(): Live {
  const live = useContext(LiveContext);
  if (live === null) throw new Error('There is no LiveContext above this component.');
  return live;
}

/** Returns the live store. Throws outside a LiveContext. */
export const useLiveStore = (): LiveStore => useLive().store;

/** Returns a function that returns the worker; null before it is started. */
export const useLiveConnection = (): (() => LiveConnection | null) => useLive().getConnection;

/** Renders the component again after changes, at most four times a second. Returns the positions. */
export function useLivePositions(): LiveStore['positions'] {
  const store = useLiveStore();
  useSyncExternalStore(store.subscribe, () => store.version);
  return store.positions;
}

export function useLivePosition(vehicleId: number): LivePosition | undefined {
  return useVehicle(vehicleId)?.position ?? undefined;
}

/** Returns a vehicle with its current values; undefined if it is not visible. */
export function useVehicle(vehicleId: number | undefined): LiveVehicle | undefined {
  const store = useLiveStore();
  return useSyncExternalStore(store.subscribe, () =>
    vehicleId === undefined ? undefined : store.findVehicle(vehicleId),
  );
}

/** Returns the list of the current query, and renders the component again after changes. */
export function useVisibleSlots(): { readonly view: FleetView; readonly hasLoaded: boolean } {
  const store = useLiveStore();
  useSyncExternalStore(store.subscribe, () => store.version);
  return { view: store.view, hasLoaded: store.hasLoaded };
}

export function useConnection(): ConnectionState {
  const store = useLiveStore();
  return useSyncExternalStore(store.subscribe, () => store.connection);
}

/** Calls the newest listener with each record event while the component is visible. */
export function useLiveEvents(listener: (event: RecordEvent) => void): void {
  const store = useLiveStore();
  const newest = useRef(listener);
  newest.current = listener;
  useEffect(() => store.onEvent((event) => newest.current(event)), [store]);
}
