import { type Bus, queryStream, serve, switchStream } from '@fleet/bus';
import type { StreamRegistry } from '../domain/stream-registry.ts';
import { buildStreamState } from '../use-cases/stream-event-publisher.ts';
import type { StreamSwitch } from '../use-cases/stream-switch.ts';

/** Serves `media.<pod>.stream`: whether a stream runs here, and its state. */
export const serveStreamQueries = (
  bus: Bus,
  podId: string,
  deps: { readonly registry: StreamRegistry; readonly onError: (error: unknown) => void },
): { stop(): Promise<void> } =>
  serve(bus, queryStream(podId), { queue: podId, onError: deps.onError }, async (id) => {
    const stream = deps.registry.find(id);
    if (stream === undefined) return { isRunning: false };
    return { isRunning: true, ...(id.kind === 'live' ? { state: buildStreamState(stream, 'streaming') } : {}) };
  });

/** Serves `media.<pod>.switch`: a viewer chose the main or the sub stream. */
export const serveStreamSwitches = (
  bus: Bus,
  podId: string,
  deps: { readonly streamSwitch: StreamSwitch; readonly onError: (error: unknown) => void },
): { stop(): Promise<void> } =>
  serve(bus, switchStream(podId), { queue: podId, onError: deps.onError }, async ({ imei, channel, streamType }) => ({
    outcome: await deps.streamSwitch.switchTo({ kind: 'live', imei, channel }, streamType, 'a viewer chose it'),
  }));
