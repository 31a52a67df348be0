import { toRecordResponse } from '../../platform/schemas.ts';
import type { Media, MediaResponse } from './schema.ts';

/** Converts a file to an event for several users. It has no URL, because each user gets a different one. */
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
  thumbnail_url: null,
  taken_at: media.takenAt.toISOString(),
  received_at: media.receivedAt.toISOString(),
  latitude: media.latitude,
  longitude: media.longitude,
  notification_id: media.notificationId,
  protected: media.protected,
});

export const toMediaResponse = (media: Media, buildUrl: (id: number) => string): MediaResponse => ({
  ...toMediaEvent(media),
  url: buildUrl(media._id),
});
