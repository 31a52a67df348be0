import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { LookupFunction, Socket } from 'node:net';
import type { AttemptError } from '@fleet/storage';
import type { Message } from '../domain/message.ts';
import { type AttemptEnd, errorCodeOf, type Phase } from './attempt-end.ts';

/** Where a message goes, and how long that may take. */
export interface Target {
  readonly url: URL;
  /** Knows the checked addresses alone. */
  readonly lookup: LookupFunction;
  readonly agent: HttpAgent | HttpsAgent;
  readonly connectTimeoutMs: number;
  /** What is left of the attempt's time. */
  readonly timeoutMs: number;
}

/** How much of an answer is read, and kept. */
const readLimitBytes = 64 * 1024;
const keptBytes = 4 * 1024;
const staleWithinMs = 1_000;

/** Sends a message and answers how that ended; never throws. A kept connection that the receiver has closed meanwhile is replaced by a new one. */
export async function sendMessage(target: Target, message: Message): Promise<AttemptEnd> {
  const started = performance.now();
  const first = await sendOnce(target, message);
  const elapsedMs = performance.now() - started;
  // One that was closed meanwhile says so at once; one that fails later has been heard.
  if (first.isStaleConnection !== true || elapsedMs > staleWithinMs) return first;
  return sendOnce({ ...target, timeoutMs: target.timeoutMs - elapsedMs }, message);
}

function sendOnce(target: Target, message: Message): Promise<AttemptEnd & { isStaleConnection?: boolean }> {
  const { url, lookup, agent } = target;
  const isTls = url.protocol === 'https:';
  const headers = Object.fromEntries(message.headers.map(({ name, value }) => [name, value]));
  return new Promise((resolve) => {
    const request = (isTls ? httpsRequest : httpRequest)(url, { method: 'POST', agent, lookup, headers });
    const watch = watchConnection(request, target, isTls);
    const fail = (error: unknown): void => {
      watch.clear();
      const errorCode = watch.endedAs() ?? errorCodeOf(error, watch.phase());
      const isStaleConnection = request.reusedSocket && errorCode === 'connection_reset';
      resolve({ statusCode: null, errorCode, responseBody: null, retryAfter: undefined, isStaleConnection });
    };
    // What ends without an answer and without an error: a change of protocol, for one.
    const closed = (): void => fail(new Error('closed'));
    request.once('error', fail);
    request.once('close', closed);
    request.once('response', (response) => {
      request.off('error', fail);
      request.off('close', closed);
      readAnswer(request, response, (end) => {
        watch.clear();
        resolve({ ...end, errorCode: watch.endedAs() ?? end.errorCode });
      });
    });
    request.end(message.body);
  });
}

/** Follows a request's connection, and ends what takes too long. */
function watchConnection(request: ClientRequest, { connectTimeoutMs, timeoutMs }: Target, isTls: boolean) {
  let phase: Phase = 'connecting';
  let endedAs: AttemptError | null = null;
  const endAs = (code: AttemptError) => () => {
    endedAs = code;
    request.destroy(new Error(code));
  };
  const whole = setTimeout(endAs('timeout'), Math.max(1, timeoutMs));
  const connecting = setTimeout(endAs('connect_timeout'), connectTimeoutMs);
  const established = (): void => {
    phase = 'established';
    clearTimeout(connecting);
  };
  request.once('socket', (socket: Socket) => {
    if (request.reusedSocket) return established();
    socket.once('connect', () => {
      if (isTls) phase = 'securing';
      else established();
    });
    if (isTls) socket.once('secureConnect', established);
  });
  return {
    phase: () => phase,
    endedAs: () => endedAs,
    clear: () => {
      clearTimeout(whole);
      clearTimeout(connecting);
    },
  };
}

/** Reads an answer up to the limit. What was cut off is no success, whatever its status says; what is too large is one. */
function readAnswer(request: ClientRequest, response: IncomingMessage, end: (answer: AttemptEnd) => void): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const statusCode = response.statusCode ?? 0;
  const retryAfter = response.headers['retry-after'];
  const finish = (errorCode: AttemptError | null): void =>
    end({ statusCode, errorCode, responseBody: textOf(chunks), retryAfter });
  response.on('data', (chunk: Buffer) => {
    if (bytes < keptBytes) chunks.push(chunk.subarray(0, keptBytes - bytes));
    bytes += chunk.length;
    if (bytes <= readLimitBytes) return;
    finish(statusCode >= 200 && statusCode < 300 ? null : 'response_too_large');
    request.destroy();
  });
  response.once('end', () => finish(response.complete ? null : 'connection_reset'));
  const cut = (): void => finish('connection_reset');
  response.once('error', cut);
  request.on('error', cut);
  response.once('close', cut);
}

/** Databases do not store NUL. */
const textOf = (chunks: readonly Buffer[]): string => Buffer.concat(chunks).toString('utf8').replaceAll('\0', '\uFFFD');
