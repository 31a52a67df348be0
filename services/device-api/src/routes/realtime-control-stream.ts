import { defineRoute } from '@fleet/service-kit';
import { Type } from 'typebox';
import { canonicalImei } from '../access/device-authorizer.ts';
import type { Deps } from '../deps.ts';
import { controlLive } from '../use-cases/control-live.ts';
import { commandRouteDefaults, createCommandContext } from './command-context.ts';
import { channel, choiceSchema, imei, realtimeStreamTypeSchema } from './parameters.ts';
import { commandErrors, terminalGeneralResponse, toGeneralResponseBody } from './responses.ts';

const query = Type.Object({
  imei,
  channel,
  ctrl_instruction: choiceSchema([0, 1, 2, 3, 4], {
    description:
      '0 stop (what stops is set by close_stream_type), 1 switch between main and sub stream, 2 pause, 3 resume, 4 end the two-way intercom.',
  }),
  close_stream_type: Type.Optional(
    choiceSchema([0, 1, 2], {
      default: 0,
      description: '0 audio and video, 1 audio only, 2 video only. Used with ctrl_instruction 0.',
    }),
  ),
  stream_type: Type.Optional(
    realtimeStreamTypeSchema('The stream to switch to: 0 main stream, 1 sub stream. Used with ctrl_instruction 1.'),
  ),
});

export const realtimeControlStream = (deps: Deps) =>
  defineRoute({
    ...commandRouteDefaults(deps),
    method: 'get',
    path: '/realtime/control-stream',
    operationId: 'controlRealtimeStream',
    summary: 'Control live video of a camera',
    description: "Stops, switches, pauses or resumes. Returns the device's result; a refused command changes nothing.",
    tags: ['Realtime playback'],
    query,
    response: terminalGeneralResponse,
    errors: commandErrors,
    handle: async ({ query: input, context }) => {
      const request = {
        imei: canonicalImei(input.imei),
        channel: input.channel,
        control: input.ctrl_instruction,
        closeType: input.close_stream_type ?? 0,
        streamType: input.stream_type ?? 0,
      };
      return toGeneralResponseBody(await controlLive(deps, request, createCommandContext(deps, context)));
    },
  });
