import { randomUUID } from 'node:crypto';
import { AppError, type RequestContext, subjectOf } from '@fleet/service-kit';
import { addViewer, removeViewer, renewViewer, type StreamId, viewerTtlMs } from '@fleet/storage';
import type { Deps } from '../deps.ts';
import { withTimeout } from '../domain/with-timeout.ts';
import { readSource } from './find-stream-source.ts';
import { flvHeaders, pipeStream, type WatchOptions } from './pipe-stream.ts';
import { stateTimeoutMs } from './send-command.ts';

/** Proxies a stream to one viewer, within the limit of viewers per channel on all replicas together. */
export async function watchStream(
  deps: Pick<Deps, 'config' | 'guard' | 'redis' | 'stopping'>,
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
  deps: Pick<Deps, 'config' | 'guard' | 'redis'>,
  id: StreamId,
  context: RequestContext,
): Promise<() => void> {
  const { redis, config, guard } = deps;
  const limit = config.RATE_LIMIT_VIEWERS_PER_CHANNEL;
  const viewer = { subject: subjectOf(guard.getCaller(context)), viewerId: randomUUID() };
  const warn = (error: unknown): void => context.log.warn({ err: error }, 'could not count a viewer');
  try {
    const added = await withTimeout(stateTimeoutMs, addViewer(redis, id, viewer, { limit, ttlMs: viewerTtlMs }));
    if (added === 'full') throw tooManyViewersError(limit);
  } catch (error) {
    if (error instanceof AppError) throw error;
    // Without Redis no viewer is rejected.
    warn(error);
    return () => undefined;
  }
  const renewal = setInterval(() => void renewViewer(redis, id, viewer).catch(warn), viewerTtlMs / 3);
  return () => {
    clearInterval(renewal);
    removeViewer(redis, id, viewer).catch(warn);
  };
}

/** Returns an error of a channel with as many viewers as permitted. */
export const tooManyViewersError = (limit: number): AppError =>
  new AppError('quota_exceeded', `The channel has ${limit} viewers already.`, { headers: { 'Retry-After': '10' } });
