import { defineRoute } from '@fleet/service-kit';
import { Type } from 'typebox';
import { canonicalImei } from '../access/admit.ts';
import type { Deps } from '../deps.ts';
import { startLive } from '../use-cases/start-live.ts';
import { commandErrors, shownAnswer, terminalGeneralResponse } from './answers.ts';
import { commandContext, commandRoute } from './command-context.ts';
import { channel, dataType, host, imei, realtimeStreamType, tcpPort, udpPort } from './parameters.ts';

const query = Type.Object({
  imei,
  channel,
  host: Type.Optional(host),
  tcp_port: Type.Optional(tcpPort),
  udp_port: Type.Optional(udpPort),
  data_type: Type.Optional(dataType),
  stream_type: Type.Optional(
    realtimeStreamType('0 main stream (full quality), 1 sub stream (lower quality, less bandwidth).'),
  ),
});

export const realtimeStartStream = (deps: Deps) =>
  defineRoute({
    ...commandRoute(deps),
    method: 'get',
    path: '/realtime/start-stream',
    operationId: 'startRealtimeStream',
    summary: 'Start live video of a camera',
    description: 'A streaming channel returns success and is not disturbed.',
    tags: ['Realtime playback'],
    query,
    response: terminalGeneralResponse,
    errors: commandErrors,
    handle: async ({ query: asked, context }) => {
      const wanted = {
        imei: canonicalImei(asked.imei),
        channel: asked.channel,
        host: asked.host,
        tcpPort: asked.tcp_port,
        udpPort: asked.udp_port,
        dataType: asked.data_type ?? 0,
        streamType: asked.stream_type ?? 0,
      };
      return shownAnswer(await startLive(deps, wanted, commandContext(deps, context)));
    },
  });
