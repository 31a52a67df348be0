import type { StreamId } from '@fleet/storage';
import { commandCamera } from './command-camera.ts';
import type { StreamTeller } from './tell-streams.ts';

/** Stops the cameras that said yes and did not come: they hold state for the request, and the next one may otherwise get a silent connection. */
export async function endOverdueStreams(
  deps: Parameters<typeof commandCamera>[0],
  claims: { takeOverdue(): Promise<StreamId[]> },
  teller: StreamTeller,
): Promise<void> {
  for (const id of await claims.takeOverdue()) {
    teller.isNowhere(id);
    void commandCamera(deps, id, 'stop', 'no packet came');
  }
}

/** Tells the end of streams whose pod was killed: their cameras have lost the connection, and were not back in time. */
export async function endVoidStreams(claims: { takeVoid(): Promise<StreamId[]> }, teller: StreamTeller): Promise<void> {
  for (const id of await claims.takeVoid()) teller.isNowhere(id);
}
