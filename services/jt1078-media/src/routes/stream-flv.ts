import { defineRoute, type RequestContext, type Route } from '@fleet/service-kit';
import type { StreamKind } from '@fleet/storage';
import { Type } from 'typebox';
import { FlvViewer, type ViewerLimits } from '../domain/flv-viewer.ts';
import type { MediaStream } from '../domain/media-stream.ts';
import type { AudioMode } from '../domain/play-options.ts';
import {
  authorizeStream,
  findStream,
  noMediaError,
  parseStreamId,
  type StreamAccessDeps,
  signatureQuery,
  streamErrors,
  streamName,
} from './stream-access.ts';

/** Dependencies of the FLV route. */
interface FlvRouteDeps extends StreamAccessDeps {
  readonly viewerLimits: (kind: StreamKind) => ViewerLimits;
}

const query = Type.Object({
  audio: Type.Optional(Type.Union([Type.Literal('aac'), Type.Literal('copy'), Type.Literal('none')])),
  hevc: Type.Optional(Type.Literal('legacy')),
  resume_at: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 0xff_ff_ff_ff,
      description: 'timestamp at which a response of another pod continues; no FLV header is sent',
    }),
  ),
  ...signatureQuery,
});
const params = Type.Object({ stream: streamName });

// GET /live/<sim>_<channel>.flv and /history/<sim>_<channel>.flv: the FLV of a stream on this pod.
export const flvRoutes = (deps: FlvRouteDeps): Route[] =>
  (['live', 'history'] as const).map((kind) =>
    defineRoute({
      method: 'get',
      path: `/${kind}/:stream.flv`,
      operationId: `${kind}Stream`,
      summary: 'Play a stream as FLV',
      params,
      query,
      contentType: 'video/x-flv',
      errors: streamErrors,
      handle: async ({ params, query, context }) => {
        const id = parseStreamId(kind, params.stream);
        authorizeStream(deps, id, query);
        const stream = await findStream(deps, id, context.signal);
        await startPlayback(
          deps,
          stream,
          {
            audio: query.audio ?? 'aac',
            isLegacyHevc: query.hevc === 'legacy',
            resumeAtMs: query.resume_at ?? null,
          },
          context,
        );
      },
    }),
  );

function startPlayback(
  deps: FlvRouteDeps,
  stream: MediaStream,
  playOptions: { audio: AudioMode; isLegacyHevc: boolean; resumeAtMs: number | null },
  { request, response }: RequestContext,
): Promise<void> {
  const { socket } = request;
  const isHead = request.method === 'HEAD';
  const isChunked = request.httpVersion !== '1.0';
  return new Promise((resolve, reject) => {
    socket.setNoDelay(true);
    const viewer = new FlvViewer(
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
      onNoMedia: (reason) => {
        stream.leave(viewer);
        reject(noMediaError(reason));
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
