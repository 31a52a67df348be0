import type { StreamId } from '@fleet/storage';
import { commandCamera } from './command-camera.ts';
import type { StreamEventPublisher } from './stream-event-publisher.ts';

/** Stops the cameras that said yes and did not come: they hold state for the request, and the next one may otherwise get a silent connection. */
export async function stopTimedOutStreams(
  deps: Parameters<typeof commandCamera>[0],
  claims: { popTimedOut(): Promise<StreamId[]> },
  eventPublisher: StreamEventPublisher,
): Promise<void> {
  for (const id of await claims.popTimedOut()) {
    eventPublisher.publishStopped(id);
    void commandCamera(deps, id, 'stop', 'no packet came');
  }
}

/** Tells the end of streams whose pod was killed: their cameras have lost the connection, and were not back in time. */
export async function endOrphanedStreams(
  claims: { popOrphaned(): Promise<StreamId[]> },
  eventPublisher: StreamEventPublisher,
): Promise<void> {
  for (const id of await claims.popOrphaned()) eventPublisher.publishStopped(id);
}
