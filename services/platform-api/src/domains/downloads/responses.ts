import { minuteMs } from '@fleet/service-kit';
import { isExternalUpload, type ListedUpload, type Mp4Job } from '@fleet/storage';
import { toThumbnailUrl } from '../media/responses.ts';
import type { Media } from '../media/schema.ts';
import { hasThumbnail } from '../media/thumbnail-state.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { computeProgress } from './progress.ts';
import type { DownloadResponse } from './schema.ts';

/** Returns the URL of a file for the reader of a response; null if the reader may not open files. */
type FileUrlOf = ((mediaId: number) => string) | null;

/** An upload with its vehicle, and its file once it is completed. */
export interface Download {
  readonly upload: ListedUpload;
  readonly vehicle: Vehicle;
  readonly media: Media | null;
}

/** Sentences for the reasons that upload-ftp records. */
const failures: Readonly<Record<string, string>> = {
  'device reported failure': 'The camera reported that it could not upload the clip.',
  'reported success without whole files': 'The camera reported success, but its files are incomplete.',
  'never confirmed': 'The camera never confirmed the upload.',
  silence: 'The camera stopped sending.',
  'no byte in time': 'The camera sent nothing in time.',
  'paused too long': 'The upload was paused for too long.',
  'credential lost': 'The login of the camera has expired.',
};

/** Returns the version of the record, which each change of the upload raises. */
export const versionOf = ({ revision }: Pick<ListedUpload, 'revision'>): number => (revision ?? 0) + 1;

/** Converts an upload to a record without URLs, for several users. */
export function toDownloadEvent({ upload, vehicle, media }: Download, nowMs = Date.now()): DownloadResponse {
  const { clip, cameraUtcOffset, changedAtMs, createdAtMs, filename, lastByteAtMs, status } = upload;
  const { percent, bytesPerSecond, secondsLeft } = computeProgress(upload, nowMs);
  const reason = upload.failureReason;
  return {
    id: upload.number,
    created_at: toTime(createdAtMs),
    updated_at: toTime(Math.max(changedAtMs, lastByteAtMs ?? 0)),
    version: versionOf(upload),
    video_id: upload._id,
    imei: upload.shownImei,
    channel: clip.channel,
    video_start_time: formatInOffset(clip.startMs, cameraUtcOffset),
    video_end_time: formatInOffset(clip.endMs, cameraUtcOffset),
    filesize: upload.filesize,
    status,
    ...(filename === null ? {} : { filename }),
    ...(isExternalUpload(upload) ? { external: true } : {}),
    vehicle_id: vehicle._id,
    vehicle_no: vehicle.vehicleNo,
    requested_by: upload.requestedBy ?? null,
    completed_at: status === 'completed' ? toTime(changedAtMs) : null,
    media_id: media?._id ?? null,
    download_url: null,
    thumbnail_url: media !== null && hasThumbnail(media) ? '' : null,
    thumbnail_width: media?.preview?.thumbnail.width ?? null,
    duration_seconds: (media?.preview?.durationMs ?? clip.endMs - clip.startMs) / 1_000,
    error: status !== 'failed' ? null : (failures[reason ?? ''] ?? 'The upload failed.'),
    percent,
    bytes_per_second: bytesPerSecond,
    seconds_left: secondsLeft,
    mp4: upload.mp4 === undefined ? null : toMp4Response(upload.mp4),
  };
}

const toMp4Response = ({ status, percent, sizeBytes, error }: Mp4Job): NonNullable<DownloadResponse['mp4']> => ({
  status,
  percent,
  url: null,
  size_bytes: sizeBytes,
  error,
});

/** Adds the URLs of one user to a record. */
export function withUrls(record: DownloadResponse, urlOf: FileUrlOf): DownloadResponse {
  const { media_id: mediaId, mp4, thumbnail_url: thumbnailUrl } = record;
  if (mediaId === null || urlOf === null) return { ...record, thumbnail_url: null };
  const url = urlOf(mediaId);
  return {
    ...record,
    download_url: url,
    thumbnail_url: thumbnailUrl === null ? null : toThumbnailUrl(url),
    mp4: mp4?.status === 'completed' ? { ...mp4, url: `${url}&format=mp4` } : mp4,
  };
}

const toTime = (atMs: number): string => new Date(atMs).toISOString();

/** Formats a time on a camera's clock. */
export function formatInOffset(atMs: number, offset: string): string {
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(4, 6));
  const shifted = new Date(atMs + (offset.startsWith('-') ? -minutes : minutes) * minuteMs);
  return shifted.toISOString().slice(0, 19) + offset;
}
