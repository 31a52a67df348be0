import type { StreamId } from '@fleet/storage';
import { commandCamera } from './command-camera.ts';
import type { StreamEventPublisher } from './stream-event-publisher.ts';

/**
 * Stops cameras that acknowledged a request but did not connect. They retain state for it, and the next request could
 * get a silent connection.
 */
export async function stopTimedOutStreams(
  deps: Parameters<typeof commandCamera>[0],
  claims: { popTimedOut(): Promise<StreamId[]> },
  eventPublisher: StreamEventPublisher,
): Promise<void> {
  for (const id of await claims.popTimedOut()) {
    eventPublisher.publishStopped(id);
    void commandCamera(deps, id, 'stop', 'no packet arrived');
  }
}

/** Publishes the end of streams whose pod crashed and whose cameras did not reconnect in time. */
export async function endOrphanedStreams(
  claims: { popOrphaned(): Promise<StreamId[]> },
  eventPublisher: StreamEventPublisher,
): Promise<void> {
  for (const id of await claims.popOrphaned()) eventPublisher.publishStopped(id);
}
