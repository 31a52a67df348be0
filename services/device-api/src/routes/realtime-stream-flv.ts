import { defineRoute } from '@fleet/service-kit';
import { Type } from 'typebox';
import { canonicalImei } from '../access/device-authorizer.ts';
import { maxTokenLength } from '../access/identify.ts';
import type { Deps } from '../deps.ts';
import { watchStream } from '../use-cases/watch-stream.ts';
import { channel, imei } from './parameters.ts';
import { streamErrors } from './responses.ts';

/** Format options of a player. */
export const playback = {
  token: Type.Optional(
    Type.String({
      maxLength: maxTokenLength,
      description:
        'Stream token, for players that cannot send headers: from stream_url of the video service or the Platform API. It opens this one stream.',
      examples: ['eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl'],
    }),
  ),
  audio: Type.Optional(
    Type.String({
      enum: ['aac', 'copy', 'none'],
      default: 'aac',
      description: "aac: transcode what browsers do not play; copy: the camera's own codec; none: no audio.",
    }),
  ),
  hevc: Type.Optional(
    Type.String({
      enum: ['legacy'],
      description: 'legacy: H.265 with FLV codec id 12. Default: enhanced-RTMP hvc1 tags.',
    }),
  ),
};

export const realtimeStreamFlv = (deps: Deps) =>
  defineRoute({
    method: 'get',
    path: '/realtime/stream.flv',
    operationId: 'watchRealtimeStream',
    summary: 'Watch live video as HTTP-FLV',
    description:
      'Streams until the connection is closed. Waits for a camera that has accepted. HEAD checks whether the channel streams.',
    tags: ['Realtime playback'],
    query: Type.Object({ imei, channel, ...playback }),
    contentType: 'video/x-flv',
    errors: streamErrors,
    scopes: ['command', 'video'],
    bucket: 'stream',
    requiredRight: () => 'live',
    handle: ({ query, context }) =>
      watchStream(
        deps,
        { kind: 'live', imei: canonicalImei(query.imei), channel: query.channel },
        { audio: query.audio ?? 'aac', hevc: query.hevc },
        context,
      ),
  });
