import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { type StreamStopReason, stopReasonTrailer } from '@fleet/bus';
import type { RequestContext } from '@fleet/service-kit';
import {
  acceptWebsocket,
  isWebsocket,
  isWebsocketOffered,
  keepWebsocketAlive,
  pipeToWebsocket,
} from '@fleet/service-kit/websocket';
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

/** Proxies a stream from its pod to the caller, byte by byte, until either side ends; over a websocket if one is offered. */
export async function pipeStream(
  deps: MediaDeps,
  id: StreamId,
  { audio, hevc }: WatchOptions,
  context: RequestContext,
): Promise<void> {
  const upstream = await openMedia(deps, id, { query: { audio, hevc } }, context.signal);
  try {
    await (isWebsocketOffered(context)
      ? pipeToClient(upstream, context, deps.stopping)
      : pipeToResponse(upstream, context, deps.stopping));
  } catch (error) {
    if (!isStarted(context)) throw error;
    // The viewer left, the pod died, or this service stops: the connection is closed in each case.
    context.log.debug({ err: error }, 'stream interrupted');
  }
}

const isStarted = ({ response }: RequestContext): boolean => response.headersSent || isWebsocket(response);

async function pipeToResponse(
  upstream: IncomingMessage,
  { request, response }: RequestContext,
  stopping: AbortSignal,
): Promise<void> {
  request.socket.setNoDelay(true);
  request.socket.setTimeout(0);
  // More than ten listeners wait for the end of a proxied response; Node.js would warn at each viewer.
  response.setMaxListeners(20);
  response.writeHead(200, flvHeaders);
  response.flushHeaders();
  await pipeline(upstream, response, { signal: stopping });
}

/** Clients send nothing but control frames. */
const maxPayloadBytes = 1_024;
/** As long as a viewer of a recording may make no progress. */
const pingIntervalMs = 60_000;

/** Close code of a websocket whose stream a limit has ended. */
const limitReachedCode = 4429;

// A media pod appends a reason that viewers need to know.
const findClosing = ({ trailers }: IncomingMessage) =>
  trailers[stopReasonTrailer] === ('data_budget_spent' satisfies StreamStopReason)
    ? { code: limitReachedCode, reason: 'the data budget of the vehicle is spent' }
    : undefined;

async function pipeToClient(upstream: IncomingMessage, context: RequestContext, stopping: AbortSignal): Promise<void> {
  try {
    const websocket = await acceptWebsocket(context, { maxPayloadBytes });
    keepWebsocketAlive(websocket, pingIntervalMs);
    await pipeToWebsocket(upstream, websocket, stopping, () => findClosing(upstream));
  } finally {
    upstream.destroy();
  }
}
