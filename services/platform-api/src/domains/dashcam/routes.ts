import { singleSchema } from '@fleet/service-kit';
import { Type } from 'typebox';
import { type Caller, getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { recordId } from '../../platform/schemas.ts';
import { createStreamUrls } from '../video-access/stream-urls.ts';
import { playbackRoutes } from './playback-routes.ts';
import { getRecordings, recordingsQuery, recordingsSchema } from './recordings.ts';
import { toStreamResponse } from './responses.ts';
import {
  getStreamQuery,
  type StreamResponse,
  startStreamBody,
  stopStreamBody,
  streamResponseSchema,
} from './schema.ts';
import { sharedStreamRoute } from './shared-stream.ts';
import { getStream, startStream, stopStreams, type VehicleStream } from './use-cases.ts';

const tags = ['Media'];
const access = { permission: 'read', scope: 'video' } as const;
const params = Type.Object({ vehicleId: recordId });
/** Above the 90 seconds that a device has to respond. */
const timeoutMs = 95_000;

const deviceErrors = {
  403: 'The permission `live_video` on the vehicle is missing, or the API key has no scope video.',
  404: 'The vehicle is not visible, its device is not connected, or the camera is disabled.',
  429: 'Too many streams of the account, or of the device.',
  502: 'The camera refused, or its response could not be read.',
  504: 'The device did not respond within 90 seconds.',
} as const;

export function dashcamRoutes(deps: Deps): PlatformRoute[] {
  const respond = (
    caller: Caller,
    { vehicle, imei, state, mayTalk, isMainStream = false }: VehicleStream,
  ): StreamResponse =>
    toStreamResponse(
      vehicle,
      state,
      createStreamUrls(deps, caller, { imei, channel: state.channel, isMainStream, mayTalk }),
    );
  return [
    recordingsRoute(deps),
    sharedStreamRoute(deps),
    ...playbackRoutes(deps),
    platformRoute({
      method: 'post',
      path: '/vehicles/start-dashcam-stream/:vehicleId',
      operationId: 'startDashcamStream',
      summary: 'Start live video',
      description:
        'Requests live video from a camera and returns the URLs of the stream. A channel that already streams is returned as it is; another `stream_type` switches it for all viewers, and back 10 seconds after the last viewer has left who wanted `HIGH`. The stream ends 60 seconds after its last viewer has left.',
      tags,
      access,
      timeoutMs,
      params,
      body: startStreamBody,
      bodyIsOptional: true,
      response: singleSchema(streamResponseSchema),
      errors: deviceErrors,
      handle: async ({ params: { vehicleId }, body, context }) => {
        const caller = getCaller(context);
        const trace = { correlationId: context.requestId };
        return { data: respond(caller, await startStream(deps, caller, vehicleId, body, trace)) };
      },
    }),
    platformRoute({
      method: 'post',
      path: '/vehicles/stop-dashcam-stream/:vehicleId',
      operationId: 'stopDashcamStream',
      summary: 'Stop live video',
      description:
        'Stops the live video of one channel, or of all. A stream with other viewers continues and is returned with the status streaming, unless `force` is true.',
      tags,
      access,
      timeoutMs,
      params,
      body: stopStreamBody,
      bodyIsOptional: true,
      response: singleSchema(Type.Array(streamResponseSchema)),
      errors: { ...deviceErrors, 404: 'The vehicle is not visible, or the channel does not stream.' },
      handle: async ({ params: { vehicleId }, body, context }) => {
        const caller = getCaller(context);
        const streams = await stopStreams(deps, caller, vehicleId, body, { correlationId: context.requestId });
        return { data: streams.map((stream) => respond(caller, stream)) };
      },
    }),
    platformRoute({
      method: 'get',
      path: '/vehicles/:vehicleId/v2/get-dashcam-stream',
      operationId: 'getDashcamStream',
      summary: 'Get a live stream',
      description:
        'Returns the URLs and the state of the live video of a channel. Starts the stream if it does not run, unless `autoStart` is false.',
      tags,
      access,
      timeoutMs,
      allowHead: false,
      params,
      query: getStreamQuery,
      response: singleSchema(streamResponseSchema),
      errors: deviceErrors,
      handle: async ({ params: { vehicleId }, query, context }) => {
        const caller = getCaller(context);
        const trace = { correlationId: context.requestId };
        return { data: respond(caller, await getStream(deps, caller, vehicleId, query, trace)) };
      },
    }),
  ];
}

const recordingsRoute = (deps: Deps): PlatformRoute =>
  platformRoute({
    method: 'get',
    path: '/vehicles/:vehicleId/recordings',
    operationId: 'listRecordings',
    summary: 'List recordings on the cameras',
    description:
      'Returns the stored copy of the last lists of the cameras, also while the vehicle is offline. With `refresh=true` the camera is queried first, and its list replaces the copy.',
    tags,
    access,
    timeoutMs,
    allowHead: false,
    params,
    query: recordingsQuery,
    response: singleSchema(recordingsSchema),
    errors: {
      403: 'The permission `history_video` on the vehicle is missing, or the API key has no scope video.',
      404: 'The vehicle is not visible or, with `refresh`, its device is not connected or the camera is disabled.',
      502: 'The camera refused, or its response could not be read.',
      504: 'The device did not respond within 90 seconds.',
    },
    handle: async ({ params: { vehicleId }, query, context }) => ({
      data: await getRecordings(deps, getCaller(context), vehicleId, query, { correlationId: context.requestId }),
    }),
  });
