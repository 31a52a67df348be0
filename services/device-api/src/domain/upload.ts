import { AppError } from '@fleet/service-kit';
import type { UploadRecord, UploadStatus } from '@fleet/storage';

/** Status of an ended upload, which can only be deleted. */
export const finalStatuses = ['completed', 'failed', 'cancelled'] as const satisfies readonly UploadStatus[];

/** A record that callers can see: reservations are excluded. */
export type VisibleUpload = UploadRecord & { readonly status: UploadStatus };

export const isVisible = (record: UploadRecord): record is VisibleUpload => record.status !== 'reserved';

export const isFinal = (status: UploadStatus): boolean => finalStatuses.some((final) => final === status);

/** Actions of `GET /videos/control`, with the numbers of 0x9207. */
export const uploadAction = { pause: 0, resume: 1, cancel: 2 } as const;

/** Returns the status after an accepted action; undefined if the action does not fit. */
export function getNextStatus(action: number, status: UploadStatus): UploadStatus | undefined {
  switch (action) {
    case uploadAction.pause:
      return status === 'uploading' ? 'paused' : undefined;
    case uploadAction.resume:
      return status === 'paused' ? 'uploading' : undefined;
    case uploadAction.cancel:
      return isFinal(status) ? undefined : 'cancelled';
    default:
      return undefined;
  }
}

/** Encodes the networks over which a camera may upload, as in 0x9206. */
export function encodeNetworkConditions(allowed: { wifi: boolean; lan: boolean; mobileNetwork: boolean }): number {
  const conditions = (allowed.wifi ? 1 : 0) | (allowed.lan ? 2 : 0) | (allowed.mobileNetwork ? 4 : 0);
  if (conditions === 0)
    throw new AppError(
      'validation_failed',
      'The query parameters wifi, lan and mobile_network cannot all be false: the camera could never upload.',
    );
  return conditions;
}

export const allowsMobileNetwork = (conditions: number): boolean => (conditions & 4) !== 0;

export const uploadNotFoundError = (): AppError => new AppError('not_found', 'There is no upload with this video_id.');

export const cameraBusyError = (): AppError => new AppError('camera_busy', 'The camera is uploading another clip.');
