import { request as httpRequest, type IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { AppError, type ErrorCode } from './errors.ts';
import type { RequestContext } from './route.ts';

/** Content that another service delivers to a client of this one. */
interface Upstream {
  readonly url: string;
  /** Name of the content in error messages: `video`, `file`. */
  readonly resourceName: string;
  /** Time-out until the server responds. */
  readonly timeoutMs: number;
  /** Also destroys a running response: the service stops. */
  readonly stopSignal: AbortSignal;
  /** Response headers that replace the server's own. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Larger than any error body. */
const maxErrorBytes = 16 * 1024;

/** Idle time after which the server's socket is probed. */
const keepAliveAfterMs = 30_000;

/** Headers about ranges, of the request and of the response. */
const forwardedRequestHeaders = ['range', 'if-range'] as const;
const forwardedResponseHeaders = [
  'accept-ranges',
  'cache-control',
  'content-disposition',
  'content-length',
  'content-range',
  'content-security-policy',
  'content-type',
  'etag',
] as const;

/** Server errors that are passed to the client, with their message. */
const errorCodes: Readonly<Record<number, ErrorCode>> = {
  404: 'not_found',
  409: 'state_conflict',
  416: 'range_not_satisfiable',
  422: 'unreadable_document',
  503: 'unavailable',
};

/** Returns the error of an unreachable server. */
export const upstreamUnreachable = (resourceName: string, cause: unknown): AppError =>
  new AppError('upstream_error', `The server that has the ${resourceName} cannot be reached.`, { cause });

/**
 * Proxies a GET or HEAD of a client, or a range of it, from another service at the client's speed. Credentials of the
 * client are not forwarded: the URL is signed.
 */
export async function proxyUpstream(upstream: Upstream, context: RequestContext): Promise<void> {
  const upstreamResponse = await openUpstream(upstream, context);
  if (upstreamResponse.statusCode !== 200 && upstreamResponse.statusCode !== 206)
    throw await toAppError(upstreamResponse, upstream.resourceName);
  const { response } = context;
  response.status(upstreamResponse.statusCode);
  for (const name of forwardedResponseHeaders)
    if (upstreamResponse.headers[name] !== undefined) response.set(name, upstreamResponse.headers[name]);
  response.set({ ...upstream.headers });
  try {
    // A response to HEAD ends immediately.
    await pipeline(upstreamResponse, response, { signal: upstream.stopSignal });
  } catch (error) {
    // The client disconnected, the server died, or this service stops: the client requests the rest with Range.
    context.log.debug({ err: error }, 'download interrupted');
  }
}

function openUpstream({ url, resourceName, timeoutMs }: Upstream, context: RequestContext): Promise<IncomingMessage> {
  const { request, signal } = context;
  const headers = Object.fromEntries(
    forwardedRequestHeaders.flatMap((name) => [[name, request.get(name)]].filter(([, value]) => value)),
  );
  return new Promise((resolve, reject) => {
    const upstreamRequest = httpRequest(url, {
      method: request.method,
      headers: { ...headers, 'X-Request-Id': context.requestId },
      signal,
      agent: false,
    });
    // A machine that vanished sends nothing: without this the client would wait forever.
    upstreamRequest.setSocketKeepAlive(true, keepAliveAfterMs);
    const timeoutTimer = setTimeout(
      () => upstreamRequest.destroy(new Error('the server did not respond in time')),
      timeoutMs,
    );
    upstreamRequest.once('error', (cause) => {
      clearTimeout(timeoutTimer);
      reject(signal.aborted ? cause : upstreamUnreachable(resourceName, cause));
    });
    upstreamRequest.once('response', (upstreamResponse) => {
      clearTimeout(timeoutTimer);
      resolve(upstreamResponse);
    });
    upstreamRequest.end();
  });
}

async function toAppError(upstreamResponse: IncomingMessage, resourceName: string): Promise<AppError> {
  const code = errorCodes[upstreamResponse.statusCode ?? 0];
  const headers = Object.fromEntries(
    ['content-range', 'retry-after'].flatMap((name) =>
      upstreamResponse.headers[name] === undefined ? [] : [[name, String(upstreamResponse.headers[name])]],
    ),
  );
  const message = parseErrorMessage(await readBeginning(upstreamResponse, resourceName));
  const cause = new Error(`the server returned status ${upstreamResponse.statusCode}`);
  // HEAD has no body, and its response needs none.
  if (code !== undefined)
    return new AppError(code, message ?? `The ${resourceName} is not available.`, { headers, cause });
  return new AppError('upstream_error', `The server that has the ${resourceName} returned an error.`, { cause });
}

/** Reads an error body up to the limit; an interrupted one is null. */
async function readBeginning(upstreamResponse: IncomingMessage, resourceName: string): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of upstreamResponse as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > maxErrorBytes) break;
    }
  } catch (cause) {
    throw upstreamUnreachable(resourceName, cause);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parseErrorMessage(body: string): string | undefined {
  try {
    const { error } = JSON.parse(body) as { error?: unknown };
    return typeof error === 'string' ? error : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
