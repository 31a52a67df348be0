import type { CaptureOptions } from '@fleet/bus';
import { Reply, singleSchema } from '@fleet/service-kit';
import { type Caller, getCaller } from '../../access/caller.ts';
import { type PlatformRoute, platformRoute } from '../../access/platform-route.ts';
import type { Deps } from '../../platform/deps.ts';
import { vehicleIdParams } from '../../platform/schemas.ts';
import { audit } from '../audit/use-cases.ts';
import { noSubscription } from '../billing/schema.ts';
import { mediaUrlBuilder } from '../media/urls.ts';
import { visibleVehicle } from '../vehicles/visibility.ts';
import { toCaptureResponse } from './responses.ts';
import { type CaptureQuery, captureParams, captureQuery, captureResponseSchema } from './schema.ts';
import { readCapture, startCapture, waitForCapture } from './use-cases.ts';

const tags = ['Media'];
/** The permissions on the vehicle decide: a share may grant them to any role. */
const access = { permission: 'read', scope: 'video' } as const;
/** Above the times that a device has to wake up and to respond. */
const timeoutMs = 110_000;
const defaultWaitSeconds = 20;

export const captureRoutes = (deps: Deps): PlatformRoute[] => [
  platformRoute({
    method: 'post',
    path: '/vehicles/:vehicleId/dashcam-media-capture',
    operationId: 'captureDashcamMedia',
    summary: 'Take pictures, or record a clip',
    description:
      'Requests pictures from a camera, or records live video, and waits for the files. If the terminal cannot take pictures, one frame of live video is recorded instead; `method` says which. A capture that is pending after `wait` continues; read it at `Location`, or wait for the `media` events of the websocket.',
    tags,
    access,
    isIdempotent: true,
    timeoutMs,
    params: vehicleIdParams,
    query: captureQuery,
    response: singleSchema(captureResponseSchema),
    extraSuccesses: { 200: 'The pictures have arrived.', 202: 'Pending; `Location` is the path of the capture.' },
    errors: {
      402: noSubscription,
      403: 'The permission `commands` on the vehicle is missing, or the API key has no scope video.',
      404: 'The vehicle is not visible, its device is not connected, or the camera is disabled.',
      429: 'Too many captures of the vehicle, or the device is busy.',
      502: 'The device has no such camera, or neither a picture nor live video could be captured.',
      504: 'The device did not wake up within 90 seconds.',
    },
    handle: async ({ params: { vehicleId }, query, context }) => {
      const caller = getCaller(context);
      const { vehicle, permissions } = await visibleVehicle(deps, caller, vehicleId, 'commands');
      const started = await startCapture(deps, vehicle, {
        options: toOptions(query),
        requestedBy: caller.userId,
        trace: { correlationId: context.requestId },
        context,
      });
      const target = { type: 'captures', id: started.captureId };
      const detail = { vehicle_id: vehicleId, channel_id: started.channelId, quality: started.quality };
      await audit(deps, { ...caller, accountId: vehicle.accountId }, 'media.capture', target, detail);
      const capture = await waitForCapture(deps, started, (query.wait ?? defaultWaitSeconds) * 1000);
      const data = await toCaptureResponse(deps, capture, urlBuilderFor(deps, caller, permissions));
      if (capture.status !== 'pending') return { data };
      return new Reply(202, { data }, { Location: `/api/dashcam-captures/${capture.captureId}` });
    },
  }),
  platformRoute({
    method: 'get',
    path: '/dashcam-captures/:captureId',
    operationId: 'getDashcamCapture',
    summary: 'Get a capture',
    description: 'Returns a capture and the files that have arrived.',
    tags,
    access,
    params: captureParams,
    response: singleSchema(captureResponseSchema),
    errors: { 403: 'The permission `history_video` or `commands` on the vehicle is missing.' },
    handle: async ({ params: { captureId }, context }) => {
      const caller = getCaller(context);
      const { capture, permissions } = await readCapture(deps, caller, captureId);
      return { data: await toCaptureResponse(deps, capture, urlBuilderFor(deps, caller, permissions)) };
    },
  }),
];

const toOptions = ({
  channel_id: channel = 1,
  kind = 'photo',
  quality = 'MEDIUM',
  count = 1,
  duration_seconds: durationSeconds = 10,
  wake = true,
}: CaptureQuery) => ({
  channel,
  kind,
  quality: quality.toUpperCase() as CaptureOptions['quality'],
  count,
  intervalSeconds: 0,
  durationSeconds,
  wake,
});

const urlBuilderFor = (deps: Deps, caller: Caller, permissions: readonly string[]): ((id: number) => string) | null =>
  permissions.includes('history_video') ? mediaUrlBuilder(deps, caller.userId) : null;
