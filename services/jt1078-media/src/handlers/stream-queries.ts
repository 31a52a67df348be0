import { type Bus, queryStream, serve } from '@fleet/bus';
import type { StreamRegistry } from '../domain/stream-registry.ts';

/** Serves `media.<pod>.stream`: whether a stream runs here. */
export const serveStreamQueries = (
  bus: Bus,
  podId: string,
  deps: { readonly registry: StreamRegistry; readonly onError: (error: unknown) => void },
): { stop(): Promise<void> } =>
  serve(bus, queryStream(podId), { queue: podId, onError: deps.onError }, async (id) => ({
    isRunning: deps.registry.find(id) !== undefined,
  }));
