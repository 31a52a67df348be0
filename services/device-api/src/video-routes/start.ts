import { defineRoute } from '@fleet/service-kit';
import { Type } from 'typebox';
import { canonicalImei } from '../access/admit.ts';
import type { Deps } from '../deps.ts';
import { commandErrors, shownAnswer, terminalGeneralResponse } from '../routes/answers.ts';
import { commandContext, commandRoute } from '../routes/command-context.ts';
import { channel, dataType, host, realtimeStreamType, tcpPort, udpPort } from '../routes/parameters.ts';
import { startLive } from '../use-cases/start-live.ts';
import { devicePath } from './parameters.ts';

const body = Type.Object(
  {
    channel: Type.Optional({ ...channel, default: 1 }),
    data_type: Type.Optional(dataType),
    stream_type: Type.Optional(
      realtimeStreamType('0 main stream (full quality), 1 sub stream (lower quality, less bandwidth).'),
    ),
    host: Type.Optional(host),
    tcp_port: Type.Optional(tcpPort),
    udp_port: Type.Optional(udpPort),
  },
  { title: 'StartStream' },
);

const response = Type.Object(
  {
    ...terminalGeneralResponse.properties,
    stream_url: Type.String({ description: 'URL of the stream.' }),
    token_expires_at: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
      description: 'Expiry of the token in stream_url; null: it has none.',
    }),
  },
  { title: 'StreamResponse', additionalProperties: false },
);

export const start = (deps: Deps) =>
  defineRoute({
    ...commandRoute(deps),
    scopes: ['video'],
    method: 'post',
    path: '/:imei/start',
    operationId: 'startStream',
    summary: 'Start a stream',
    description: 'Like /realtime/start-stream of the Device API; the response also contains the stream URL.',
    tags: ['Video service'],
    params: devicePath,
    body,
    bodyIsOptional: true,
    response,
    errors: { ...commandErrors, 413: 'The body is larger than 16 KiB.', 415: 'The body is not plain UTF-8.' },
    handle: async ({ params, body: asked, context }) => {
      const wanted = {
        imei: canonicalImei(params.imei),
        channel: asked.channel ?? 1,
        host: asked.host,
        tcpPort: asked.tcp_port,
        udpPort: asked.udp_port,
        dataType: asked.data_type ?? 0,
        streamType: asked.stream_type ?? 0,
      };
      const answer = await startLive(deps, wanted, commandContext(deps, context));
      const { protocol, host: authority } = context.request;
      return {
        ...shownAnswer(answer),
        stream_url: `${protocol}://${authority}/${params.imei}/${wanted.channel}/stream.flv`,
        token_expires_at: null,
      };
    },
  });
