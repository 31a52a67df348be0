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

/**
 * Opens the stream of a guest. Starts it first, in the lower quality, unless the channel streams. Starts it again if
 * that stream turns out to have ended, because its claim outlives it for a moment. Throws 502 if the camera refuses.
 */
export async function openForGuest(
  deps: StartDeps,
  { stream, open }: { readonly stream: GuestStream; readonly open: (id: GuestStream['id']) => Promise<void> },
  context: CommandContext,
): Promise<void> {
  const { id, isOpened } = stream;
  if (!isOpened) return open(id);
  const { claim, request } = await withTimeout(stateTimeoutMs, readStream(deps.redis, id));
  if (claim === null && request?.status !== 'acknowledged') await start(deps, stream, context);
  try {
    await open(id);
  } catch (error) {
    if (claim === null || !isAboutStream(error)) throw error;
    await start(deps, stream, context);
    await open(id);
  }
}

// The stream has ended, or its pod does not have it.
const isAboutStream = (error: unknown): boolean =>
  error instanceof AppError && (error.code === 'not_streaming' || error.code === 'upstream_error');

async function start(deps: StartDeps, { id, hasAudio }: GuestStream, context: CommandContext): Promise<void> {
  const dataType = hasAudio ? dataTypes.withAudio : dataTypes.withoutAudio;
  const { result } = await startLive(deps, { ...id, dataType, streamType: subStream }, context);
  if (result !== 'success') throw new AppError('upstream_error', `The camera refused to stream (${result}).`);
}
