import { useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { useSession } from '../session/session-context.ts';
import { startLiveConnection } from './live-connection.ts';
import { LiveContext } from './live-context.ts';
import { LiveStore } from './live-store.ts';
import type { RecordEvent } from './protocol.ts';

/** First parts of the query keys that an event makes stale. */
const staleQueries: Readonly<Record<string, readonly string[]>> = {
  notification: ['listNotifications'],
  vehicle: ['listVehicles', 'getVehicle'],
  command: ['listCommands'],
};

/** Holds the live connection of the signed-in user. */
export function LiveProvider({ children }: { children: ReactNode }) {
  const { api } = useSession();
  const queries = useQueryClient();
  const [store] = useState(() => new LiveStore());
  useEffect(() => {
    const onEvent = ({ type }: RecordEvent): void => {
      for (const key of staleQueries[type] ?? []) void queries.invalidateQueries({ queryKey: [key] });
    };
    const stopEvents = store.onEvent(onEvent);
    const stopConnection = startLiveConnection(api, store, () => void queries.invalidateQueries());
    return () => {
      stopEvents();
      stopConnection();
    };
  }, [api, queries, store]);
  return <LiveContext value={store}>{children}</LiveContext>;
}
