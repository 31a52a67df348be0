import { singleSchema } from '@fleet/service-kit';
import { getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { vehicleIdParams } from '../../platform/schemas.ts';
import { controlPlayback, getPlayback, startPlayback } from './playback.ts';
import { controlPlaybackBody, playbackQuery, startPlaybackBody } from './playback-schema.ts';
import { playbackResponseSchema } from './schema.ts';

const tags = ['Media'];
const access = { permission: 'read', scope: 'video' } as const;
const path = '/vehicles/:vehicleId/dashcam-playback';
/** Above the 90 seconds that a device has to respond. */
const timeoutMs = 95_000;
const errors = {
  403: 'The permission `history_video` on the vehicle is missing, or the API key has no scope video.',
  404: 'The vehicle is not visible, its device is not connected, the camera is disabled, or it plays no recording.',
  409: 'The camera plays a recording for another user.',
  429: 'Too many streams of the account, or of the device.',
  502: 'The camera refused, or its response could not be read.',
  504: 'The device did not respond within 90 seconds.',
} as const;

export const playbackRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'post',
    path,
    operationId: 'startDashcamPlayback',
    summary: 'Play a recording of a camera',
    description:
      'Plays a recording over the air and returns its URLs. A channel plays one recording at a time: the same window is returned as it is. `stream` events with `kind: history` report the position each second.',
    tags,
    access,
    timeoutMs,
    params: vehicleIdParams,
    body: startPlaybackBody,
    response: singleSchema(playbackResponseSchema),
    errors,
    handle: async ({ params: { vehicleId }, body, context }) => ({
      data: await startPlayback(deps, getCaller(context), vehicleId, body, { correlationId: context.requestId }),
    }),
  }),
  platformRoute({
    method: 'get',
    path,
    operationId: 'getDashcamPlayback',
    summary: 'Get the recording being played',
    description: 'Returns the window, the position, who started it, and URLs to watch along.',
    tags,
    access,
    params: vehicleIdParams,
    query: playbackQuery,
    response: singleSchema(playbackResponseSchema),
    errors: { 403: errors[403], 404: errors[404] },
    handle: async ({ params: { vehicleId }, query, context }) => ({
      data: await getPlayback(deps, getCaller(context), vehicleId, query.channel_id ?? 1),
    }),
  }),
  platformRoute({
    method: 'post',
    path: `${path}/control`,
    operationId: 'controlDashcamPlayback',
    summary: 'Control the recording being played',
    description: 'Pauses, continues, speeds up, seeks or stops the recording that the caller started.',
    tags,
    access,
    timeoutMs,
    params: vehicleIdParams,
    body: controlPlaybackBody,
    response: singleSchema(playbackResponseSchema),
    errors,
    handle: async ({ params: { vehicleId }, body, context }) => ({
      data: await controlPlayback(deps, getCaller(context), vehicleId, body, { correlationId: context.requestId }),
    }),
  }),
];
