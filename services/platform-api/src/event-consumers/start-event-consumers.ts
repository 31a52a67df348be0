import { ensureStreams } from '@fleet/bus';
import { type Lifecycle, type Running, retryUntilSuccess } from '@fleet/service-kit';
import type { ReturningTerminals } from '../telemetry/publish-positions.ts';
import { consumeMediaFiles } from './media-files.ts';
import { type OnlineStatusTimings, startOnlineStatusConsumer } from './online-status/online-status-consumer.ts';
import { consumeStreams } from './streams.ts';
import { terminalHandlers } from './terminal-handlers.ts';
import { consumeTerminalMessages } from './terminal-messages.ts';
import { consumeUploads } from './uploads.ts';
import type { EventConsumerDeps } from './vehicle-events.ts';

/** Callbacks for the telemetry consumers. */
export interface EventConsumers {
  /** Terminals, by canonical number, have reported, some of them after a long silence. */
  readonly onReports: (imeis: Iterable<string>, returned: ReturningTerminals) => void;
}

/**
 * Starts the consumers of all events other than locations: uplink messages, uploads, online status. Any number of
 * replicas share the work.
 */
export function startEventConsumers(
  deps: EventConsumerDeps,
  lifecycle: Lifecycle,
  timings?: OnlineStatusTimings,
): EventConsumers {
  const consumers: Running[] = [];
  const startup = retryUntilSuccess(
    async () => {
      await ensureStreams(await deps.bus.jetstreamManager(), { replicas: deps.config.JETSTREAM_REPLICAS });
      consumers.push(
        ...terminalHandlers.map((handler) => consumeTerminalMessages(deps, handler)),
        consumeMediaFiles(deps),
        ...consumeUploads(deps),
      );
    },
    (error) => deps.log.warn({ err: error }, 'could not start the event consumers yet'),
  );
  lifecycle.onStop('event consumers', async () => {
    await startup.stop();
    await Promise.all(consumers.map((consumer) => consumer.stop()));
  });
  const streams = consumeStreams(deps);
  lifecycle.onStop('streams', () => streams.stop());
  const onlineStatus = startOnlineStatusConsumer(deps, timings);
  lifecycle.onStop('online status', () => onlineStatus.stop());
  return { onReports: (imeis, returned) => onlineStatus.onReports(imeis, returned) };
}
