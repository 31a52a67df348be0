import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useMemo, useRef, useState } from 'react';
import { useSession } from '../session/session-context.ts';
import { type LiveConnection, startLiveConnection } from './live-connection.ts';
import { LiveContext } from './live-context.ts';
import { LiveStore } from './live-store.ts';
import type { RecordEvent } from './protocol.ts';

/** First parts of the query keys that an event makes stale. */
const staleQueries: Readonly<Record<string, readonly string[]>> = {
  notification: ['listNotifications', 'summarizeNotifications'],
  vehicle: ['listVehicles', 'getVehicle', 'listDrivers', 'getDriver', 'listSharedUsers', 'listVehicleGroups'],
  command: ['listCommands'],
  device: ['listUnassignedDevices'],
  media: ['getCapture'],
};

/** First parts of the keys of records that pages change themselves after an event. */
const patchedQueries = ['getNotification', 'inbox'];

/** A burst of events causes one read. */
const staleDelayMs = 500;

/** Marks queries as stale soon, each once for all events of a burst. */
function createInvalidation(invalidate: (key: string) => void): { add: (key: string) => void; stop: () => void } {
  const keys = new Set<string>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = (): void => {
    timer = undefined;
    const taken = [...keys];
    keys.clear();
    for (const key of taken) invalidate(key);
  };
  return {
    add: (key) => {
      keys.add(key);
      timer ??= setTimeout(flush, staleDelayMs);
    },
    stop: () => clearTimeout(timer),
  };
}

/** Holds the live connection of the signed-in user. */
export function LiveProvider({ children }: { children: ReactNode }) {
  const session = useSession();
  const queries = useQueryClient();
  const [store] = useState(() => new LiveStore());
  const connection = useRef<LiveConnection | null>(null);
  const live = useMemo(() => ({ store, getConnection: () => connection.current }), [store]);
  useEffect(() => {
    const stale = createInvalidation((key) => void queries.invalidateQueries({ queryKey: [key] }));
    const onEvent = ({ type }: RecordEvent): void => staleQueries[type]?.forEach((key) => stale.add(key));
    const stopEvents = store.onEvent(onEvent);
    const started = startLiveConnection(session, store, () => void queries.invalidateQueries());
    connection.current = started;
    // Records that were read before the first connection may have changed since; a lost one may have missed any change.
    let hasConnected = false;
    let wasDisconnected = false;
    const refreshRecords = (): void => {
      for (const key of [...Object.values(staleQueries).flat(), ...patchedQueries])
        void queries.invalidateQueries({ queryKey: [key] });
    };
    const stopWatching = store.subscribe(() => {
      const { kind } = store.connection;
      if (kind === 'disconnected') wasDisconnected = true;
      if (kind !== 'live') return;
      if (wasDisconnected) void queries.invalidateQueries({ refetchType: 'active' });
      else if (!hasConnected) refreshRecords();
      hasConnected = true;
      wasDisconnected = false;
    });
    return () => {
      stopEvents();
      stale.stop();
      stopWatching();
      connection.current = null;
      started.stop();
    };
  }, [session, queries, store]);
  return <LiveContext value={live}>{children}</LiveContext>;
}
