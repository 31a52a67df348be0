import { defineRoute } from '@fleet/service-kit';
import { Type } from 'typebox';
import { canonicalImei } from '../access/admit.ts';
import type { Deps } from '../deps.ts';
import { controlPlayback } from '../use-cases/control-playback.ts';
import { commandErrors, shownAnswer, terminalGeneralResponse } from './answers.ts';
import { commandContext, commandRoute } from './command-context.ts';
import { channel, choice, imei, instant, playbackSpeed, time } from './parameters.ts';

const query = Type.Object({
  imei,
  channel,
  playback_control: choice([0, 1, 2, 3, 4, 5, 6], {
    description:
      '0 play, 1 pause, 2 stop, 3 fast forward, 4 keyframe rewind, 5 seek to drag_playback_time, 6 keyframe play.',
  }),
  fast_forward_rewind_times: Type.Optional(playbackSpeed('Used with playback_control 3 or 4.')),
  drag_playback_time: Type.Optional(
    time('Position of the seek; required with playback_control 5, and used only with that.'),
  ),
});

export const historyControlStream = (deps: Deps) =>
  defineRoute({
    ...commandRoute(deps),
    method: 'get',
    path: '/history/control-stream',
    operationId: 'controlHistoryStream',
    summary: 'Control playback of a recording',
    description: 'Pauses, seeks, speeds up or stops. Viewers stay connected. After a stop, stream.flv is 404.',
    tags: ['History playback'],
    query,
    response: terminalGeneralResponse,
    errors: commandErrors,
    handle: async ({ query: asked, context }) => {
      const seekTime = asked.drag_playback_time;
      const wanted = {
        imei: canonicalImei(asked.imei),
        channel: asked.channel,
        control: asked.playback_control,
        speed: asked.fast_forward_rewind_times ?? 0,
        seekMs: seekTime === undefined ? undefined : instant('drag_playback_time', seekTime),
      };
      return shownAnswer(await controlPlayback(deps, wanted, commandContext(deps, context)));
    },
  });
