import { setTimeout as delay } from 'node:timers/promises';
import { AppError } from '@fleet/service-kit';
import { readStream, type StreamClaim, type StreamId, type StreamRequest } from '@fleet/storage';
import type { Deps } from '../deps.ts';
import { withTimeout } from '../domain/with-timeout.ts';
import { abortOnShutdown, stateTimeoutMs } from './send-command.ts';

const pollIntervalMs = 50;

/** Returns a message for a channel that does not stream, and for one of another account. */
export const notStreamingError = (): AppError => new AppError('not_streaming', 'The channel is not streaming.');

/** Returns the media pod of a stream; waits for the first packet of a camera that has accepted. */
export async function findStreamSource(
  deps: Pick<Deps, 'config' | 'redis' | 'stopping'>,
  id: StreamId,
  signal: AbortSignal,
): Promise<StreamClaim> {
  const deadlineMs = performance.now() + deps.config.FIRST_PACKET_WAIT_MS;
  for (;;) {
    const source = await readSource(deps, id);
    if (!('isForeign' in source)) return source;
    if (performance.now() >= deadlineMs)
      throw new AppError(
        'upstream_error',
        source.isForeign
          ? 'The camera was sent to another media server: its video is not available here.'
          : 'The camera agreed to stream and has not connected yet.',
      );
    await abortOnShutdown(deps.stopping, delay(pollIntervalMs, undefined, { signal }));
  }
}

/** Returns the claim of a stream, or its accepted request; throws 404 without either. */
export async function readSource(deps: Pick<Deps, 'redis'>, id: StreamId): Promise<StreamClaim | StreamRequest> {
  const { claim, request } = await readState(deps, id);
  if (claim !== null) return claim;
  // A pending request is not accepted yet: nothing streams.
  if (request?.status !== 'acknowledged') throw notStreamingError();
  return request;
}

async function readState(deps: Pick<Deps, 'redis'>, id: StreamId): Promise<Awaited<ReturnType<typeof readStream>>> {
  try {
    return await withTimeout(stateTimeoutMs, readStream(deps.redis, id));
  } catch (cause) {
    // stream.flv has no status 503.
    throw new AppError('internal', 'The state of the stream cannot be read at the moment. Retry.', { cause });
  }
}
