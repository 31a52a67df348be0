import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { AppError, type RequestContext, signMediaPath } from '@fleet/service-kit';
import type { StreamClaim, StreamId } from '@fleet/storage';
import type { Deps } from '../deps.ts';
import { findStreamSource } from './find-stream-source.ts';

/** Time-out of the headers of a media pod. */
const responseTimeoutMs = 10_000;
const urlLifetimeMs = 60_000;
/** Viewers notice a stream's end before Redis does. */
const relocationTimeoutMs = 1_000;
const relocationPollIntervalMs = 25;
// Each stream has its own connection.
const agent = new Agent({ keepAlive: false });

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

type PipeDeps = Pick<Deps, 'config' | 'redis' | 'stopping'>;

/** Proxies a stream from its pod to the caller, byte by byte, until either side ends. */
export async function pipeStream(
  deps: PipeDeps,
  id: StreamId,
  options: WatchOptions,
  context: RequestContext,
): Promise<void> {
  const upstream = await openSource(deps, id, options, context.signal);
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

async function openSource(
  deps: PipeDeps,
  id: StreamId,
  options: WatchOptions,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const claim = await findStreamSource(deps, id, signal);
  try {
    const upstream = await openUpstream(deps, id, claim, options, signal);
    if (upstream.statusCode === 200) return upstream;
    upstream.resume();
    throw new UpstreamStatusError(upstream.statusCode ?? 0);
  } catch (cause) {
    if (signal.aborted) throw cause;
    // The stream may have ended, or moved to another pod, since its state was read.
    const isNotFound = cause instanceof UpstreamStatusError && cause.status === 404;
    const current = await waitForNextSource(deps, id, claim, isNotFound ? relocationTimeoutMs : 0, signal);
    if (current.generation !== claim.generation) return openSource(deps, id, options, signal);
    throw new AppError('upstream_error', 'The media server returned an error.', { cause });
  }
}

/** Returns the current source of the stream; waits briefly for a claim that is being released. */
async function waitForNextSource(
  deps: PipeDeps,
  id: StreamId,
  previous: StreamClaim,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<StreamClaim> {
  const deadlineMs = performance.now() + timeoutMs;
  for (;;) {
    const current = await findStreamSource(deps, id, signal);
    if (current.generation !== previous.generation || performance.now() >= deadlineMs) return current;
    await delay(relocationPollIntervalMs, undefined, { signal });
  }
}

class UpstreamStatusError extends Error {
  readonly status: number;
  constructor(status: number) {
    super(`the media server returned ${status}`);
    this.status = status;
  }
}

function openUpstream(
  deps: PipeDeps,
  id: StreamId,
  claim: StreamClaim,
  options: WatchOptions,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const url = signMediaPath(deps.config.MEDIA_SIGNING_SECRET, {
    ...id,
    baseUrl: claim.url,
    lifetimeMs: urlLifetimeMs,
    query: { audio: options.audio, hevc: options.hevc },
  });
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { agent, signal, timeout: responseTimeoutMs });
    request.once('timeout', () => request.destroy(new Error('the media server did not respond in time')));
    request.on('error', reject);
    request.once('socket', (socket) => socket.setNoDelay(true));
    request.once('response', (upstream) => {
      // A paused stream is no fault.
      upstream.setTimeout(0);
      resolve(upstream);
    });
    request.end();
  });
}
