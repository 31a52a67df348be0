import { defineRoute } from '@fleet/service-kit';
import { Type } from 'typebox';
import { canonicalImei } from '../access/admit.ts';
import type { Deps } from '../deps.ts';
import { watchStream } from '../use-cases/watch-stream.ts';
import { streamErrors } from './answers.ts';
import { channel, imei } from './parameters.ts';

/** What a player may say about the form of a stream. */
export const playback = {
  token: Type.Optional(
    Type.String({
      maxLength: 4096,
      description: 'Reserved for players that can not send headers; it does not replace x-api-key yet.',
      examples: ['stream-token'],
    }),
  ),
  audio: Type.Optional(
    Type.String({
      enum: ['aac', 'copy', 'none'],
      default: 'aac',
      description: "aac: what browsers do not play is transcoded; copy: the camera's own codec; none: no sound.",
    }),
  ),
  hevc: Type.Optional(
    Type.String({
      enum: ['legacy'],
      description: 'legacy: H.265 with FLV codec id 12; enhanced-RTMP hvc1 tags when left out.',
    }),
  ),
};

export const realtimeStreamFlv = (deps: Deps) =>
  defineRoute({
    method: 'get',
    path: '/realtime/stream.flv',
    operationId: 'watchRealtimeStream',
    summary: 'Live video as HTTP-FLV',
    description:
      'For as long as the connection stays open. A channel whose camera has agreed to stream is waited for. HEAD answers whether the channel streams.',
    tags: ['Realtime playback'],
    query: Type.Object({ imei, channel, ...playback }),
    contentType: 'video/x-flv',
    errors: streamErrors,
    scopes: ['command', 'video'],
    bucket: 'stream',
    handle: ({ query, context }) =>
      watchStream(
        deps,
        { kind: 'live', imei: canonicalImei(query.imei), channel: query.channel },
        { audio: query.audio ?? 'aac', hevc: query.hevc },
        context,
      ),
  });
