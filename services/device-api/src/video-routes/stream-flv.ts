import { defineRoute } from '@fleet/service-kit';
import { Type } from 'typebox';
import { canonicalImei } from '../access/device-authorizer.ts';
import type { Deps } from '../deps.ts';
import { channel, imei } from '../routes/parameters.ts';
import { playback } from '../routes/realtime-stream-flv.ts';
import { streamErrors } from '../routes/responses.ts';
import { watchStream } from '../use-cases/watch-stream.ts';
import { streamKind } from './parameters.ts';

export const streamFlv = (deps: Deps) =>
  defineRoute({
    method: 'get',
    path: '/:imei/:channel/stream.flv',
    operationId: 'watchStream',
    summary: 'Watch a stream as FLV',
    description:
      'Like /realtime/stream.flv and /history/stream.flv of the Device API. With the offer of a websocket the same bytes are sent as binary messages.',
    extraSuccesses: { 101: 'The connection is a websocket.' },
    tags: ['Video service'],
    params: Type.Object({ imei, channel }),
    query: Type.Object({
      kind: Type.Optional(streamKind),
      ...playback,
    }),
    contentType: 'video/x-flv',
    errors: streamErrors,
    scopes: ['video'],
    bucket: 'stream',
    requiredRight: ({ query }) => ((query as { kind?: string }).kind === 'history' ? 'history' : 'live'),
    handle: ({ params, query, context }) =>
      watchStream(
        deps,
        {
          kind: query.kind === 'history' ? 'history' : 'live',
          imei: canonicalImei(params.imei),
          channel: params.channel,
        },
        { audio: query.audio ?? 'aac', hevc: query.hevc },
        context,
      ),
  });
