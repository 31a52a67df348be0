import { defineRoute } from '@fleet/service-kit';
import { Type } from 'typebox';
import { canonicalImei } from '../access/device-authorizer.ts';
import type { Deps } from '../deps.ts';
import { commandRouteDefaults, createCommandContext } from '../routes/command-context.ts';
import { channel, dataType, host, realtimeStreamTypeSchema, tcpPort, udpPort } from '../routes/parameters.ts';
import { commandErrors, terminalGeneralResponse, toGeneralResponseBody } from '../routes/responses.ts';
import { startLive } from '../use-cases/start-live.ts';
import { devicePath } from './parameters.ts';

const body = Type.Object(
  {
    channel: Type.Optional({ ...channel, default: 1 }),
    data_type: Type.Optional(dataType),
    stream_type: Type.Optional(
      realtimeStreamTypeSchema('0 main stream (full quality), 1 sub stream (lower quality, less bandwidth).'),
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
    ...commandRouteDefaults(deps),
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
    handle: async ({ params, body: input, context }) => {
      const request = {
        imei: canonicalImei(params.imei),
        channel: input.channel ?? 1,
        host: input.host,
        tcpPort: input.tcp_port,
        udpPort: input.udp_port,
        dataType: input.data_type ?? 0,
        streamType: input.stream_type ?? 0,
      };
      const generalResponse = await startLive(deps, request, createCommandContext(deps, context));
      const { protocol, host: authority } = context.request;
      return {
        ...toGeneralResponseBody(generalResponse),
        stream_url: `${protocol}://${authority}/${params.imei}/${request.channel}/stream.flv`,
        token_expires_at: null,
      };
    },
  });
