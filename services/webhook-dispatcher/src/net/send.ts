import { type ClientRequest, Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { LookupFunction, Socket } from 'node:net';
import { activeTrace, tracer } from '@fleet/service-kit';
import type { AttemptError } from '@fleet/storage';
import type { Message } from '../domain/message.ts';
import { type AttemptResult, isSuccess, type Phase, toErrorCode } from './attempt-result.ts';

/** Destination of a message, with its time-outs. */
interface Target {
  readonly url: URL;
  /** Returns only the checked addresses. */
  readonly lookup: LookupFunction;
  readonly agent: HttpAgent | HttpsAgent;
  readonly connectTimeoutMs: number;
  /** Remaining time of the attempt. */
  readonly timeoutMs: number;
}

/** Bytes of a response that are read, and stored. */
const maxReadBytes = 64 * 1024;
const maxStoredBytes = 4 * 1024;
const staleTimeoutMs = 1_000;

/** Sends a message and returns the result; never throws. Replaces a pooled connection that the receiver has closed. */
export async function sendMessage(target: Target, message: Message): Promise<AttemptResult> {
  const startedAtMs = performance.now();
  const result = await sendOnce(target, message);
  const elapsedMs = performance.now() - startedAtMs;
  // A closed connection fails immediately; a later failure means that the receiver got the request.
  if (result.isStaleConnection !== true || elapsedMs > staleTimeoutMs) return result;
  return sendOnce({ ...target, timeoutMs: target.timeoutMs - elapsedMs }, message);
}

type SendResult = AttemptResult & { readonly isStaleConnection?: boolean };

/** Sends a message in a client span, which has neither path nor query of the URL: both may contain tokens. */
function sendOnce(target: Target, message: Message): Promise<SendResult> {
  if (tracer === undefined || activeTrace() === undefined) return post(target, message);
  const { hostname, port, protocol } = target.url;
  const span = tracer.startSpan({
    kind: 'client',
    name: 'POST',
    attributes: {
      'http.request.method': 'POST',
      'server.address': hostname,
      'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
      'url.scheme': protocol.slice(0, -1),
    },
  });
  return tracer.runInSpan(span, async () => {
    const result = await post(target, message);
    const { statusCode, errorCode } = result;
    if (statusCode !== null) span.setAttributes({ 'http.response.status_code': statusCode });
    if (!isSuccess(result)) span.fail(errorCode ?? String(statusCode));
    return result;
  });
}

function post(target: Target, message: Message): Promise<SendResult> {
  const { url, lookup, agent } = target;
  const isTls = url.protocol === 'https:';
  const headers = Object.fromEntries(message.headers.map(({ name, value }) => [name, value]));
  return new Promise((resolve) => {
    const request = (isTls ? httpsRequest : httpRequest)(url, { method: 'POST', agent, lookup, headers });
    const connection = watchConnection(request, target, isTls);
    const fail = (error: unknown): void => {
      connection.clear();
      const errorCode = connection.failure() ?? toErrorCode(error, connection.phase());
      const isStaleConnection = request.reusedSocket && errorCode === 'connection_reset';
      resolve({ statusCode: null, errorCode, responseBody: null, retryAfter: undefined, isStaleConnection });
    };
    // A request that ends without a response or an error, such as a change of protocol.
    const onClosed = (): void => fail(new Error('the connection closed without a response'));
    request.once('error', fail);
    request.once('close', onClosed);
    request.once('response', (response) => {
      request.off('error', fail);
      request.off('close', onClosed);
      readResponse(request, response, (result) => {
        connection.clear();
        resolve({ ...result, errorCode: connection.failure() ?? result.errorCode });
      });
    });
    request.end(message.body);
  });
}

/** Observes the connection of a request and destroys it after the time-out. */
function watchConnection(request: ClientRequest, { connectTimeoutMs, timeoutMs }: Target, isTls: boolean) {
  let phase: Phase = 'connecting';
  let failure: AttemptError | null = null;
  const abortWith = (code: AttemptError) => () => {
    failure = code;
    request.destroy(new Error(code));
  };
  const totalTimer = setTimeout(abortWith('timeout'), Math.max(1, timeoutMs));
  const connectTimer = setTimeout(abortWith('connect_timeout'), connectTimeoutMs);
  const onEstablished = (): void => {
    phase = 'established';
    clearTimeout(connectTimer);
  };
  request.once('socket', (socket: Socket) => {
    if (request.reusedSocket) return onEstablished();
    socket.once('connect', () => {
      if (isTls) phase = 'securing';
      else onEstablished();
    });
    if (isTls) socket.once('secureConnect', onEstablished);
  });
  return {
    phase: () => phase,
    failure: () => failure,
    clear: () => {
      clearTimeout(totalTimer);
      clearTimeout(connectTimer);
    },
  };
}

/**
 * Reads a response up to the limit. An interrupted response is a failure, whatever its status; one above the limit is
 * not.
 */
function readResponse(
  request: ClientRequest,
  response: IncomingMessage,
  onResult: (result: AttemptResult) => void,
): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const statusCode = response.statusCode ?? 0;
  const retryAfter = response.headers['retry-after'];
  const finish = (errorCode: AttemptError | null): void =>
    onResult({ statusCode, errorCode, responseBody: decodeText(chunks), retryAfter });
  response.on('data', (chunk: Buffer) => {
    if (bytes < maxStoredBytes) chunks.push(chunk.subarray(0, maxStoredBytes - bytes));
    bytes += chunk.length;
    if (bytes <= maxReadBytes) return;
    finish(statusCode >= 200 && statusCode < 300 ? null : 'response_too_large');
    request.destroy();
  });
  response.once('end', () => finish(response.complete ? null : 'connection_reset'));
  const onCut = (): void => finish('connection_reset');
  response.once('error', onCut);
  request.on('error', onCut);
  response.once('close', onCut);
}

/** Databases do not store NUL. */
const decodeText = (chunks: readonly Buffer[]): string =>
  Buffer.concat(chunks).toString('utf8').replaceAll('\0', '\uFFFD');
