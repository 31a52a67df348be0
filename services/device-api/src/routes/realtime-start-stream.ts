import { defineRoute } from '@fleet/service-kit';
import { Type } from 'typebox';
import { toAvailableDataType } from '../access/cameras.ts';
import { canonicalImei } from '../access/device-authorizer.ts';
import type { Deps } from '../deps.ts';
import { startLive } from '../use-cases/start-live.ts';
import { commandRouteDefaults, createCommandContext } from './command-context.ts';
import { channel, dataType, host, imei, realtimeStreamTypeSchema, tcpPort, udpPort } from './parameters.ts';
import { commandErrors, terminalGeneralResponse, toGeneralResponseBody } from './responses.ts';

const query = Type.Object({
  imei,
  channel,
  host: Type.Optional(host),
  tcp_port: Type.Optional(tcpPort),
  udp_port: Type.Optional(udpPort),
  data_type: Type.Optional(dataType),
  stream_type: Type.Optional(
    realtimeStreamTypeSchema('0 main stream (full quality), 1 sub stream (lower quality, less bandwidth).'),
  ),
});

export const realtimeStartStream = (deps: Deps) =>
  defineRoute({
    ...commandRouteDefaults(deps),
    method: 'get',
    path: '/realtime/start-stream',
    operationId: 'startRealtimeStream',
    summary: 'Start live video of a camera',
    description: 'A streaming channel returns success and is not disturbed.',
    tags: ['Realtime playback'],
    query,
    response: terminalGeneralResponse,
    errors: commandErrors,
    handle: async ({ query: input, context }) => {
      const imei = canonicalImei(input.imei);
      const access = await deps.guard.findAccess(imei, { errors: commandErrors }, context);
      const request = {
        imei,
        channel: input.channel,
        host: input.host,
        tcpPort: input.tcp_port,
        udpPort: input.udp_port,
        dataType: toAvailableDataType(access, input.channel, input.data_type ?? 0),
        streamType: input.stream_type ?? 0,
      };
      return toGeneralResponseBody(await startLive(deps, request, createCommandContext(deps, context)));
    },
  });
