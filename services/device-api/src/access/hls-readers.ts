import { AppError, type RequestContext } from '@fleet/service-kit';
import { addViewer, hlsReaderTtlMs, removeViewer, type StreamId, type StreamViewer } from '@fleet/storage';
import type { Deps } from '../deps.ts';
import { withTimeout } from '../domain/with-timeout.ts';
import { stateTimeoutMs } from '../use-cases/send-command.ts';
import { tooManyViewersError } from '../use-cases/watch-stream.ts';
import type { RateLimits } from './rate-limits.ts';

/** A request of an HLS reader. */
interface HlsRequest {
  readonly id: StreamId;
  readonly viewer: StreamViewer;
  /** True if its token has expired: it may continue, not begin. */
  readonly isExpired: boolean;
  readonly context: RequestContext;
}

type ReaderDeps = Pick<Deps, 'config' | 'redis'> & { readonly limits: RateLimits };

/**
 * Counts an HLS reader as one viewer of its channel from its first request until it has sent none for a minute. All
 * replicas count together. Returns true for the first request. Throws 401 if the token of a new reader has expired, and
 * 429 beyond a limit.
 */
export async function admitHlsReader(
  { config, redis, limits }: ReaderDeps,
  { id, viewer, isExpired, context }: HlsRequest,
): Promise<boolean> {
  // More than ten listeners wait for the end of a response; Node.js would warn at each request.
  context.response.setMaxListeners(20);
  const enter = (limit: number) =>
    withTimeout(stateTimeoutMs, addViewer(redis, id, viewer, { limit, ttlMs: hlsReaderTtlMs }));
  try {
    if ((await enter(0)) === 'known') return false;
    if (isExpired) throw new AppError('token_expired', 'The token has expired.');
    await limits.consume('stream', `${id.imei}:${id.channel}`, context);
    const limit = config.RATE_LIMIT_VIEWERS_PER_CHANNEL;
    if ((await enter(limit)) === 'full') throw tooManyViewersError(limit);
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    // HLS has no open response: without Redis a new reader looks like one that continues.
    throw new AppError('internal', 'The state of the stream cannot be read at the moment. Retry.', { cause });
  }
  leaveAfterFailure({ redis }, id, viewer, context);
  return true;
}

// A reader whose first request fails watches nothing.
function leaveAfterFailure(
  { redis }: Pick<Deps, 'redis'>,
  id: StreamId,
  viewer: StreamViewer,
  { response, log }: RequestContext,
): void {
  response.once('close', () => {
    if (response.headersSent && response.statusCode < 300) return;
    removeViewer(redis, id, viewer).catch((error: unknown) => log.warn({ err: error }, 'could not remove a viewer'));
  });
}
