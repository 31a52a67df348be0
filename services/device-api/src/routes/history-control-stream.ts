import { defineRoute } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import { canonicalImei } from '../access/device-authorizer.ts';
import type { Deps } from '../deps.ts';
import { type ControlPlaybackRequest, controlPlayback } from '../use-cases/control-playback.ts';
import { commandRouteDefaults, createCommandContext } from './command-context.ts';
import { channel, choiceSchema, imei, parseTimeParameter, playbackSpeedSchema, timeSchema } from './parameters.ts';
import { commandErrors, terminalGeneralResponse, toGeneralResponseBody } from './responses.ts';

/** Parameters in addition to the device. */
export const playbackControlParameters = {
  channel,
  playback_control: choiceSchema([0, 1, 2, 3, 4, 5, 6], {
    description:
      '0 play, 1 pause, 2 stop, 3 fast forward, 4 keyframe rewind, 5 seek to drag_playback_time, 6 keyframe play.',
  }),
  fast_forward_rewind_times: Type.Optional(playbackSpeedSchema('Used with playback_control 3 or 4.')),
  drag_playback_time: Type.Optional(
    timeSchema('Position of the seek; required with playback_control 5, and used only with that.'),
  ),
};
const query = Type.Object({ imei, ...playbackControlParameters });

/** Maps the parameters to names in code; throws 400 for an invalid time. */
export const toPlaybackControlRequest = (input: Static<typeof query>): ControlPlaybackRequest => ({
  imei: canonicalImei(input.imei),
  channel: input.channel,
  control: input.playback_control,
  speed: input.fast_forward_rewind_times ?? 0,
  seekMs:
    input.drag_playback_time === undefined
      ? undefined
      : parseTimeParameter('drag_playback_time', input.drag_playback_time),
});

export const historyControlStream = (deps: Deps) =>
  defineRoute({
    ...commandRouteDefaults(deps),
    method: 'get',
    path: '/history/control-stream',
    operationId: 'controlHistoryStream',
    summary: 'Control playback of a recording',
    description: 'Pauses, seeks, speeds up or stops. Viewers stay connected. After a stop, stream.flv is 404.',
    tags: ['History playback'],
    query,
    response: terminalGeneralResponse,
    errors: commandErrors,
    handle: async ({ query: input, context }) => {
      const request = toPlaybackControlRequest(input);
      return toGeneralResponseBody(await controlPlayback(deps, request, createCommandContext(deps, context)));
    },
  });
