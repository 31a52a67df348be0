import { request as httpRequest, type IncomingMessage } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { BusError, callUseCase, clipSource } from '@fleet/bus';
import { AppError, type ClipFormat, type ErrorCode, type RequestContext, signClipPath } from '@fleet/service-kit';
import type { Deps } from '../deps.ts';
import { findUpload } from './find-upload.ts';

const findLimitMs = 3_000;
const urlLifetimeMs = 60_000;
/** More than any error's body has. */
const maxErrorBytes = 16 * 1024;

type ClipDeps = Pick<Deps, 'bus' | 'config' | 'stopped' | 'uploads'>;

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

/** Errors of the pod that are the caller's answer too, with its sentence. */
const errorCodes: Readonly<Record<number, ErrorCode>> = {
  404: 'not_found',
  409: 'state_conflict',
  416: 'range_not_satisfiable',
  422: 'unreadable_document',
  503: 'unavailable',
};

/** Pipes a completed upload's video, or the range of it that was asked for, from the pod that has it to the caller, as fast as that one reads. */
export async function pipeClip(
  deps: ClipDeps,
  wanted: { readonly uploadId: string; readonly format: ClipFormat },
  context: RequestContext,
): Promise<void> {
  const upload = await findUpload(deps, wanted.uploadId);
  if (upload.status !== 'completed' || upload.server === null)
    throw new AppError('state_conflict', `The upload is ${upload.status}: only a completed one can be downloaded.`);
  const baseUrl = await locate(deps, upload.server.podId, context);
  const clip = await open(
    deps,
    signClipPath(deps.config.CLIPS_SIGNING_SECRET, { ...wanted, baseUrl, lifetimeMs: urlLifetimeMs }),
    context,
  );
  if (clip.statusCode !== 200 && clip.statusCode !== 206) throw await errorOf(clip);
  const { response } = context;
  response.status(clip.statusCode);
  for (const name of passedBack) if (clip.headers[name] !== undefined) response.set(name, clip.headers[name]);
  try {
    // An answer to HEAD ends at once.
    await pipeline(clip, response, { signal: deps.stopped });
  } catch (error) {
    // The caller went, the pod died, or this service stops: the caller asks for the rest with Range.
    context.log.debug({ err: error }, 'a download was cut');
  }
}

async function locate(deps: ClipDeps, podId: string, context: RequestContext): Promise<string> {
  try {
    const options = { timeoutMs: findLimitMs, correlationId: context.requestId };
    return (await callUseCase(deps.bus, clipSource(podId), {}, options)).httpUrl;
  } catch (cause) {
    if (!(cause instanceof BusError)) throw cause;
    throw unreachable(cause);
  }
}

const unreachable = (cause: unknown): AppError =>
  new AppError('upstream_error', 'The server that has the video can not be reached.', { cause });

function open(deps: ClipDeps, url: string, context: RequestContext): Promise<IncomingMessage> {
  const { request, signal } = context;
  const headers = Object.fromEntries(
    passedOn.flatMap((name) => [[name, request.get(name)]].filter(([, value]) => value)),
  );
  const leftMs = Math.max(1, deps.config.REQUEST_LIMIT_MS - (performance.now() - context.receivedAtMs));
  return new Promise((resolve, reject) => {
    const asked = httpRequest(url, {
      method: request.method,
      headers: { ...headers, 'X-Request-Id': context.requestId },
      signal,
      agent: false,
    });
    const late = setTimeout(() => asked.destroy(new Error('it did not answer in time')), leftMs);
    asked.once('error', (cause) => {
      clearTimeout(late);
      reject(signal.aborted ? cause : unreachable(cause));
    });
    asked.once('response', (clip) => {
      clearTimeout(late);
      resolve(clip);
    });
    asked.end();
  });
}

async function errorOf(clip: IncomingMessage): Promise<AppError> {
  const code = errorCodes[clip.statusCode ?? 0];
  const headers = Object.fromEntries(
    ['content-range', 'retry-after'].flatMap((name) =>
      clip.headers[name] === undefined ? [] : [[name, String(clip.headers[name])]],
    ),
  );
  const sentence = sentenceOf(await beginningOf(clip));
  const cause = new Error(`it answered ${clip.statusCode}`);
  // HEAD has no body, and its answer needs none.
  if (code !== undefined) return new AppError(code, sentence ?? 'The video can not be had.', { headers, cause });
  return new AppError('upstream_error', 'The server that has the video returned an error.', { cause });
}

/** The body, as far as an error's body goes; a connection that breaks meanwhile is the same as none. */
async function beginningOf(clip: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of clip as AsyncIterable<Buffer>) {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes > maxErrorBytes) break;
    }
  } catch (cause) {
    throw unreachable(cause);
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
