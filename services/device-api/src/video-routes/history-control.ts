import { defineRoute } from '@fleet/service-kit';
import { Type } from 'typebox';
import type { Deps } from '../deps.ts';
import { commandRouteDefaults, createCommandContext } from '../routes/command-context.ts';
import { playbackControlParameters, toPlaybackControlRequest } from '../routes/history-control-stream.ts';
import { bodyErrors, terminalGeneralResponse, toGeneralResponseBody } from '../routes/responses.ts';
import { controlPlayback } from '../use-cases/control-playback.ts';
import { devicePath } from './parameters.ts';

export const historyControl = (deps: Deps) =>
  defineRoute({
    ...commandRouteDefaults(deps),
    scopes: ['video'],
    requiredRight: () => 'history',
    method: 'post',
    path: '/:imei/history/control',
    operationId: 'controlPlayback',
    summary: 'Control playback of a recording',
    description: 'Like /history/control-stream of the Device API, with the parameters in the body.',
    tags: ['Video service'],
    params: devicePath,
    body: Type.Object(playbackControlParameters, { title: 'ControlPlayback' }),
    response: terminalGeneralResponse,
    errors: bodyErrors,
    handle: async ({ params, body, context }) => {
      const request = toPlaybackControlRequest({ ...body, imei: params.imei });
      return toGeneralResponseBody(await controlPlayback(deps, request, createCommandContext(deps, context)));
    },
  });
