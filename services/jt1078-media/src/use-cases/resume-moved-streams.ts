import type { Logger } from '@fleet/service-kit';
import type { MovingStream } from '@fleet/storage';
import { formatStreamName } from '../domain/stream-name.ts';
import { type CommandCameraDeps, requestCameraAgain } from './command-camera.ts';
import type { StreamEventPublisher } from './stream-event-publisher.ts';

/** Store of the streams that have left other pods. */
interface MoveStore {
  takeMoving(): Promise<MovingStream[]>;
  acknowledgeMove(moving: MovingStream): Promise<void>;
  cancelMove(moving: MovingStream): Promise<boolean>;
}

/** Requests the cameras of streams that have left a stopping pod, so that they connect to a running one. */
export async function resumeMovedStreams(
  deps: CommandCameraDeps & { readonly log: Logger },
  moves: MoveStore,
  eventPublisher: Pick<StreamEventPublisher, 'publishStopped'>,
): Promise<void> {
  const resume = async (moving: MovingStream): Promise<void> => {
    const outcome = await requestCameraAgain(deps, moving);
    if (outcome?.kind === 'answered' && outcome.answer.result === 0) return moves.acknowledgeMove(moving);
    // A terminal that has lost its connection may return: the command is repeated until the time limit of the move.
    if (outcome !== null && outcome.kind !== 'answered') return;
    if (await moves.cancelMove(moving)) eventPublisher.publishStopped(moving.id);
  };
  for (const moving of await moves.takeMoving())
    resume(moving).catch((error: unknown) =>
      deps.log.error({ err: error, stream: formatStreamName(moving.id) }, 'could not resume a stream'),
    );
}
