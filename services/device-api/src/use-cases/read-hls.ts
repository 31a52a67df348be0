import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { AppError, type RequestContext } from '@fleet/service-kit';
import type { WatchedStream } from '../access/guard.ts';
import type { Deps } from '../deps.ts';
import { rewritePlaylist } from '../domain/rewrite-playlist.ts';
import { type MediaDeps, type MediaResource, openEndedMedia, openMedia } from './open-media.ts';

type HlsDeps = MediaDeps & Pick<Deps, 'guard'>;

/** A request that waited longer for its part may have lost its access. */
const recheckAfterMs = 1_000;
const statuses = [400, 404];

/** Position that a low-latency player waits for, as sent by the player. */
interface BlockingQuery {
  readonly _HLS_msn?: number | undefined;
  readonly _HLS_part?: number | undefined;
}

/** Sends the playlist of a stream; `fileQuery` is the query of the files that it lists. */
export async function sendPlaylist(
  deps: HlsDeps,
  id: WatchedStream,
  { position, fileQuery }: { readonly position: BlockingQuery; readonly fileQuery: string },
  context: RequestContext,
): Promise<void> {
  const query = Object.fromEntries(
    Object.entries(position).map(([name, value]) => [name, value === undefined ? undefined : String(value)]),
  );
  // Without the stream the pod returns 404, as after a move to another pod.
  const upstream = await openHls(deps, id, { suffix: '/index.m3u8', query, otherStatuses: [400] }, context);
  await assertResult(deps, id, upstream, context);
  const playlist = rewritePlaylist(await text(upstream), (file) => `hls/${file}${fileQuery}`);
  context.response
    .writeHead(200, { 'Content-Type': 'application/vnd.apple.mpegurl', 'Cache-Control': 'no-store' })
    .end(playlist);
}

/** Sends a file of the playlist of a stream. */
export async function sendHlsFile(
  deps: HlsDeps,
  id: WatchedStream,
  file: string,
  context: RequestContext,
): Promise<void> {
  const { response, log } = context;
  const resource = { suffix: `/${file}`, query: {}, otherStatuses: statuses } as const;
  const upstream = await openFile(deps, id, resource, context);
  await assertResult(deps, id, upstream, context);
  response.writeHead(200, {
    'Content-Type': 'video/mp4',
    'Cache-Control': 'no-store',
    ...(upstream.headers['content-length'] === undefined
      ? {}
      : { 'Content-Length': upstream.headers['content-length'] }),
  });
  try {
    await pipeline(upstream, response);
  } catch (error) {
    log.debug({ err: error }, 'segment interrupted');
  }
}

/** Opens a resource of HLS. A reader that continues also gets the rest of a stream that has just ended, and its end. */
async function openHls(
  deps: HlsDeps,
  id: WatchedStream,
  resource: MediaResource,
  context: RequestContext,
): Promise<IncomingMessage> {
  try {
    return await openMedia(deps, id, resource, context.signal);
  } catch (error) {
    const hasEnded = error instanceof AppError && error.code === 'not_streaming';
    if (!hasEnded || !deps.guard.isContinuingReader(context)) throw error;
    const ended = await openEndedMedia(deps, id, resource, context);
    if (ended === null) throw error;
    return ended;
  }
}

/** Opens a file of HLS; that of a stream that has just moved may still be on the former pod. */
async function openFile(
  deps: HlsDeps,
  id: WatchedStream,
  resource: MediaResource,
  context: RequestContext,
): Promise<IncomingMessage> {
  const upstream = await openHls(deps, id, resource, context);
  if (upstream.statusCode !== 404) return upstream;
  const former = await openEndedMedia(deps, id, resource, context);
  if (former === null) return upstream;
  upstream.resume();
  return former;
}

/** Throws the error of a response without content, and of a reader whose access ended during the wait. */
async function assertResult(
  { guard }: HlsDeps,
  id: WatchedStream,
  upstream: IncomingMessage,
  context: RequestContext,
): Promise<void> {
  try {
    if (upstream.statusCode === 400)
      throw new AppError('validation_failed', 'The parameter _HLS_msn is too far ahead of the playlist.');
    if (upstream.statusCode === 404) throw new AppError('not_found', 'The file is not in the playlist.');
    if (performance.now() - context.receivedAtMs > recheckAfterMs) await guard.assertMayWatch(id, context);
  } catch (error) {
    upstream.resume();
    throw error;
  }
}
