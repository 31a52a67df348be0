import { ensureStreams } from '@fleet/bus';
import { type Lifecycle, type Running, retryUntilSuccess } from '@fleet/service-kit';
import type { ReturningTerminals } from '../telemetry/publish-positions.ts';
import { followMediaFiles } from './media-files.ts';
import type { EventParts } from './parts.ts';
import { Presence, type PresenceTimes } from './presence.ts';
import { followStreams } from './streams.ts';
import { terminalHandlers } from './terminal-handlers.ts';
import { consumeTerminalMessages } from './terminal-messages.ts';
import { followUploads } from './uploads.ts';

/** Callbacks for the telemetry consumers. */
export interface Events {
  /** Terminals, by canonical number, have reported, some of them after a long silence. */
  readonly heard: (imeis: Iterable<string>, returned: ReturningTerminals) => void;
}

/**
 * Starts the consumers of all events other than locations: uplink messages, uploads, online status. Any number of
 * replicas share the work.
 */
export function startEvents(parts: EventParts, lifecycle: Lifecycle, times?: PresenceTimes): Events {
  const consumers: Running[] = [];
  const begun = retryUntilSuccess(
    async () => {
      await ensureStreams(await parts.bus.jetstreamManager(), { replicas: parts.config.JETSTREAM_REPLICAS });
      consumers.push(
        ...terminalHandlers.map((handler) => consumeTerminalMessages(parts, handler)),
        followMediaFiles(parts),
        ...followUploads(parts),
      );
    },
    (error) => parts.log.warn({ err: error }, 'could not start the event consumers yet'),
  );
  lifecycle.onStop('event consumers', async () => {
    await begun.stop();
    await Promise.all(consumers.map((consumer) => consumer.stop()));
  });
  const streams = followStreams(parts);
  lifecycle.onStop('streams', () => streams.stop());
  const presence = new Presence(parts, times);
  lifecycle.onStop('presence', () => presence.stop());
  return { heard: (imeis, returned) => presence.heard(imeis, returned) };
}
