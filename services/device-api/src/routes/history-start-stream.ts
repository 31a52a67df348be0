import { defineRoute } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import { canonicalImei } from '../access/device-authorizer.ts';
import type { Deps } from '../deps.ts';
import { type StartPlaybackRequest, startPlayback } from '../use-cases/start-playback.ts';
import { commandRouteDefaults, createCommandContext } from './command-context.ts';
import {
  channel,
  choiceSchema,
  endTime,
  historyStreamType,
  host,
  imei,
  memoryType,
  parseTimeParameter,
  playbackSpeedSchema,
  resourceType,
  startTime,
  tcpPort,
  udpPort,
} from './parameters.ts';
import { commandErrors, terminalGeneralResponse, toGeneralResponseBody } from './responses.ts';

/** Parameters in addition to the device. */
export const playbackParameters = {
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
    choiceSchema([0, 1, 2, 3, 4], {
      default: 0,
      description:
        '0 normal, 1 fast forward, 2 keyframe rewind, 3 keyframes only, 4 single frame (the one at start_time; end_time does not count).',
    }),
  ),
  fast_forward_rewind_times: Type.Optional(playbackSpeedSchema('Used with playback_mode 1 or 2.')),
};
const query = Type.Object({ imei, ...playbackParameters });

/** Maps the parameters to names in code; throws 400 for an invalid time. */
export const toPlaybackRequest = (input: Static<typeof query>): StartPlaybackRequest => ({
  imei: canonicalImei(input.imei),
  channel: input.channel,
  startMs: parseTimeParameter('start_time', input.start_time),
  endMs: parseTimeParameter('end_time', input.end_time),
  resourceType: input.resource_type,
  streamType: input.stream_type,
  memoryType: input.memory_type,
  host: input.host,
  tcpPort: input.tcp_port,
  udpPort: input.udp_port,
  playbackMode: input.playback_mode ?? 0,
  speed: input.fast_forward_rewind_times ?? 0,
});

export const historyStartStream = (deps: Deps) =>
  defineRoute({
    ...commandRouteDefaults(deps),
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
    handle: async ({ query: input, context }) =>
      toGeneralResponseBody(await startPlayback(deps, toPlaybackRequest(input), createCommandContext(deps, context))),
  });
