import { defineRoute } from '@fleet/service-kit';
import { Type } from 'typebox';
import { canonicalImei } from '../access/admit.ts';
import type { Deps } from '../deps.ts';
import { startPlayback } from '../use-cases/start-playback.ts';
import { commandErrors, shownAnswer, terminalGeneralResponse } from './answers.ts';
import { commandContext, commandRoute } from './command-context.ts';
import {
  channel,
  choice,
  endTime,
  historyStreamType,
  host,
  imei,
  instant,
  memoryType,
  playbackSpeed,
  resourceType,
  startTime,
  tcpPort,
  udpPort,
} from './parameters.ts';

const query = Type.Object({
  imei,
  channel,
  start_time: startTime,
  end_time: endTime,
  resource_type: resourceType,
  stream_type: historyStreamType,
  memory_type: memoryType,
  host: Type.Optional(host),
  tcp_port: Type.Optional(tcpPort),
  udp_port: Type.Optional(udpPort),
  playback_mode: Type.Optional(
    choice([0, 1, 2, 3, 4], {
      default: 0,
      description:
        '0 normal, 1 fast forward, 2 keyframe rewind, 3 keyframes only, 4 single frame (the one at start_time; end_time does not count).',
    }),
  ),
  fast_forward_rewind_times: Type.Optional(playbackSpeed('Used with playback_mode 1 or 2.')),
});

export const historyStartStream = (deps: Deps) =>
  defineRoute({
    ...commandRoute(deps),
    method: 'get',
    path: '/history/start-stream',
    operationId: 'startHistoryStream',
    summary: 'Play a recording of a camera',
    description:
      'Runs beside live video of the same channel. A channel that plays a recording returns success and continues with that one.',
    tags: ['History playback'],
    query,
    response: terminalGeneralResponse,
    errors: commandErrors,
    handle: async ({ query: asked, context }) => {
      const wanted = {
        imei: canonicalImei(asked.imei),
        channel: asked.channel,
        startMs: instant('start_time', asked.start_time),
        endMs: instant('end_time', asked.end_time),
        resourceType: asked.resource_type,
        streamType: asked.stream_type,
        memoryType: asked.memory_type,
        host: asked.host,
        tcpPort: asked.tcp_port,
        udpPort: asked.udp_port,
        playbackMode: asked.playback_mode ?? 0,
        speed: asked.fast_forward_rewind_times ?? 0,
      };
      return shownAnswer(await startPlayback(deps, wanted, commandContext(deps, context)));
    },
  });
