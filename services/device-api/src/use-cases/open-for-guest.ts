import { AppError } from '@fleet/service-kit';
import { readStream } from '@fleet/storage';
import type { GuestStream } from '../access/guests.ts';
import type { CommandContext } from '../deps.ts';
import { withTimeout } from '../domain/with-timeout.ts';
import { stateTimeoutMs } from './send-command.ts';
import { startLive } from './start-live.ts';
import type { StartDeps } from './start-stream.ts';

/** 0x9101: audio and video, or video only. */
const dataTypes = { withAudio: 0, withoutAudio: 1 } as const;
const subStream = 1;

/** Starts the stream that a guest opens, in the lower quality, unless the channel streams. Throws 502 if the camera refuses. */
export async function openForGuest(
  deps: StartDeps,
  { id, hasAudio, isOpened }: GuestStream,
  context: CommandContext,
): Promise<void> {
  if (!isOpened) return;
  const { claim, request } = await withTimeout(stateTimeoutMs, readStream(deps.redis, id));
  if (claim !== null || request?.status === 'acknowledged') return;
  const dataType = hasAudio ? dataTypes.withAudio : dataTypes.withoutAudio;
  const { result } = await startLive(deps, { ...id, dataType, streamType: subStream }, context);
  if (result !== 'success') throw new AppError('upstream_error', `The camera refused to stream (${result}).`);
}
