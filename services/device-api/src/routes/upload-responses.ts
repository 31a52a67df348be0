import type { Route } from '@fleet/service-kit';
import { isExternalUpload, uploadStatuses } from '@fleet/storage';
import { Type } from 'typebox';
import { formatTime } from '../domain/camera-time.ts';
import type { VisibleUpload } from '../domain/upload.ts';
import { commandErrors } from './responses.ts';

export const videoId = Type.String({
  pattern: '^[0-9a-fA-F]{24}$',
  errorMessage: 'must be an upload id of 24 hex digits',
  description: 'Upload id from /videos/upload.',
  examples: ['66a1f0c2d4e5b6a7c8d9e0f1'],
});

const videoIdSchema = Type.String({
  pattern: '^[0-9a-f]{24}$',
  description: 'Upload id.',
  examples: ['66a1f0c2d4e5b6a7c8d9e0f1'],
});

const statusDescription = uploadStatuses.join(', ');

/** The interface's `UploadedVideo`. */
export const uploadedVideo = Type.Object(
  {
    video_id: videoIdSchema,
    imei: Type.String({
      description: 'Device number: in a list as the terminal sends it, else as the requesting caller wrote it.',
      examples: ['013800138000'],
    }),
    channel: Type.Integer({ minimum: 0, maximum: 255, description: 'Camera channel.', examples: [1] }),
    video_start_time: Type.String({
      format: 'date-time',
      description: "In the camera's UTC offset when the upload was requested.",
      examples: ['2026-08-01T10:00:00+08:00'],
    }),
    video_end_time: Type.String({
      format: 'date-time',
      description: 'Same offset.',
      examples: ['2026-08-01T10:05:00+08:00'],
    }),
    filesize: Type.Integer({
      minimum: 0,
      format: 'int64',
      description: 'Bytes received so far; can drop if the camera restarts the transfer.',
      examples: [15_728_640],
    }),
    status: Type.String({ enum: [...uploadStatuses], description: `One of ${statusDescription}.` }),
    filename: Type.Optional(
      Type.Union([Type.String(), Type.Null()], {
        description: 'Absent until the camera starts sending the file.',
        examples: ['013800138000_1_20260801100000.ts'],
      }),
    ),
    external: Type.Optional(
      Type.Boolean({
        description:
          'True if the camera uploads to an external FTP server: the file is not stored here, and only the camera reports the end. Absent otherwise.',
        examples: [false],
      }),
    ),
  },
  { title: 'UploadedVideo', additionalProperties: false },
);

/** Maps names in code to the interface. */
export const toUploadResponse = (upload: VisibleUpload) => ({
  video_id: upload._id,
  imei: upload.askedImei,
  channel: upload.clip.channel,
  video_start_time: formatTime(upload.clip.startMs, upload.cameraUtcOffset),
  video_end_time: formatTime(upload.clip.endMs, upload.cameraUtcOffset),
  filesize: upload.filesize,
  status: upload.status,
  ...(upload.filename === null ? {} : { filename: upload.filename }),
  ...(isExternalUpload(upload) ? { external: true } : {}),
});

/** Returns a list item, with the number as the terminal sends it. */
export const toUploadListItem = (upload: VisibleUpload) => ({ ...toUploadResponse(upload), imei: upload.shownImei });

/** The interface's `UploadGeneralResponse`. */
export const uploadGeneralResponse = Type.Object(
  {
    response_id: Type.String({
      pattern: '^0x[0-9a-f]{4}$',
      description: 'The executed command, as its JT/T 808 message id in hex.',
      examples: ['0x9206'],
    }),
    result: Type.String({
      enum: ['success', ...uploadStatuses],
      description: `Result of the camera; for a clip with an upload its status instead: ${statusDescription}.`,
    }),
    video_id: videoIdSchema,
  },
  { title: 'UploadGeneralResponse', additionalProperties: false },
);

const { 400: _invalidCommand, 502: _unreadable, 503: _late, 504: _silent, ...sharedErrors } = commandErrors;

/** Errors of reading uploads. */
export const uploadReadErrors: Route['errors'] = {
  ...sharedErrors,
  400: 'A parameter is missing or invalid.',
  404: 'There is no upload with this video_id.',
  429: 'Too many requests.',
};
