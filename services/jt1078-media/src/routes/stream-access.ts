import { AppError, verifyMediaPath } from '@fleet/service-kit';
import { firstPacketTimeoutMs, type StreamId, type StreamKind } from '@fleet/storage';
import { Type } from 'typebox';
import type { EndReason } from '../domain/end-reason.ts';
import type { MediaStream } from '../domain/media-stream.ts';
import { canonicalizeSim } from '../domain/stream-name.ts';
import type { StreamRegistry } from '../domain/stream-registry.ts';

/** Dependencies of every route that plays a stream. */
export interface StreamAccessDeps {
  readonly registry: StreamRegistry;
  readonly isExpected: (id: StreamId) => Promise<boolean>;
  readonly signingSecret: string | undefined;
  /** Accepts URLs without signature; for benchmarks only. */
  readonly allowUnsigned: boolean;
  readonly corsOrigin: string | undefined;
}

/** `<number>_<channel>` in the paths of streams. */
export const streamName = Type.String({
  pattern: '^[0-9A-Fa-f]{1,20}_(?:[0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])$',
});

/** Query parameters with the signature of a stream URL. */
export const signatureQuery = {
  expires: Type.Optional(Type.String({ description: 'Unix seconds' })),
  signature: Type.Optional(Type.String({ description: 'hex HMAC-SHA256 of <kind>/<imei>/<channel>/<expires>' })),
};

/** Statuses of every route that plays a stream. */
export const streamErrors = {
  401: 'missing signature',
  403: 'invalid or expired signature',
  404: 'not streaming on this pod',
  502: 'no packet or picture arrived',
} as const;

/** Returns an error for a stream that does not run on this pod. */
export const notStreamingError = (): AppError => new AppError('not_streaming', 'The channel is not streaming here.');

/** Returns an error for a stream that has nothing to play, or has moved before it could be played. */
export const noMediaError = (endReason?: EndReason): AppError =>
  endReason === 'moved'
    ? notStreamingError()
    : new AppError('upstream_error', 'The camera sends no audio or video that can be played.');

/** Interval at which a wait for the camera checks whether it is still expected. */
const expectationPollMs = 1_000;

/** Returns the stream of a path. Throws 404 for the number 0. */
export function parseStreamId(kind: StreamKind, name: string): StreamId {
  const [sim = '', channel] = name.split('_');
  const imei = canonicalizeSim(sim);
  if (imei === null) throw new AppError('not_streaming', 'No terminal has the number 0.');
  return { kind, imei, channel: Number(channel) };
}

/** Throws 401 without a signature, 403 for an invalid or expired one. */
export function authorizeStream(
  deps: Pick<StreamAccessDeps, 'signingSecret' | 'allowUnsigned'>,
  id: StreamId,
  query: { readonly expires?: string; readonly signature?: string },
): void {
  const verdict = deps.signingSecret === undefined ? 'missing' : verifyMediaPath(deps.signingSecret, id, query);
  if (verdict === 'valid' || (verdict === 'missing' && deps.allowUnsigned)) return;
  if (verdict === 'missing') throw new AppError('api_key_missing', 'The stream URL must be signed.');
  const message = verdict === 'expired' ? 'The URL has expired.' : 'The signature of the URL is not valid.';
  throw new AppError('permission_denied', message);
}

/**
 * Finds a stream. A requested camera that has not connected yet counts as streaming: its viewers wait for the first
 * packet. Throws 404 or 502 without a stream.
 */
export async function findStream(
  deps: Pick<StreamAccessDeps, 'registry' | 'isExpected'>,
  id: StreamId,
  signal: AbortSignal,
): Promise<MediaStream> {
  const running = deps.registry.find(id);
  if (running !== undefined) return running;
  const deadlineMs = performance.now() + firstPacketTimeoutMs;
  let isExpected = await isCameraExpected(deps, id);
  while (isExpected && performance.now() < deadlineMs && !signal.aborted) {
    const stream = await deps.registry.waitFor(id, expectationPollMs, signal);
    if (stream !== null) return stream;
    isExpected = await isCameraExpected(deps, id);
  }
  // The stream may have begun here during the last check.
  const stream = deps.registry.find(id);
  if (stream !== undefined) return stream;
  if (isExpected && !signal.aborted) throw new AppError('upstream_error', 'The camera did not connect.');
  throw notStreamingError();
}

async function isCameraExpected(deps: Pick<StreamAccessDeps, 'isExpected'>, id: StreamId): Promise<boolean> {
  try {
    return await deps.isExpected(id);
  } catch (cause) {
    throw new AppError('upstream_error', 'The state of the channel cannot be read at the moment. Retry.', { cause });
  }
}
