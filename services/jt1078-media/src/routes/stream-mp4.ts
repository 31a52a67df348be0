import { defineRoute, type RequestContext, type Route } from '@fleet/service-kit';
import { Type } from 'typebox';
import type { MediaStream } from '../domain/media-stream.ts';
import { Mp4Viewer } from '../domain/mp4-viewer.ts';
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

const fragmentMs = 200;
/** Queue length at which a recording pauses its camera, and a response of live video is closed. */
const maxQueueBytes = { live: 16 * 1024 * 1024, history: 2 * 1024 * 1024 } as const;

// GET /live/<sim>_<channel>.mp4 and /history/<sim>_<channel>.mp4: fragmented MP4 for ffmpeg, which reads no H.265 in
// FLV.
export const mp4Routes = (deps: StreamAccessDeps): Route[] =>
  (['live', 'history'] as const).map((kind) =>
    defineRoute({
      method: 'get',
      path: `/${kind}/:stream.mp4`,
      operationId: `${kind}Mp4`,
      summary: 'Play a stream as fragmented MP4',
      params: Type.Object({ stream: streamName }),
      query: Type.Object({
        audio: Type.Optional(Type.Union([Type.Literal('aac'), Type.Literal('none')])),
        ...signatureQuery,
      }),
      contentType: 'video/mp4',
      errors: streamErrors,
      handle: async ({ params, query, context }) => {
        const id = parseStreamId(kind, params.stream);
        authorizeStream(deps, id, query);
        const stream = await findStream(deps, id, context.signal);
        await sendMp4(stream, query.audio ?? 'aac', context);
      },
    }),
  );

function sendMp4(stream: MediaStream, audio: 'aac' | 'none', { response }: RequestContext): Promise<void> {
  const kind = stream.id.kind === 'history' ? 'history' : 'live';
  return new Promise((resolve, reject) => {
    const write = (data: Buffer): void => {
      if (kind === 'live' && response.writableLength > maxQueueBytes.live) response.destroy();
      else response.write(data);
    };
    const viewer = new Mp4Viewer(
      { audio, fragmentMs, maxQueueBytes: maxQueueBytes[kind], nowMs: performance.now() },
      {
        onInit: ({ data }) => write(data),
        onFragment: ({ data }) => {
          for (const part of data) write(part);
        },
        onEnd: () => response.end(),
        queuedBytes: () => response.writableLength,
      },
    );
    response.on('drain', () => viewer.onDrain());
    response.once('close', () => {
      stream.leave(viewer);
      viewer.destroy();
      resolve();
    });
    stream.join(viewer, {
      onStart: () => response.writeHead(200, { 'Content-Type': 'video/mp4', 'Cache-Control': 'no-store' }),
      onNoMedia: (reason) => {
        stream.leave(viewer);
        reject(noMediaError(reason));
      },
    });
  });
}
