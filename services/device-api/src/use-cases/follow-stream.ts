import type { IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { type StreamStopReason, stopReasonTrailer, streamPositionTrailer } from '@fleet/bus';
import { AppError, type RequestContext } from '@fleet/service-kit';
import { firstPacketTimeoutMs, moveTimeoutMs, type StreamId } from '@fleet/storage';
import { type MediaDeps, type MediaResource, openMedia } from './open-media.ts';

const retryIntervalMs = 250;
/** A camera that was requested at the end of the move has time to connect. */
const continuationTimeoutMs = moveTimeoutMs + firstPacketTimeoutMs;

/** Returns the reason that a media pod has appended to a complete response. */
export const readStopReason = ({ trailers }: IncomingMessage): string | undefined => trailers[stopReasonTrailer];

/**
 * Returns the responses of the pods that have a stream, one after the other: a pod that stops moves its streams.
 * Together they are one FLV. Read each to its end before the next.
 */
export async function* followStream(
  deps: MediaDeps,
  id: StreamId,
  { first, resource }: { readonly first: IncomingMessage; readonly resource: MediaResource },
  context: Pick<RequestContext, 'log' | 'signal'>,
): AsyncGenerator<IncomingMessage, void> {
  let current: IncomingMessage | null = first;
  try {
    while (current !== null) {
      yield current;
      current = await openContinuation(deps, id, { ended: current, resource }, context);
    }
  } finally {
    current?.destroy();
  }
}

/** Opens a stream on the pod to which it has moved; returns null if it has ended. */
async function openContinuation(
  deps: MediaDeps,
  id: StreamId,
  { ended, resource }: { readonly ended: IncomingMessage; readonly resource: MediaResource },
  { log, signal }: Pick<RequestContext, 'log' | 'signal'>,
): Promise<IncomingMessage | null> {
  if (readStopReason(ended) !== ('moved' satisfies StreamStopReason)) return null;
  const startedAtMs = performance.now();
  const waiting = AbortSignal.any([signal, deps.stopping]);
  const next = { ...resource, query: { ...resource.query, resume_at: ended.trailers[streamPositionTrailer] } };
  while (performance.now() - startedAtMs < continuationTimeoutMs) {
    try {
      const continued = await openMedia(deps, id, next, waiting);
      log.info({ tookMs: Math.round(performance.now() - startedAtMs) }, 'continued a stream on another pod');
      return continued;
    } catch (error) {
      if (isEnded(error)) return null;
      if (waiting.aborted) throw error;
      // The next pod may be starting, or the state unreadable for a moment.
      log.debug({ err: error }, 'could not continue a stream yet');
      await delay(retryIntervalMs, undefined, { signal: waiting });
    }
  }
  return null;
}

const isEnded = (error: unknown): boolean => error instanceof AppError && error.code === 'not_streaming';
