import { defineRoute } from '@fleet/service-kit';
import { Type } from 'typebox';
import { canonicalImei } from '../access/admit.ts';
import type { Deps } from '../deps.ts';
import { controlLive } from '../use-cases/control-live.ts';
import { commandErrors, shownAnswer, terminalGeneralResponse } from './answers.ts';
import { commandContext, commandRoute } from './command-context.ts';
import { channel, choice, imei, realtimeStreamType } from './parameters.ts';

const query = Type.Object({
  imei,
  channel,
  ctrl_instruction: choice([0, 1, 2, 3, 4], {
    description:
      '0 stop (what stops is set by close_stream_type), 1 switch between main and sub stream, 2 pause, 3 resume, 4 end the two-way intercom.',
  }),
  close_stream_type: Type.Optional(
    choice([0, 1, 2], {
      default: 0,
      description: '0 audio and video, 1 audio only, 2 video only. Used with ctrl_instruction 0.',
    }),
  ),
  stream_type: Type.Optional(
    realtimeStreamType('The stream to switch to: 0 main stream, 1 sub stream. Used with ctrl_instruction 1.'),
  ),
});

export const realtimeControlStream = (deps: Deps) =>
  defineRoute({
    ...commandRoute(deps),
    method: 'get',
    path: '/realtime/control-stream',
    operationId: 'controlRealtimeStream',
    summary: 'Control live video of a camera',
    description: "Stops, switches, pauses or resumes. Returns the device's result; a refused command changes nothing.",
    tags: ['Realtime playback'],
    query,
    response: terminalGeneralResponse,
    errors: commandErrors,
    handle: async ({ query: asked, context }) => {
      const wanted = {
        imei: canonicalImei(asked.imei),
        channel: asked.channel,
        control: asked.ctrl_instruction,
        closeType: asked.close_stream_type ?? 0,
        streamType: asked.stream_type ?? 0,
      };
      return shownAnswer(await controlLive(deps, wanted, commandContext(deps, context)));
    },
  });
