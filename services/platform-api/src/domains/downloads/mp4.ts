import { mp4Requested, publish } from '@fleet/bus';
import { AppError, assertVersion } from '@fleet/service-kit';
import { isExternalUpload, type ListedUpload, Mp4JobRepository, UploadList } from '@fleet/storage';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { audit } from '../audit/use-cases.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { visibleVehicle } from '../vehicles/visibility.ts';
import { publishDownload } from './publish-download.ts';
import { type Download, versionOf } from './responses.ts';
import { joinDownload } from './use-cases.ts';

type Mp4Deps = Pick<Deps, 'bus' | 'database' | 'log' | 'records'>;

/**
 * Queues the conversion of a clip to MP4. A conversion that is queued or running is returned as it is. Throws 409 for a
 * clip that has an MP4 or cannot have one.
 */
export async function requestMp4(deps: Mp4Deps, caller: Caller, videoId: string): Promise<Download> {
  const { upload, vehicle } = await findConvertible(deps, caller, videoId);
  const changed = await new Mp4JobRepository(deps.database).request(videoId);
  const current = changed ?? (await new UploadList(deps.database).findListed(videoId));
  if (changed === null && !['queued', 'running'].includes(current?.mp4?.status ?? '')) throw refusalOf(upload);
  await audit(deps, caller, 'media.convert', { type: 'uploads', id: upload.number }, { vehicle_id: vehicle._id });
  return notifyChanged(deps, videoId, vehicle);
}

/**
 * Cancels a queued or running conversion. Throws 409 if there is none, and 412 if the record has another version than the
 * expected one.
 */
export async function cancelMp4(
  deps: Mp4Deps,
  caller: Caller,
  videoId: string,
  expectedVersion?: number,
): Promise<Download> {
  const { upload, vehicle } = await findConvertible(deps, caller, videoId);
  assertVersion({ version: versionOf(upload) }, expectedVersion);
  const expectedRevision = expectedVersion === undefined ? undefined : expectedVersion - 1;
  if ((await new Mp4JobRepository(deps.database).cancel(videoId, expectedRevision)) === null) {
    const current = await findConvertible(deps, caller, videoId);
    assertVersion({ version: versionOf(current.upload) }, expectedVersion);
    throw new AppError('state_conflict', 'The clip has no conversion that is queued or running.');
  }
  await audit(
    deps,
    caller,
    'media.cancel_conversion',
    { type: 'uploads', id: upload.number },
    {
      vehicle_id: vehicle._id,
    },
  );
  return notifyChanged(deps, videoId, vehicle);
}

/** Returns an upload whose vehicle the caller may see and command; throws 404 or 403 otherwise. */
async function findConvertible(
  deps: Mp4Deps,
  caller: Caller,
  videoId: string,
): Promise<{ readonly upload: ListedUpload; readonly vehicle: Vehicle }> {
  const upload = await new UploadList(deps.database).findListed(videoId);
  const vehicleId = upload?.vehicleId ?? null;
  if (upload === null || vehicleId === null) throw downloadNotFoundError(videoId);
  const { vehicle, permissions } = await visibleVehicle(deps, caller, vehicleId).catch((error: unknown) => {
    throw error instanceof AppError && error.status === 404 ? downloadNotFoundError(videoId) : error;
  });
  if (upload.accountId !== vehicle.accountId) throw downloadNotFoundError(videoId);
  const missing = (['history_video', 'commands'] as const).find((permission) => !permissions.includes(permission));
  if (missing === undefined) return { upload, vehicle };
  throw new AppError('permission_denied', `Vehicle ${vehicleId} is visible, but the permission ${missing} is missing.`);
}

function refusalOf({ status, mp4, ...upload }: ListedUpload): AppError {
  if (status !== 'completed')
    return new AppError('state_conflict', `The upload is ${status}: only a completed one can be converted.`);
  if (isExternalUpload(upload)) return new AppError('state_conflict', 'The clip is on another server.');
  if (mp4?.isRefused === true) return new AppError('state_conflict', mp4.error ?? 'The clip cannot be converted.');
  return new AppError('state_conflict', 'The clip has been converted to MP4.');
}

/** Notifies upload-ftp and the websockets; returns the current record. */
async function notifyChanged(deps: Mp4Deps, videoId: string, vehicle: Vehicle): Promise<Download> {
  publish(deps.bus, mp4Requested, { uploadId: videoId });
  await publishDownload(deps, videoId, vehicle);
  const upload = await new UploadList(deps.database).findListed(videoId);
  if (upload === null) throw downloadNotFoundError(videoId);
  return joinDownload(deps, vehicle, upload);
}

const downloadNotFoundError = (videoId: string): AppError =>
  new AppError('not_found', `There is no download ${videoId}.`);
