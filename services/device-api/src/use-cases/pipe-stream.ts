import { pipeline } from 'node:stream/promises';
import type { RequestContext } from '@fleet/service-kit';
import type { StreamId } from '@fleet/storage';
import { type MediaDeps, openMedia } from './open-media.ts';

/** Headers of every FLV response. */
export const flvHeaders = {
  'Content-Type': 'video/x-flv',
  'Cache-Control': 'no-store',
  // Prevents buffering by nginx and similar proxies.
  'X-Accel-Buffering': 'no',
} as const;

export interface WatchOptions {
  readonly audio: string;
  readonly hevc?: string | undefined;
}

/** Proxies a stream from its pod to the caller, byte by byte, until either side ends. */
export async function pipeStream(
  deps: MediaDeps,
  id: StreamId,
  { audio, hevc }: WatchOptions,
  context: RequestContext,
): Promise<void> {
  const upstream = await openMedia(deps, id, { query: { audio, hevc } }, context.signal);
  const { request, response } = context;
  request.socket.setNoDelay(true);
  request.socket.setTimeout(0);
  response.writeHead(200, flvHeaders);
  response.flushHeaders();
  try {
    await pipeline(upstream, response, { signal: deps.stopping });
  } catch (error) {
    // The viewer left, the pod died, or this service stops: the response is closed in each case.
    context.log.debug({ err: error }, 'stream interrupted');
  }
}
