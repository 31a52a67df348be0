import { defineRoute } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import { nameCaller } from '../access/caller-name.ts';
import { toAvailableDataType } from '../access/cameras.ts';
import { canonicalImei } from '../access/device-authorizer.ts';
import type { Deps } from '../deps.ts';
import { commandRouteDefaults, createCommandContext } from '../routes/command-context.ts';
import { channel as channelSchema, dataType as dataTypeSchema, host, tcpPort, udpPort } from '../routes/parameters.ts';
import { bodyErrors, terminalGeneralResponse, toGeneralResponseBody } from '../routes/responses.ts';
import { startLive } from '../use-cases/start-live.ts';
import { namesMediaServer } from './media-server-fields.ts';
import { devicePath } from './parameters.ts';
import { createStreamUrl, createTalkUrl, streamUrlFields } from './stream-url.ts';

const body = Type.Object(
  {
    channel: Type.Optional({ ...channelSchema, default: 1 }),
    data_type: Type.Optional(dataTypeSchema),
    // Without a default: a running stream is switched only to a given type.
    stream_type: Type.Optional(
      Type.Integer({
        enum: [0, 1],
        description:
          '0 main stream (full quality), 1 sub stream (lower quality, less bandwidth). By default 0, or that of the running stream. Another type than that of the running stream switches it for all viewers; it returns to the sub stream 10 seconds after the last viewer has left who wanted the main stream.',
      }),
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

/** JT/T 1078-2016 table 17: audio and video, or video only. Higher ones are for talking and listening. */
const lastWatchedDataType = 1;

// Talking and listening, and another media server, need the right of commands.
const isWatching = (input: Static<typeof body>): boolean =>
  (input.data_type ?? 0) <= lastWatchedDataType && !namesMediaServer(input);

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
    errors: { ...bodyErrors, 404: 'The device is not connected, or the camera is disabled.' },
    handle: async ({ params, body: input, context }) => {
      const imei = canonicalImei(params.imei);
      const { channel = 1, data_type: dataType = 0 } = input;
      const access = await deps.guard.findAccess(imei, { errors: bodyErrors }, context);
      const request = {
        imei,
        channel,
        host: input.host,
        tcpPort: input.tcp_port,
        udpPort: input.udp_port,
        dataType: toAvailableDataType(access, channel, dataType),
        streamType: input.stream_type ?? 0,
        ...(input.stream_type === undefined || dataType > lastWatchedDataType
          ? {}
          : { switchedBy: nameCaller(deps.guard.getCaller(context)) }),
      };
      const generalResponse = await startLive(deps, request, createCommandContext(deps, context));
      const mayTalk = access === undefined || access?.rights.command === true;
      const isMainStream = input.stream_type === 0;
      const stream = { imei: params.imei, channel, kind: 'live', isMainStream } as const;
      return {
        ...toGeneralResponseBody(generalResponse),
        ...createStreamUrl(deps, stream, context),
        talk_url: mayTalk ? createTalkUrl(deps, stream, context) : null,
      };
    },
  });
