import { request as httpRequest, type IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { AppError, type ErrorCode } from './errors.ts';
import type { RequestContext } from './route.ts';

/** What another server of the house is to hand to a caller of this one. */
export interface Upstream {
  readonly url: string;
  /** What it is, as sentences of errors call it: `video`, `file`. */
  readonly what: string;
  /** How long the server may take until it answers. */
  readonly timeoutMs: number;
  /** Cuts what has begun, too: the service stops. */
  readonly stopped: AbortSignal;
  /** Headers of the answer in the place of the server's own. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** More than any error's body has. */
const maxErrorBytes = 16 * 1024;

/** A server that is silent for so long is asked whether it is still there. */
const keepAliveAfterMs = 30_000;

/** What the caller says about the part that it wants, and what it is told about it. */
const passedOn = ['range', 'if-range'] as const;
const passedBack = [
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
export const upstreamUnreachable = (what: string, cause: unknown): AppError =>
  new AppError('upstream_error', `The server that has the ${what} can not be reached.`, { cause });

/**
 * Pipes a GET or HEAD of the caller, or the range that it asks for, from another server of the house, as fast as the caller reads. Credentials of the caller stay here:
 * the URL opens by itself.
 */
export async function pipeUpstream(upstream: Upstream, context: RequestContext): Promise<void> {
  const answer = await open(upstream, context);
  if (answer.statusCode !== 200 && answer.statusCode !== 206) throw await errorOf(answer, upstream.what);
  const { response } = context;
  response.status(answer.statusCode);
  for (const name of passedBack) if (answer.headers[name] !== undefined) response.set(name, answer.headers[name]);
  response.set({ ...upstream.headers });
  try {
    // An answer to HEAD ends at once.
    await pipeline(answer, response, { signal: upstream.stopped });
  } catch (error) {
    // The caller went, the server died, or this service stops: the caller asks for the rest with Range.
    context.log.debug({ err: error }, 'a download was cut');
  }
}

function open({ url, what, timeoutMs }: Upstream, context: RequestContext): Promise<IncomingMessage> {
  const { request, signal } = context;
  const headers = Object.fromEntries(
    passedOn.flatMap((name) => [[name, request.get(name)]].filter(([, value]) => value)),
  );
  return new Promise((resolve, reject) => {
    const asked = httpRequest(url, {
      method: request.method,
      headers: { ...headers, 'X-Request-Id': context.requestId },
      signal,
      agent: false,
    });
    // A server whose machine has vanished says nothing, not even that: without this the caller would wait for ever.
    asked.setSocketKeepAlive(true, keepAliveAfterMs);
    const late = setTimeout(() => asked.destroy(new Error('it did not answer in time')), timeoutMs);
    asked.once('error', (cause) => {
      clearTimeout(late);
      reject(signal.aborted ? cause : upstreamUnreachable(what, cause));
    });
    asked.once('response', (answer) => {
      clearTimeout(late);
      resolve(answer);
    });
    asked.end();
  });
}

async function errorOf(answer: IncomingMessage, what: string): Promise<AppError> {
  const code = errorCodes[answer.statusCode ?? 0];
  const headers = Object.fromEntries(
    ['content-range', 'retry-after'].flatMap((name) =>
      answer.headers[name] === undefined ? [] : [[name, String(answer.headers[name])]],
    ),
  );
  const sentence = sentenceOf(await beginningOf(answer, what));
  const cause = new Error(`it answered ${answer.statusCode}`);
  // HEAD has no body, and its answer needs none.
  if (code !== undefined) return new AppError(code, sentence ?? `The ${what} can not be had.`, { headers, cause });
  return new AppError('upstream_error', `The server that has the ${what} returned an error.`, { cause });
}

/** The body, as far as an error's body goes; a connection that breaks meanwhile is the same as none. */
async function beginningOf(answer: IncomingMessage, what: string): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > maxErrorBytes) break;
    }
  } catch (cause) {
    throw upstreamUnreachable(what, cause);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function sentenceOf(body: string): string | undefined {
  try {
    const { error } = JSON.parse(body) as { error?: unknown };
    return typeof error === 'string' ? error : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
