import { videoMimeType } from '@fleet/service-kit';
import type { UploadRecord } from '@fleet/storage';
import type { Deps } from '../../platform/deps.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { createMediaPreview, newPreviewFields } from './previews.ts';
import { findRemoval } from './queries.ts';
import { clipKey, linkAndPublish, recordMedia } from './record.ts';

type ClipDeps = Pick<Deps, 'bus' | 'config' | 'database' | 'log' | 'notifications' | 'records' | 'redis'>;

const audioMediaType = 1;

/** A completed upload. */
interface ReceivedClip {
  readonly record: UploadRecord;
  readonly receivedAtMs: number;
  readonly notificationId: number | null;
  /** Time to wait for the thumbnail; a job creates it later if absent. */
  readonly previewTimeoutMs?: number;
}

/** Records a received clip as a file of its vehicle, unless it was deleted by a user or by the quota. */
export async function recordClip(
  deps: ClipDeps,
  vehicle: Vehicle,
  { record, receivedAtMs, notificationId, previewTimeoutMs }: ReceivedClip,
): Promise<void> {
  const { _id: uploadId, clip, filename, filesize } = record;
  if ((await findRemoval(deps.database, clipKey(uploadId))) !== null) return;
  const kind = clip.mediaType === audioMediaType ? 'audio' : 'video';
  const recorded = await recordMedia(deps, vehicle, {
    accountId: vehicle.accountId,
    mediaKey: clipKey(uploadId),
    captureId: null,
    vehicleId: vehicle._id,
    imei: record.shownImei,
    channelId: clip.channel,
    kind,
    source: 'upload',
    mimeType: (filename === null ? undefined : videoMimeType(filename)) ?? 'application/octet-stream',
    sizeBytes: filesize,
    takenAt: new Date(clip.startMs),
    receivedAt: new Date(receivedAtMs),
    latitude: null,
    longitude: null,
    notificationId,
    protected: false,
    toldAtMs: null,
    file: null,
    clip: { uploadId },
    ...newPreviewFields(kind),
  });
  const media = previewTimeoutMs === undefined ? recorded : await createMediaPreview(deps, recorded, previewTimeoutMs);
  await linkAndPublish(deps, media, notificationId);
}
