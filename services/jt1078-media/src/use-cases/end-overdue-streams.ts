import type { StreamId } from '@fleet/storage';
import { commandCamera } from './command-camera.ts';

/** Stops the cameras that said yes and did not come: they hold state for the request, and the next one may otherwise get a silent connection. */
export async function endOverdueStreams(
  deps: Parameters<typeof commandCamera>[0],
  claims: { takeOverdue(): Promise<StreamId[]> },
): Promise<void> {
  for (const id of await claims.takeOverdue()) void commandCamera(deps, id, 'stop', 'no packet came');
}
