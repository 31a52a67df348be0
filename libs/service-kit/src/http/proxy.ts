import { request as httpRequest, type IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { AppError, type ErrorCode } from './errors.ts';
import type { RequestContext } from './route.ts';

/** What another server of the house is to hand to a caller of this one. */
export interface Upstream {
  readonly url: string;
  /** What it is, as sentences of errors call it: `video`, `file`. */
  readonly resourceName: string;
  /** How long the server may take until it answers. */
  readonly timeoutMs: number;
  /** Cuts what has begun, too: the service stops. */
  readonly stopSignal: AbortSignal;
  /** Headers of the answer in the place of the server's own. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** More than any error's body has. */
const maxErrorBytes = 16 * 1024;

/** A server that is silent for so long is asked whether it is still there. */
const keepAliveAfterMs = 30_000;

/** What the caller says about the part that it wants, and what it is told about it. */
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

/** Errors of the server that are the caller's answer too, with its sentence. */
const errorCodes: Readonly<Record<number, ErrorCode>> = {
  404: 'not_found',
  409: 'state_conflict',
  416: 'range_not_satisfiable',
  422: 'unreadable_document',
  503: 'unavailable',
};

/** The server that has something can not be asked for it. */
export const upstreamUnreachable = (resourceName: string, cause: unknown): AppError =>
  new AppError('upstream_error', `The server that has the ${resourceName} can not be reached.`, { cause });

/**
 * Pipes a GET or HEAD of the caller, or the range that it asks for, from another server of the house, as fast as the caller reads. Credentials of the caller stay here:
 * the URL opens by itself.
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
    // An answer to HEAD ends at once.
    await pipeline(upstreamResponse, response, { signal: upstream.stopSignal });
  } catch (error) {
    // The caller went, the server died, or this service stops: the caller asks for the rest with Range.
    context.log.debug({ err: error }, 'a download was cut');
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
    // A server whose machine has vanished says nothing, not even that: without this the caller would wait for ever.
    upstreamRequest.setSocketKeepAlive(true, keepAliveAfterMs);
    const timeoutTimer = setTimeout(() => upstreamRequest.destroy(new Error('it did not answer in time')), timeoutMs);
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
  const cause = new Error(`it answered ${upstreamResponse.statusCode}`);
  // HEAD has no body, and its answer needs none.
  if (code !== undefined)
    return new AppError(code, message ?? `The ${resourceName} can not be had.`, { headers, cause });
  return new AppError('upstream_error', `The server that has the ${resourceName} returned an error.`, { cause });
}

/** The body, as far as an error's body goes; a connection that breaks meanwhile is the same as none. */
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
