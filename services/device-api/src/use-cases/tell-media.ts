import { mediaControl, mediaControlSubject, publish, streamChanged, streamStatusEvent } from '@fleet/bus';
import { cancelStreamRequest, readStream, type StreamId } from '@fleet/storage';
import type { CommandContext, Deps } from '../deps.ts';
import type { Pace } from '../domain/playback.ts';
import { within } from '../domain/within.ts';
import { stateLimitMs } from './ask-device.ts';

/** Change of a stream by a command; without `pace` the recording's clock continues. */
export interface StreamChange {
  readonly change: 'ended' | 'paused' | 'resumed' | 'restarting' | 'restarted';
  readonly pace?: Pace;
}

type TellDeps = Pick<Deps, 'bus' | 'redis'>;

/**
 * Notifies the media pod of a stream about changes. Never fails: the device has executed the command, and the media
 * service also detects changes from the packets.
 */
export async function tellMedia(
  deps: TellDeps,
  id: StreamId,
  changes: readonly StreamChange[],
  context: CommandContext,
  limitMs = stateLimitMs,
): Promise<void> {
  if (changes.length === 0) return;
  try {
    await within(limitMs, tell(deps, id, changes));
  } catch (error) {
    context.log.warn({ err: error }, 'could not notify the media service of a control command');
  }
}

async function tell(deps: TellDeps, id: StreamId, changes: readonly StreamChange[]): Promise<void> {
  const isEnd = changes.some(({ change }) => change === 'ended');
  const awaited = isEnd ? (await readStream(deps.redis, id)).request : null;
  const wasAwaited = isEnd && (await cancelStreamRequest(deps.redis, id));
  const { claim } = await readStream(deps.redis, id);
  if (claim === null) {
    if (wasAwaited && id.kind === 'live')
      publish(deps.bus, streamChanged, {
        ...streamStatusEvent(id, 'stopped'),
        ...(awaited === null ? {} : { startId: awaited.requestId }),
      });
    return;
  }
  for (const change of changes) publish(deps.bus, mediaControl, { ...id, ...change }, mediaControlSubject(claim.podId));
}
