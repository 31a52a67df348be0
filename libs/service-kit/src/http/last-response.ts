import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';
import { isContinueDue } from './expect-continue.ts';

/**
 * Limits of the data that is read and discarded after a response: many clients send their whole body before they read.
 */
const maxDiscardedBytes = 64 * 1024 * 1024;
const silenceTimeoutMs = 5_000;
const discardTimeoutMs = 20_000;

/** Node.js reads the rest of a smaller body, and the connection stays open. */
const maxKeepAliveBytes = 64 * 1024;

const endingSockets = new WeakSet<Duplex>();

/** Returns true once the last response of a connection is being sent: later data is no request. */
export const isEnding = (socket: Duplex): boolean => endingSockets.has(socket);

/** Returns true if the connection must end with an error, because the rest of the body is unused. */
export function isLastResponse(request: IncomingMessage, status: number): boolean {
  if (status === 413) return true;
  if (!isBodyPending(request)) return false;
  return isContinueDue(request) || !(Number(request.headers['content-length']) <= maxKeepAliveBytes);
}

/** Returns true if a part of the body has not arrived yet. */
export const isBodyPending = ({ complete, headers }: IncomingMessage): boolean =>
  !complete && (headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0);

/** Sends a response with `Connection: close`, and ends the connection after the rest of the request. */
export function sendLastResponse(request: IncomingMessage, response: ServerResponse, body: string): void {
  response.setHeader('Connection', 'close');
  response.setHeader('Content-Length', Buffer.byteLength(body));
  response.write(body);
  endAfterRequest(request, () => response.end());
}

/**
 * Reads and discards the rest of a request, then calls `end` once: at the end of the request, at an interruption, or at
 * a limit. Closing a socket with unread bytes resets it, and a reset discards a response that the client has not read
 * yet.
 */
export function endAfterRequest(request: IncomingMessage, end: () => void): void {
  endingSockets.add(request.socket);
  let discardedBytes = 0;
  let isDone = false;
  const finish = (): void => {
    clearTimeout(silenceTimer);
    clearTimeout(totalTimer);
    if (isDone) return;
    isDone = true;
    end();
  };
  const silenceTimer = setTimeout(finish, silenceTimeoutMs);
  const totalTimer = setTimeout(finish, discardTimeoutMs);
  if (request.readableEnded || request.destroyed) return finish();
  request.on('data', (chunk: Buffer) => {
    discardedBytes += chunk.length;
    silenceTimer.refresh();
    if (discardedBytes > maxDiscardedBytes) finish();
  });
  for (const event of ['end', 'close', 'error']) request.once(event, finish);
  // A reader that has disconnected would block it.
  request.unpipe().resume();
}
