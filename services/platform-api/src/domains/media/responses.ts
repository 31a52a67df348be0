import { toRecordResponse } from '../../platform/schemas.ts';
import type { Media, MediaResponse } from './schema.ts';
import { hasThumbnail } from './thumbnail-state.ts';

/**
 * Converts a file to an event for several users. It has no URL, because each user gets a different one; `thumbnail_url`
 * is empty instead of null if there is one.
 */
export const toMediaEvent = (media: Media): Omit<MediaResponse, 'url'> => ({
  ...toRecordResponse(media),
  capture_id: media.captureId,
  video_id: media.clip?.uploadId ?? null,
  vehicle_id: media.vehicleId,
  imei: media.imei,
  channel_id: media.channelId,
  kind: media.kind,
  source: media.source,
  mime_type: media.mimeType,
  size_bytes: media.sizeBytes,
  thumbnail_url: hasThumbnail(media) ? '' : null,
  thumbnail_width: media.preview?.thumbnail.width ?? null,
  thumbnail_height: media.preview?.thumbnail.height ?? null,
  width: media.preview?.width ?? null,
  height: media.preview?.height ?? null,
  duration_seconds: toSeconds(media.preview?.durationMs ?? null),
  taken_at: media.takenAt.toISOString(),
  received_at: media.receivedAt.toISOString(),
  latitude: media.latitude,
  longitude: media.longitude,
  notification_id: media.notificationId,
  protected: media.protected,
});

export const toMediaResponse = (media: Media, buildUrl: (id: number) => string): MediaResponse => ({
  ...toMediaEvent(media),
  ...toFileUrls(media, buildUrl(media._id)),
});

const toFileUrls = (media: Media, url: string): Pick<MediaResponse, 'url' | 'thumbnail_url'> => ({
  url,
  thumbnail_url: url !== '' && hasThumbnail(media) ? toThumbnailUrl(url) : null,
});

/** Returns the URL of a file's thumbnail: that of the file with another parameter, and the same signature. */
export const toThumbnailUrl = (url: string): string => `${url}&thumbnail=1`;

const toSeconds = (ms: number | null): number | null => (ms === null ? null : ms / 1000);
