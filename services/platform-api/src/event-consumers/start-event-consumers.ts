import type { Running } from '@fleet/service-kit';
import type { ReturningTerminals } from '../telemetry/publish-positions.ts';
import { startDataUsageConsumer } from './data-usage.ts';
import { startMediaFileConsumer } from './media-files.ts';
import { type OnlineStatusTimings, startOnlineStatusConsumer } from './online-status/online-status-consumer.ts';
import { startPlaybackConsumer } from './playback.ts';
import { startDurableConsumers } from './start-durable-consumers.ts';
import { startStreamConsumer } from './streams.ts';
import { terminalHandlers } from './terminal-handlers.ts';
import { startTerminalMessageConsumer } from './terminal-messages.ts';
import { startUploadConsumer } from './uploads.ts';
import type { EventConsumerDeps } from './vehicle-events.ts';

/** The running consumers of events, and a callback for the telemetry consumers. */
interface EventConsumers extends Running {
  /** Terminals, by canonical number, have reported, some of them after a long silence. */
  readonly onReports: (imeis: Iterable<string>, returned: ReturningTerminals) => void;
}

/**
 * Starts the consumers of all events other than locations: uplink messages, uploads, online status. Any number of
 * replicas share the work.
 */
export function startEventConsumers(deps: EventConsumerDeps, timings?: OnlineStatusTimings): EventConsumers {
  const onlineStatus = startOnlineStatusConsumer(deps, timings);
  const durableConsumers = startDurableConsumers(deps, 'events', () => [
    ...terminalHandlers.map((handler) => startTerminalMessageConsumer(deps, handler)),
    startDataUsageConsumer(deps),
    startMediaFileConsumer(deps),
    startUploadConsumer(deps),
  ]);
  const consumers = [durableConsumers, startStreamConsumer(deps), startPlaybackConsumer(deps), onlineStatus];
  return {
    onReports: (imeis, returned) => onlineStatus.onReports(imeis, returned),
    stop: async () => {
      await Promise.all(consumers.map((consumer) => consumer.stop()));
    },
  };
}
