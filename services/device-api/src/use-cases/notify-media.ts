import { mediaControl, mediaControlSubject, publish, streamChanged, streamStatusEvent } from '@fleet/bus';
import { cancelStreamRequest, readStream, type StreamId } from '@fleet/storage';
import type { CommandContext, Deps } from '../deps.ts';
import type { TimestampSource } from '../domain/playback.ts';
import { withTimeout } from '../domain/with-timeout.ts';
import { stateTimeoutMs } from './send-command.ts';

/** Change of a stream by a command; without `pace` the recording's clock continues. */
export interface StreamChange {
  readonly change: 'ended' | 'paused' | 'resumed' | 'restarting' | 'restarted' | 'switched';
  readonly pace?: TimestampSource;
  /** With `switched`. */
  readonly streamType?: number;
}

type NotifyDeps = Pick<Deps, 'bus' | 'redis'>;

/**
 * Notifies the media pod of a stream about changes. Never fails: the device has executed the command, and the media
 * service also detects changes from the packets.
 */
export async function notifyMedia(
  deps: NotifyDeps,
  id: StreamId,
  changes: readonly StreamChange[],
  context: CommandContext,
  timeoutMs = stateTimeoutMs,
): Promise<void> {
  if (changes.length === 0) return;
  try {
    await withTimeout(timeoutMs, applyChanges(deps, id, changes));
  } catch (error) {
    context.log.warn({ err: error }, 'could not notify the media service of a control command');
  }
}

async function applyChanges(deps: NotifyDeps, id: StreamId, changes: readonly StreamChange[]): Promise<void> {
  const isEnd = changes.some(({ change }) => change === 'ended');
  const pendingRequest = isEnd ? (await readStream(deps.redis, id)).request : null;
  const isCanceled = isEnd && (await cancelStreamRequest(deps.redis, id));
  const { claim } = await readStream(deps.redis, id);
  if (claim === null) {
    if (isCanceled && id.kind === 'live')
      publish(deps.bus, streamChanged, {
        ...streamStatusEvent(id, 'stopped'),
        ...(pendingRequest === null ? {} : { startId: pendingRequest.requestId }),
      });
    return;
  }
  for (const change of changes) publish(deps.bus, mediaControl, { ...id, ...change }, mediaControlSubject(claim.podId));
}
