import { defineRoute } from '@fleet/service-kit';
import { Type } from 'typebox';
import type { Deps } from '../deps.ts';
import { commandRouteDefaults, createCommandContext } from '../routes/command-context.ts';
import { playbackParameters, toPlaybackRequest } from '../routes/history-start-stream.ts';
import { bodyErrors, terminalGeneralResponse, toGeneralResponseBody } from '../routes/responses.ts';
import { startPlayback } from '../use-cases/start-playback.ts';
import { type MediaServerFields, namesMediaServer } from './media-server-fields.ts';
import { devicePath } from './parameters.ts';
import { createStreamUrl, streamUrlFields } from './stream-url.ts';

const response = Type.Object(
  { ...terminalGeneralResponse.properties, ...streamUrlFields },
  { title: 'PlaybackResponse', additionalProperties: false },
);

export const historyStart = (deps: Deps) =>
  defineRoute({
    ...commandRouteDefaults(deps),
    scopes: ['video'],
    requiredRight: ({ body }) => (namesMediaServer(body as MediaServerFields) ? 'command' : 'history'),
    method: 'post',
    path: '/:imei/history/start',
    operationId: 'startPlayback',
    summary: 'Play a recording of a camera',
    description:
      'Like /history/start-stream of the Device API, with the parameters in the body; the response also contains the stream URL.',
    tags: ['Video service'],
    params: devicePath,
    body: Type.Object(playbackParameters, { title: 'StartPlayback' }),
    response,
    errors: bodyErrors,
    handle: async ({ params, body, context }) => {
      const request = toPlaybackRequest({ ...body, imei: params.imei });
      const generalResponse = await startPlayback(deps, request, createCommandContext(deps, context));
      const stream = { imei: params.imei, channel: body.channel, kind: 'history' } as const;
      return { ...toGeneralResponseBody(generalResponse), ...createStreamUrl(deps, stream, context) };
    },
  });
