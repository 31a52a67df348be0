import { AppError, defineRoute, isLoopback, type Route } from '@fleet/service-kit';
import type { MediaStream } from '../domain/media-stream.ts';
import type { StreamRegistry } from '../domain/stream-registry.ts';

// GET /streams: streams on this pod, for its operator; available only from this machine.
export const streamsRoute = (registry: StreamRegistry): Route =>
  defineRoute({
    method: 'get',
    path: '/streams',
    operationId: 'listStreams',
    summary: 'List streams on this pod',
    errors: { 404: 'request from another machine' },
    handle: async ({ context }) => {
      const remoteAddress = context.request.socket.remoteAddress ?? '';
      if (!isLoopback(remoteAddress.replace(/^::ffff:/, '')))
        throw new AppError('not_found', 'GET /streams is available only from the same host.');
      return { streams: [...registry.streams].map(toStreamResponse) };
    },
  });

function toStreamResponse(stream: MediaStream) {
  const { id, counters, muxer, link } = stream;
  return {
    ...id,
    generation: stream.claim.generation,
    transport: link?.transport ?? null,
    remote: link?.remote ?? null,
    isPaused: stream.isPaused,
    isHeld: stream.isBackpressured,
    viewers: stream.viewers.size,
    firstKeyFrameMs: stream.firstKeyFrameAtMs === null ? null : stream.firstKeyFrameAtMs - stream.startedAtMs,
    video: muxer.video,
    audio: muxer.audio,
    ...counters,
    droppedTags: stream.droppedTags,
    ...muxer.counters,
  };
}
