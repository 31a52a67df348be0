import type { Route } from '@fleet/service-kit';
import { isExternalUpload, uploadStatuses } from '@fleet/storage';
import { Type } from 'typebox';
import { shownTime } from '../domain/camera-time.ts';
import type { VisibleUpload } from '../domain/upload.ts';
import { commandErrors } from './answers.ts';

export const videoId = Type.String({
  pattern: '^[0-9a-fA-F]{24}$',
  errorMessage: 'must be an upload id of 24 hex digits',
  description: 'Upload id, as /videos/upload answers it.',
  examples: ['66a1f0c2d4e5b6a7c8d9e0f1'],
});

const shownVideoId = Type.String({ pattern: '^[0-9a-f]{24}$', description: 'Upload id.' });

const statusDescription = uploadStatuses.join(', ');

/** The interface's `UploadedVideo`. */
export const uploadedVideo = Type.Object(
  {
    video_id: shownVideoId,
    imei: Type.String({
      description:
        'Device identifier: in a list as the terminal sends it, else as it was written when the upload was requested.',
    }),
    channel: Type.Integer({ minimum: 0, maximum: 255, description: 'Camera channel.' }),
    video_start_time: Type.String({
      format: 'date-time',
      description: "In the camera's UTC offset when the upload was requested.",
    }),
    video_end_time: Type.String({ format: 'date-time', description: 'Same offset.' }),
    filesize: Type.Integer({
      minimum: 0,
      format: 'int64',
      description: 'Bytes received so far; can drop if the camera restarts the transfer.',
    }),
    status: Type.String({ enum: [...uploadStatuses], description: `One of ${statusDescription}.` }),
    filename: Type.Optional(
      Type.Union([Type.String(), Type.Null()], { description: 'Absent until the camera starts sending the file.' }),
    ),
    external: Type.Optional(
      Type.Boolean({
        description:
          "True when the camera was sent to an FTP server that is not ours: there is no file here, and the camera's word alone ends the upload. Absent otherwise.",
      }),
    ),
  },
  { title: 'UploadedVideo', additionalProperties: false },
);

/** The border between the code's spelling and the interface's. */
export const shownUpload = (upload: VisibleUpload) => ({
  video_id: upload._id,
  imei: upload.askedImei,
  channel: upload.clip.channel,
  video_start_time: shownTime(upload.clip.startMs, upload.cameraUtcOffset),
  video_end_time: shownTime(upload.clip.endMs, upload.cameraUtcOffset),
  filesize: upload.filesize,
  status: upload.status,
  ...(upload.filename === null ? {} : { filename: upload.filename }),
  ...(isExternalUpload(upload) ? { external: true } : {}),
});

/** The same as an item of a list, which shows numbers as the terminals send them. */
export const listedUpload = (upload: VisibleUpload) => ({ ...shownUpload(upload), imei: upload.shownImei });

/** The interface's `UploadGeneralResponse`. */
export const uploadGeneralResponse = Type.Object(
  {
    response_id: Type.String({
      pattern: '^0x[0-9a-f]{4}$',
      description: 'The command answered, as its JT/T 808 message id in hex.',
      examples: ['0x9206'],
    }),
    result: Type.String({
      enum: ['success', ...uploadStatuses],
      description: `What the camera says; for a clip that already has an upload its status instead: ${statusDescription}.`,
    }),
    video_id: shownVideoId,
  },
  { title: 'UploadGeneralResponse', additionalProperties: false },
);

const { 400: _badCommand, 502: _unreadable, 503: _late, 504: _silent, ...shared } = commandErrors;

/** The errors of what is read of uploads. */
export const uploadReadErrors: Route['errors'] = {
  ...shared,
  400: 'A parameter is missing or invalid.',
  404: 'There is no upload with this video_id.',
  429: 'Too many requests.',
};
