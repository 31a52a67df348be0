import { AppError } from '@fleet/service-kit';
import type { UploadRecord, UploadStatus } from '@fleet/storage';

/** An upload that is over: it can be deleted, and nothing else. */
export const finalStatuses = ['completed', 'failed', 'cancelled'] as const satisfies readonly UploadStatus[];

/** A record that callers are shown: a reservation is none yet. */
export type VisibleUpload = UploadRecord & { readonly status: UploadStatus };

export const isVisible = (record: UploadRecord): record is VisibleUpload => record.status !== 'reserved';

export const isFinal = (status: UploadStatus): boolean => finalStatuses.some((final) => final === status);

/** Actions of `GET /videos/control`, with the numbers of 0x9207. */
export const uploadAction = { pause: 0, resume: 1, cancel: 2 } as const;

/** The status that an accepted action leads to; undefined where it does not fit. */
export function statusAfter(action: number, status: UploadStatus): UploadStatus | undefined {
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

/** The networks over which a camera may upload, as 0x9206 counts them. */
export function networkConditions(may: { wifi: boolean; lan: boolean; mobileNetwork: boolean }): number {
  const conditions = (may.wifi ? 1 : 0) | (may.lan ? 2 : 0) | (may.mobileNetwork ? 4 : 0);
  if (conditions === 0)
    throw new AppError(
      'validation_failed',
      'The query parameters wifi, lan and mobile_network can not all be false: the camera could never upload.',
    );
  return conditions;
}

export const mayUseMobileNetwork = (conditions: number): boolean => (conditions & 4) !== 0;

export const noSuchUpload = (): AppError => new AppError('not_found', 'There is no upload with this video_id.');

export const cameraBusy = (): AppError => new AppError('camera_busy', 'The camera is uploading another clip.');
