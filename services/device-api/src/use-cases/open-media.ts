import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { AppError, type MediaPathSuffix, type RequestContext, signMediaPath } from '@fleet/service-kit';
import { readEndedStream, type StreamClaim, type StreamId } from '@fleet/storage';
import type { Deps } from '../deps.ts';
import { withTimeout } from '../domain/with-timeout.ts';
import { findStreamSource } from './find-stream-source.ts';
import { stateTimeoutMs } from './send-command.ts';

/** Time-out of the headers of a media pod. */
const responseTimeoutMs = 10_000;
const urlLifetimeMs = 60_000;
/** Viewers notice a stream's end before Redis does. */
const relocationTimeoutMs = 1_000;
const relocationPollIntervalMs = 25;
// Each FLV stream has its own connection; the short responses of HLS share them.
const streamAgent = new Agent({ keepAlive: false });
const fileAgent = new Agent({ keepAlive: true, maxFreeSockets: 64 });

export type MediaDeps = Pick<Deps, 'config' | 'redis' | 'stopping'>;

/** Resource of a media pod. */
export interface MediaResource {
  /** Default: `.flv`. */
  readonly suffix?: MediaPathSuffix;
  readonly query: Readonly<Record<string, string | undefined>>;
  /** Statuses besides 200 that are a result, not a fault of the pod. */
  readonly otherStatuses?: readonly number[];
}

/** Opens a resource of a stream on the pod that has it, also if the stream has just moved to another pod. */
export async function openMedia(
  deps: MediaDeps,
  id: StreamId,
  resource: MediaResource,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const claim = await findStreamSource(deps, id, signal);
  try {
    const upstream = await request(deps, id, claim, resource, signal);
    const { statusCode = 0 } = upstream;
    if (statusCode === 200 || resource.otherStatuses?.includes(statusCode) === true) return upstream;
    upstream.resume();
    throw new UpstreamStatusError(statusCode);
  } catch (cause) {
    if (signal.aborted) throw cause;
    // The stream may have ended, or moved to another pod, since its state was read.
    const isNotFound = cause instanceof UpstreamStatusError && cause.status === 404;
    const current = await waitForNextSource(deps, id, claim, isNotFound ? relocationTimeoutMs : 0, signal);
    if (current.generation !== claim.generation) return openMedia(deps, id, resource, signal);
    throw new AppError('upstream_error', 'The media server returned an error.', { cause });
  }
}

/** Opens a resource of a stream that has just ended; returns null if it is not readable any more. */
export async function openEndedMedia(
  deps: MediaDeps,
  id: StreamId,
  resource: MediaResource,
  context: Pick<RequestContext, 'log' | 'signal'>,
): Promise<IncomingMessage | null> {
  try {
    const claim = await withTimeout(stateTimeoutMs, readEndedStream(deps.redis, id));
    if (claim === null) return null;
    const upstream = await request(deps, id, claim, resource, context.signal);
    if (upstream.statusCode === 200) return upstream;
    upstream.resume();
  } catch (error) {
    // The pod may have stopped with the stream.
    context.log.debug({ err: error }, 'could not read the end of a stream');
  }
  return null;
}

/** Returns the current source of the stream; waits briefly for a claim that is being released. */
async function waitForNextSource(
  deps: MediaDeps,
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

function request(
  deps: MediaDeps,
  id: StreamId,
  claim: StreamClaim,
  { suffix, query }: MediaResource,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const url = signMediaPath(deps.config.MEDIA_SIGNING_SECRET, {
    ...id,
    baseUrl: claim.url,
    lifetimeMs: urlLifetimeMs,
    query,
    ...(suffix === undefined ? {} : { suffix }),
  });
  const agent = suffix === undefined ? streamAgent : fileAgent;
  return new Promise((resolve, reject) => {
    const outgoing = httpRequest(url, { agent, signal, timeout: responseTimeoutMs });
    outgoing.once('timeout', () => outgoing.destroy(new Error('the media server did not respond in time')));
    outgoing.on('error', reject);
    outgoing.once('socket', (socket) => socket.setNoDelay(true));
    outgoing.once('response', (upstream) => {
      // A paused stream is no fault.
      upstream.setTimeout(0);
      resolve(upstream);
    });
    outgoing.end();
  });
}
