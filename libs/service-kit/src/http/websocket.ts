import { type IncomingMessage, type RequestListener, type Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import { createWebSocketStream, type WebSocket, WebSocketServer } from 'ws';
import { AppError } from './errors.ts';
import type { RequestContext } from './route.ts';

/** Data that arrived with the request of a handshake. */
const heads = new WeakMap<IncomingMessage, Buffer>();
const accepted = new WeakMap<Response, WebSocket>();

/**
 * Dispatches websocket handshakes to the routes of an app: guard, validation and error bodies are those of every other
 * request. A route completes the handshake with `acceptWebsocket`.
 */
export function serveWebsockets(server: Server, app: RequestListener): void {
  server.on('upgrade', (request, stream, head) => {
    const socket = stream as Socket;
    // A client that has disconnected needs no response; without a listener its error would end the process.
    socket.on('error', () => socket.destroy());
    const response = new ServerResponse(request);
    // The parser has left the connection, so it cannot serve another request.
    response.shouldKeepAlive = false;
    response.assignSocket(socket);
    response.once('finish', () => socket.end());
    heads.set(request, head);
    app(request, response);
  });
}

/** Returns whether a request offers a websocket. */
export const isWebsocketOffered = ({ request }: Pick<RequestContext, 'request'>): boolean => heads.has(request);

/** Throws 400 for a request without the offer of a websocket. */
export function assertWebsocketOffered(context: Pick<RequestContext, 'request'>): void {
  if (!isWebsocketOffered(context))
    throw new AppError('validation_failed', 'This path accepts only websocket connections (Upgrade: websocket).');
}

/**
 * Completes the handshake of a request. The request's response stays its handle: it emits `close` with the connection,
 * and destroying it destroys the connection.
 */
export function acceptWebsocket(
  context: Pick<RequestContext, 'request' | 'response'>,
  { maxPayloadBytes }: { readonly maxPayloadBytes: number },
): Promise<WebSocket> {
  assertWebsocketOffered(context);
  const { request, response } = context;
  const { socket } = response;
  if (socket === null || !socket.writable || !socket.readable)
    throw new AppError('request_incomplete', 'The client has disconnected.');
  const sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: maxPayloadBytes,
    perMessageDeflate: false,
  });
  return new Promise((resolve, reject) => {
    sockets.once('wsClientError', (cause) =>
      reject(new AppError('validation_failed', `The websocket handshake is not valid: ${cause.message}.`, { cause })),
    );
    socket.setNoDelay(true);
    sockets.handleUpgrade(request, socket, heads.get(request) ?? Buffer.alloc(0), (websocket) => {
      // A fault of the client's frames closes the connection, and `close` follows.
      websocket.on('error', () => undefined);
      accepted.set(response, websocket);
      resolve(websocket);
    });
  });
}

/** Returns whether a response has become a websocket. */
export const isWebsocket = (response: Response): boolean => accepted.has(response);

const closeCodes = { ended: 1000, failed: 1011, restart: 1012 } as const;

/** How a websocket closes. */
interface Closing {
  readonly code: number;
  readonly reason: string;
}

/**
 * Sends streams one after the other as binary messages, at the speed of the client, and closes the websocket with the
 * last. Messages of the client are ignored. `findClosing` returns how it closes, if not as usual.
 */
export async function pipeToWebsocket<Source extends Readable>(
  sources: AsyncIterable<Source>,
  websocket: WebSocket,
  stopSignal: AbortSignal,
  findClosing: (last: Source) => Closing | undefined = () => undefined,
): Promise<void> {
  const sink = createWebSocketStream(websocket);
  // The duplex stream reports a connection that has closed as an error of both directions.
  sink.on('error', () => undefined).resume();
  try {
    let last: Source | undefined;
    for await (const source of sources) {
      last = source;
      await pipeline(source, sink, { signal: stopSignal, end: false });
    }
    const closing = last === undefined ? undefined : findClosing(last);
    const { code, reason } = closing ?? { code: closeCodes.ended, reason: 'the stream has ended' };
    websocket.close(code, reason);
  } catch (error) {
    websocket.close(stopSignal.aborted ? closeCodes.restart : closeCodes.failed, 'the stream was interrupted');
    throw error;
  }
}

/** Ends a response: a websocket with a close code, every other one by destroying its connection. */
export function closeResponse(response: Response, code: number, reason: string): void {
  const websocket = accepted.get(response);
  if (websocket === undefined) response.destroy();
  else websocket.close(code, reason);
}

/** Pings a websocket, and terminates it when the other side does not respond. Stops when it closes. */
export function keepWebsocketAlive(websocket: WebSocket, intervalMs: number): void {
  let isAlive = true;
  websocket.on('pong', () => {
    isAlive = true;
  });
  const timer = setInterval(() => {
    if (!isAlive) return websocket.terminate();
    isAlive = false;
    websocket.ping();
  }, intervalMs);
  websocket.once('close', () => clearInterval(timer));
}
