import { useNow } from '../format/preferences-context.ts';
import { useConnection } from './live-context.ts';

/** Positions are marked as old this long after the connection was lost. */
const staleAfterMs = 60_000;

/** Returns whether the positions on this page are old because the connection is lost. */
export function useIsStale(): boolean {
  const connection = useConnection();
  const nowMs = useNow();
  return connection.kind === 'disconnected' && nowMs - connection.sinceMs > staleAfterMs;
}
