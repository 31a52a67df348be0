import type { IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import type { StreamStopReason } from '@fleet/bus';
import type { RequestContext } from '@fleet/service-kit';
import {
  acceptWebsocket,
  isWebsocket,
  isWebsocketOffered,
  keepWebsocketAlive,
  pipeToWebsocket,
} from '@fleet/service-kit/websocket';
import type { StreamId } from '@fleet/storage';
import { followStream, readStopReason } from './follow-stream.ts';
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

/**
 * Proxies a stream from its pod to the caller, byte by byte, until either side ends; over a websocket if one is offered.
 * Continues with the next pod if the stream moves.
 */
export async function pipeStream(
  deps: MediaDeps,
  id: StreamId,
  { audio, hevc }: WatchOptions,
  context: RequestContext,
): Promise<void> {
  const resource = { query: { audio, hevc } };
  const first = await openMedia(deps, id, resource, context.signal);
  const upstreams = followStream(deps, id, { first, resource }, context);
  try {
    await (isWebsocketOffered(context)
      ? pipeToClient(upstreams, context, deps.stopping)
      : pipeToResponse(upstreams, context, deps.stopping));
  } catch (error) {
    if (!isStarted(context)) throw error;
    // The viewer left, the pod died, or this service stops: the connection is closed in each case.
    context.log.debug({ err: error }, 'stream interrupted');
  } finally {
    // It is not read if the handshake of the websocket has failed.
    first.destroy();
  }
}

const isStarted = ({ response }: RequestContext): boolean => response.headersSent || isWebsocket(response);

async function pipeToResponse(
  upstreams: AsyncIterable<IncomingMessage>,
  { request, response }: RequestContext,
  stopping: AbortSignal,
): Promise<void> {
  request.socket.setNoDelay(true);
  request.socket.setTimeout(0);
  // More than ten listeners wait for the end of a proxied response; Node.js would warn at each viewer.
  response.setMaxListeners(20);
  response.writeHead(200, flvHeaders);
  response.flushHeaders();
  try {
    for await (const upstream of upstreams) await pipeline(upstream, response, { signal: stopping, end: false });
    response.end();
  } catch (error) {
    // A complete response would look like the end of the stream.
    response.destroy();
    throw error;
  }
}

/** Clients send nothing but control frames. */
const maxPayloadBytes = 1_024;
/** As long as a viewer of a recording may make no progress. */
const pingIntervalMs = 60_000;

/** Close code of a websocket whose stream a limit has ended. */
const limitReachedCode = 4429;

// A media pod appends a reason that viewers need to know.
const findClosing = (last: IncomingMessage) =>
  readStopReason(last) === ('data_budget_spent' satisfies StreamStopReason)
    ? { code: limitReachedCode, reason: 'the data budget of the vehicle is spent' }
    : undefined;

async function pipeToClient(
  upstreams: AsyncIterable<IncomingMessage>,
  context: RequestContext,
  stopping: AbortSignal,
): Promise<void> {
  const websocket = await acceptWebsocket(context, { maxPayloadBytes });
  keepWebsocketAlive(websocket, pingIntervalMs);
  await pipeToWebsocket(upstreams, websocket, stopping, findClosing);
}
