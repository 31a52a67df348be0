import { streamChanged, subscribe } from '@fleet/bus';
import type { Config } from '../config.ts';
import type { MediaDeps, Streams } from '../create-streams.ts';
import { reportTaskError } from '../start-media-tasks.ts';
import { subscribeDataBudgets } from './data-budgets.ts';
import { subscribeMediaControl } from './media-control.ts';
import { serveStreamQueries, serveStreamSwitches } from './stream-queries.ts';
import { serveVoiceDecoding } from './voice-decoding.ts';

/** Serves the requests of other services on the bus. */
export function serveBus(
  config: Config,
  pod: string,
  deps: MediaDeps,
  { registry, eventPublisher, streamSwitch }: Streams,
): void {
  const { redis, bus, lifecycle, log } = deps;
  const onError = reportTaskError(log);
  const remoteChanges = subscribe(bus, streamChanged, onError, (change) => eventPublisher.onRemoteEnd(change));
  lifecycle.onStop('remote stream events', () => remoteChanges.stop());
  const controlSubscription = subscribeMediaControl(bus, pod, { registry, streamSwitch, log });
  lifecycle.onStop('media control', () => controlSubscription.stop());
  const dataBudgets = subscribeDataBudgets(bus, { registry, streamSwitch, onError });
  lifecycle.onStop('data budgets', () => dataBudgets.stop());
  const streamQueries = serveStreamQueries(bus, pod, { registry, onError });
  lifecycle.onStop('stream queries', () => streamQueries.stop());
  const streamSwitches = serveStreamSwitches(bus, pod, { streamSwitch, onError });
  lifecycle.onStop('stream switches', () => streamSwitches.stop());
  const voiceDecoding = serveVoiceDecoding(bus, { redis, ffmpegPath: config.FFMPEG_PATH, onError });
  lifecycle.onStop('voice decoding', () => voiceDecoding.stop());
}
