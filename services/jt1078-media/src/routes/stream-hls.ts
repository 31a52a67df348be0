import { AppError, defineRoute, type RequestContext, type Route } from '@fleet/service-kit';
import type { StreamId } from '@fleet/storage';
import { Type } from 'typebox';
import type { HlsPlaylist, HlsPosition } from '../domain/hls-playlist.ts';
import type { HlsOutputs } from '../use-cases/hls-outputs.ts';
import {
  authorizeStream,
  findStream,
  noMediaError,
  notStreamingError,
  parseStreamId,
  type StreamAccessDeps,
  signatureQuery,
  streamErrors,
  streamName,
} from './stream-access.ts';

/** Dependencies of the HLS routes. */
interface HlsRouteDeps extends StreamAccessDeps {
  readonly hls: HlsOutputs;
}

/** Time that a request waits for a segment; below the 10 s that device-api waits for headers. */
const segmentTimeoutMs = 9_000;

const playlistType = 'application/vnd.apple.mpegurl';

// GET /live/<sim>_<channel>/index.m3u8 and the files that it lists; the same for /history.
export const hlsRoutes = (deps: HlsRouteDeps): Route[] =>
  (['live', 'history'] as const).flatMap((kind) => [
    defineRoute({
      method: 'get',
      path: `/${kind}/:stream/index.m3u8`,
      operationId: `${kind}Playlist`,
      summary: 'Play a stream as HLS',
      params: Type.Object({ stream: streamName }),
      query: Type.Object({
        _HLS_msn: Type.Optional(Type.Integer({ minimum: 0, description: 'media sequence number to wait for' })),
        _HLS_part: Type.Optional(Type.Integer({ minimum: 0, description: 'partial segment to wait for' })),
        ...signatureQuery,
      }),
      contentType: playlistType,
      errors: { ...streamErrors, 400: 'a sequence number that is too far ahead' },
      handle: async ({ params, query, context }) => {
        const id = parseStreamId(kind, params.stream);
        authorizeStream(deps, id, query);
        const playlist = await openPlaylist(deps, id, context.signal);
        const { _HLS_msn: sequence, _HLS_part: part } = query;
        await waitForPosition(
          playlist,
          sequence === undefined ? null : { sequence, part: part ?? null },
          context.signal,
        );
        // The next pod has the playlist that follows.
        if (playlist.hasMoved) throw notStreamingError();
        send(deps, context, playlistType, [Buffer.from(playlist.render())]);
      },
    }),
    defineRoute({
      method: 'get',
      path: `/${kind}/:stream/:file`,
      operationId: `${kind}Segment`,
      summary: 'Get a file of a playlist',
      params: Type.Object({ stream: streamName, file: Type.String({ pattern: '^[a-z]+-[0-9.]+\\.(?:mp4|m4s)$' }) }),
      query: Type.Object(signatureQuery),
      contentType: 'video/mp4',
      errors: { ...streamErrors, 404: 'not streaming on this pod, or a file that has left the playlist' },
      handle: async ({ params, query, context }) => {
        const id = parseStreamId(kind, params.stream);
        authorizeStream(deps, id, query);
        const playlist = deps.hls.find(id);
        if (playlist === null) throw notStreamingError();
        const position = playlist.parsePart(params.file);
        // Players request the next part in advance.
        if (position !== null && !playlist.isTooFarAhead(position))
          await playlist.waitFor(() => playlist.has(position), segmentTimeoutMs, context.signal);
        const data = playlist.read(params.file);
        if (data === null) throw new AppError('not_found', 'The file is not in the playlist.');
        send(deps, context, 'video/mp4', data);
      },
    }),
  ]);

async function openPlaylist(deps: HlsRouteDeps, id: StreamId, signal: AbortSignal): Promise<HlsPlaylist> {
  const running = deps.registry.find(id);
  if (running !== undefined) return deps.hls.open(running);
  // The end of a stream stays readable for a while.
  return deps.hls.find(id) ?? deps.hls.open(await findStream(deps, id, signal));
}

async function waitForPosition(
  playlist: HlsPlaylist,
  position: HlsPosition | null,
  signal: AbortSignal,
): Promise<void> {
  if (position === null) {
    const canRespond = (): boolean => playlist.isPlayable || playlist.isEnded || playlist.hasMoved;
    await playlist.waitFor(canRespond, segmentTimeoutMs, signal);
    if (!playlist.isPlayable && !playlist.hasMoved) throw noMediaError();
    return;
  }
  if (playlist.isTooFarAhead(position))
    throw new AppError('validation_failed', 'The parameter _HLS_msn is too far ahead of the playlist.');
  await playlist.waitFor(() => playlist.has(position), segmentTimeoutMs, signal);
}

function send(
  deps: Pick<HlsRouteDeps, 'corsOrigin'>,
  { response }: RequestContext,
  contentType: string,
  data: readonly Buffer[],
): void {
  response.writeHead(200, {
    'Content-Type': contentType,
    'Content-Length': data.reduce((sum, { length }) => sum + length, 0),
    'Cache-Control': 'no-store',
    ...(deps.corsOrigin === undefined ? {} : { 'Access-Control-Allow-Origin': deps.corsOrigin }),
  });
  for (const part of data) response.write(part);
  response.end();
}
