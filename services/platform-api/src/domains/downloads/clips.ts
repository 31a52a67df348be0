import { callUseCase, deviceApi } from '@fleet/bus';
import { AppError, minuteMs, validationError } from '@fleet/service-kit';
import { type ListedUpload, UploadList } from '@fleet/storage';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { parseTimestamp } from '../../platform/timestamps.ts';
import { audit } from '../audit/use-cases.ts';
import { assertSubscriptions } from '../billing/subscriptions.ts';
import { callDevice, type RequestTrace } from '../dashcam/call-device.ts';
import { requireCamera } from '../dashcam/use-cases.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { visibleVehicle } from '../vehicles/visibility.ts';
import type { Download } from './responses.ts';
import { type ControlDownloadBody, networks, type RequestDownloadBody } from './schema.ts';
import { joinDownload } from './use-cases.ts';

type ClipDeps = Pick<Deps, 'bus' | 'config' | 'database' | 'log' | 'records' | 'redis'>;

/** A clip is at most this long: cameras cut longer ones into files, of which one upload has only some. */
const longestClipMs = 60 * minuteMs;
/** Any kind of media, stream and storage (JT/T 1078-2016 table 30). */
const anyMedia = { mediaType: 3, streamType: 0, storageType: 0, alarmFlags: '0' } as const;
/** Actions of 0x9207. */
const actions = { pause: 0, resume: 1, cancel: 2 } as const;

/**
 * Requests a clip from a camera (0x9206). Returns the existing upload of a clip that has one. The permissions are those
 * of the upload of the Device API: `history_video`, and `commands`, because the camera sends data that costs.
 */
export async function requestDownload(
  deps: ClipDeps,
  caller: Caller,
  body: RequestDownloadBody,
  trace: RequestTrace,
): Promise<Download> {
  const { vehicle } = await findCommandable(deps, caller, body.vehicle_id);
  const { imei } = requireCamera(vehicle, body.channel_id);
  const span = toClipSpan(body);
  await assertSubscriptions(deps, vehicle, [vehicle._id]);
  const request = {
    imei,
    channel: body.channel_id,
    ...span,
    ...anyMedia,
    conditions: toConditions(body.networks ?? networks),
    requestedBy: caller.userId,
  };
  const { videoId } = await callDevice(
    (options) => callUseCase(deps.bus, deviceApi.requestUpload, request, options),
    trace,
  );
  const detail = { channel_id: body.channel_id, video_id: videoId };
  await audit(deps, caller, 'media.request', { type: 'vehicles', id: vehicle._id }, detail);
  return joinDownload(deps, vehicle, await findListed(deps, videoId));
}

/** Pauses, resumes or cancels an upload (0x9207). Throws 409 if the action does not fit its status. */
export async function controlDownload(
  deps: ClipDeps,
  caller: Caller,
  videoId: string,
  { action }: ControlDownloadBody,
  trace: RequestTrace,
): Promise<Download> {
  const upload = await findListed(deps, videoId);
  const { vehicle } = await findCommandable(deps, caller, upload.vehicleId ?? 0).catch((error: unknown) => {
    throw error instanceof AppError && error.status === 404 ? notFoundError(videoId) : error;
  });
  if (upload.accountId !== vehicle.accountId) throw notFoundError(videoId);
  const command = { videoId, action: actions[action] };
  const { status } = await callDevice(
    (options) => callUseCase(deps.bus, deviceApi.controlUpload, command, options),
    trace,
  );
  if (status === upload.status)
    throw new AppError('upstream_error', `The camera refused to ${action} the upload, which is ${status}.`);
  await audit(deps, caller, `media.${action}`, { type: 'uploads', id: upload.number }, { vehicle_id: vehicle._id });
  return joinDownload(deps, vehicle, await findListed(deps, videoId));
}

/** Returns a vehicle whose recordings the caller may see and whose camera he may command; throws 404 or 403 otherwise. */
async function findCommandable(deps: ClipDeps, caller: Caller, vehicleId: number): Promise<{ vehicle: Vehicle }> {
  const { vehicle, permissions } = await visibleVehicle(deps, caller, vehicleId);
  const missing = (['history_video', 'commands'] as const).find((permission) => !permissions.includes(permission));
  if (missing === undefined) return { vehicle };
  throw new AppError('permission_denied', `Vehicle ${vehicleId} is visible, but the permission ${missing} is missing.`);
}

async function findListed({ database }: Pick<Deps, 'database'>, videoId: string): Promise<ListedUpload> {
  const upload = await new UploadList(database).findListed(videoId);
  if (upload === null || upload.vehicleId === null) throw notFoundError(videoId);
  return upload;
}

/** Cameras know whole seconds. Throws 400 for an empty or too long clip, or one in the future. */
function toClipSpan({ from, to }: RequestDownloadBody): { readonly startMs: number; readonly endMs: number } {
  const fromMs = parseTimestamp(from, 'from')?.getTime() ?? 0;
  const toMs = parseTimestamp(to, 'to')?.getTime() ?? 0;
  if (toMs <= fromMs) throw validationError([{ path: '/to', message: 'must be after from' }]);
  if (toMs - fromMs > longestClipMs)
    throw validationError([{ path: '/to', message: 'must be at most 60 minutes after from' }]);
  if (fromMs > Date.now()) throw validationError([{ path: '/from', message: 'must be in the past' }]);
  return { startMs: Math.floor(fromMs / 1_000) * 1_000, endMs: Math.ceil(toMs / 1_000) * 1_000 };
}

/** Returns the networks as the bits of 0x9206. */
const toConditions = (allowed: readonly (typeof networks)[number][]): number =>
  networks.reduce((bits, network, index) => (allowed.includes(network) ? bits | (1 << index) : bits), 0);

const notFoundError = (videoId: string): AppError => new AppError('not_found', `There is no download ${videoId}.`);
