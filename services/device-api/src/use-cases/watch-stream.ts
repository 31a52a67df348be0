import { AppError, type RequestContext } from '@fleet/service-kit';
import type { StreamId } from '@fleet/storage';
import type { Deps } from '../deps.ts';
import { withTimeout } from '../domain/with-timeout.ts';
import { addViewer, removeViewer, renewViewer, viewerTtlMs } from '../store/viewers.ts';
import { readSource } from './find-stream-source.ts';
import { flvHeaders, pipeStream, type WatchOptions } from './pipe-stream.ts';
import { stateTimeoutMs } from './send-command.ts';

/** Proxies a stream to one viewer, within the limit of viewers per channel on all replicas together. */
export async function watchStream(
  deps: Pick<Deps, 'config' | 'redis' | 'stopping'>,
  id: StreamId,
  options: WatchOptions,
  context: RequestContext,
): Promise<void> {
  if (context.request.method === 'HEAD') {
    await readSource(deps, id);
    context.response.writeHead(200, flvHeaders).end();
    return;
  }
  const release = await countViewer(deps, id, context);
  try {
    await pipeStream(deps, id, options, context);
  } finally {
    release();
  }
}

async function countViewer(
  deps: Pick<Deps, 'config' | 'redis'>,
  id: StreamId,
  context: RequestContext,
): Promise<() => void> {
  const { redis, config } = deps;
  const limit = config.RATE_LIMIT_VIEWERS_PER_CHANNEL;
  const warn = (error: unknown): void => context.log.warn({ err: error }, 'could not count a viewer');
  let viewer: string | null;
  try {
    viewer = await withTimeout(stateTimeoutMs, addViewer(redis, id, limit));
  } catch (error) {
    // Without Redis no viewer is rejected.
    warn(error);
    return () => undefined;
  }
  if (viewer === null)
    throw new AppError('quota_exceeded', `The channel has ${limit} viewers already.`, {
      headers: { 'Retry-After': '10' },
    });
  const viewerId = viewer;
  const renewal = setInterval(() => void renewViewer(redis, id, viewerId).catch(warn), viewerTtlMs / 3);
  return () => {
    clearInterval(renewal);
    removeViewer(redis, id, viewerId).catch(warn);
  };
}
