import { AppError, defineRoute, type RequestContext, type Route, verifyMediaPath } from '@fleet/service-kit';
import { firstPacketTimeoutMs, type StreamId, type StreamKind } from '@fleet/storage';
import { Type } from 'typebox';
import type { MediaStream } from '../domain/media-stream.ts';
import type { AudioMode } from '../domain/play-options.ts';
import { canonicalizeSim } from '../domain/stream-name.ts';
import type { StreamRegistry } from '../domain/stream-registry.ts';
import { Viewer, type ViewerLimits } from '../domain/viewer.ts';

/** Dependencies of the stream routes. */
export interface StreamRouteDeps {
  readonly registry: StreamRegistry;
  readonly isExpected: (id: StreamId) => Promise<boolean>;
  readonly viewerLimits: (kind: StreamKind) => ViewerLimits;
  readonly signingSecret: string | undefined;
  /** Accepts URLs without signature; for benchmarks only. */
  readonly allowUnsigned: boolean;
  readonly corsOrigin: string | undefined;
}

const query = Type.Object({
  audio: Type.Optional(Type.Union([Type.Literal('aac'), Type.Literal('copy'), Type.Literal('none')])),
  hevc: Type.Optional(Type.Literal('legacy')),
  expires: Type.Optional(Type.String({ description: 'Unix seconds' })),
  signature: Type.Optional(Type.String({ description: 'hex HMAC-SHA256 of <kind>/<imei>/<channel>/<expires>' })),
});
const params = Type.Object({
  stream: Type.String({ pattern: '^[0-9A-Fa-f]{1,20}_(?:[0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])$' }),
});

/** Interval at which a wait for the camera checks whether it is still expected. */
const expectationPollMs = 1_000;

/** GET /live/<sim>_<channel>.flv and /history/<sim>_<channel>.flv: the FLV of a stream on this pod. */
export const streamRoutes = (deps: StreamRouteDeps): Route[] =>
  (['live', 'history'] as const).map((kind) =>
    defineRoute({
      method: 'get',
      path: `/${kind}/:stream.flv`,
      operationId: `${kind}Stream`,
      summary: 'Play a stream as FLV',
      params,
      query,
      contentType: 'video/x-flv',
      errors: {
        401: 'missing signature',
        403: 'invalid or expired signature',
        404: 'not streaming on this pod',
        502: 'no packet or picture arrived',
      },
      handle: async ({ params, query, context }) => {
        const id = parseStreamId(kind, params.stream);
        authorize(deps, id, query);
        const stream = await findStream(deps, id, context.signal);
        await startPlayback(
          deps,
          stream,
          { audio: query.audio ?? 'aac', isLegacyHevc: query.hevc === 'legacy' },
          context,
        );
      },
    }),
  );

function parseStreamId(kind: StreamKind, name: string): StreamId {
  const [sim = '', channel] = name.split('_');
  const imei = canonicalizeSim(sim);
  if (imei === null) throw new AppError('not_streaming', 'No terminal has the number 0.');
  return { kind, imei, channel: Number(channel) };
}

function authorize(
  deps: StreamRouteDeps,
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
 * packet.
 */
async function findStream(deps: StreamRouteDeps, id: StreamId, signal: AbortSignal): Promise<MediaStream> {
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
  throw new AppError('not_streaming', 'The channel is not streaming here.');
}

async function isCameraExpected(deps: StreamRouteDeps, id: StreamId): Promise<boolean> {
  try {
    return await deps.isExpected(id);
  } catch (cause) {
    throw new AppError('upstream_error', 'The state of the channel could not be read.', { cause });
  }
}

function startPlayback(
  deps: StreamRouteDeps,
  stream: MediaStream,
  playOptions: { audio: AudioMode; isLegacyHevc: boolean },
  { request, response }: RequestContext,
): Promise<void> {
  const { socket } = request;
  const isHead = request.method === 'HEAD';
  const isChunked = request.httpVersion !== '1.0';
  return new Promise((resolve, reject) => {
    socket.setNoDelay(true);
    const viewer = new Viewer(
      socket,
      { ...playOptions, isChunked, nowMs: performance.now() },
      deps.viewerLimits(stream.id.kind),
    );
    response.once('close', () => {
      stream.leave(viewer);
      viewer.destroy();
      resolve();
    });
    const writeHeaders = (): void => {
      response.writeHead(200, getResponseHeaders(deps.corsOrigin));
      response.flushHeaders();
    };
    if (isHead) {
      writeHeaders();
      response.end();
      return;
    }
    stream.join(viewer, {
      onStart: writeHeaders,
      onNoMedia: () => {
        stream.leave(viewer);
        reject(new AppError('upstream_error', 'The camera sends nothing that can be played.'));
      },
    });
  });
}

const getResponseHeaders = (corsOrigin: string | undefined): Record<string, string> => ({
  'Content-Type': 'video/x-flv',
  'Cache-Control': 'no-store',
  // The bytes after the head are written to the socket directly, so the connection cannot serve a second request.
  Connection: 'close',
  'X-Accel-Buffering': 'no',
  ...(corsOrigin === undefined ? {} : { 'Access-Control-Allow-Origin': corsOrigin }),
});
