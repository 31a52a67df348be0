import { defineRoute } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import { canonicalImei } from '../access/device-authorizer.ts';
import type { Deps } from '../deps.ts';
import { commandRouteDefaults, createCommandContext } from '../routes/command-context.ts';
import { channel, dataType, host, realtimeStreamTypeSchema, tcpPort, udpPort } from '../routes/parameters.ts';
import { commandErrors, terminalGeneralResponse, toGeneralResponseBody } from '../routes/responses.ts';
import { startLive } from '../use-cases/start-live.ts';
import { namesMediaServer } from './media-server-fields.ts';
import { devicePath } from './parameters.ts';
import { createStreamUrl, createTalkUrl, streamUrlFields } from './stream-url.ts';

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
    ...streamUrlFields,
    talk_url: Type.Union([Type.String(), Type.Null()], {
      description: 'Address of the websocket to talk to the driver; null for callers who may not talk.',
      examples: ['wss://video.example.com/013800138000/1/talk?token=eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl'],
    }),
  },
  { title: 'StreamResponse', additionalProperties: false },
);

/** Talking and listening, and another media server, need the right of commands. */
const isWatching = (input: Static<typeof body>): boolean => (input.data_type ?? 0) <= 1 && !namesMediaServer(input);

export const start = (deps: Deps) =>
  defineRoute({
    ...commandRouteDefaults(deps),
    scopes: ['video'],
    requiredRight: ({ body: input }) => (isWatching(input as Static<typeof body>) ? 'live' : 'command'),
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
      const access = await deps.guard.findAccess(request.imei, { errors: commandErrors }, context);
      const mayTalk = access === undefined || access?.rights.command === true;
      const stream = { imei: params.imei, channel: request.channel, kind: 'live' } as const;
      return {
        ...toGeneralResponseBody(generalResponse),
        ...createStreamUrl(deps, stream, context),
        talk_url: mayTalk ? createTalkUrl(deps, stream, context) : null,
      };
    },
  });
