import { createContext, useContext, useEffect, useRef, useSyncExternalStore } from 'react';
import type { LivePosition, LiveStore } from './live-store.ts';
import type { ConnectionState, RecordEvent } from './protocol.ts';

export const LiveContext = createContext<LiveStore | null>(null);

/** Returns the live store. Throws outside a LiveContext. */
export function useLiveStore(): LiveStore {
  const store = useContext(LiveContext);
  if (store === null) throw new Error('There is no LiveContext above this component.');
  return store;
}

/** Renders the component again after changes, at most four times a second. Returns the store. */
export function useLivePositions(): ReadonlyMap<number, LivePosition> {
  const store = useLiveStore();
  useSyncExternalStore(store.subscribe, () => store.version);
  return store.positions;
}

export function useLivePosition(vehicleId: number): LivePosition | undefined {
  const store = useLiveStore();
  return useSyncExternalStore(store.subscribe, () => store.positions.get(vehicleId));
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
