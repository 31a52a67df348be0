import { paginationQuery, sortParameter } from '@fleet/service-kit';
import { mp4Statuses, uploadStatuses } from '@fleet/storage';
import { type Static, Type } from 'typebox';
import { stringEnum } from '../../platform/fields.ts';
import { nullable, recordId, recordProperties, time } from '../../platform/schemas.ts';
import { timeParameter } from '../../platform/timestamps.ts';

const mp4Schema = Type.Object(
  {
    status: stringEnum(mp4Statuses),
    percent: Type.Integer({ minimum: 0, maximum: 100 }),
    url: nullable(Type.String({ description: 'Opens without headers; valid for 8 hours.' })),
    size_bytes: nullable(Type.Integer({ minimum: 0 })),
    error: nullable(Type.String({ description: 'Why the conversion failed.' })),
  },
  { title: 'Mp4Conversion' },
);

export const downloadResponseSchema = Type.Object(
  {
    ...recordProperties,
    video_id: Type.String({ description: 'Upload id, 24 hex digits.' }),
    imei: Type.String(),
    channel: Type.Integer({ minimum: 0 }),
    video_start_time: Type.String({ format: 'date-time', description: "In the camera's UTC offset." }),
    video_end_time: Type.String({ format: 'date-time', description: "In the camera's UTC offset." }),
    filesize: Type.Integer({ minimum: 0, description: 'Bytes received so far.' }),
    status: stringEnum(uploadStatuses),
    filename: Type.Optional(Type.String({ description: 'Absent until the camera starts sending the file.' })),
    external: Type.Optional(Type.Boolean({ description: 'True if the camera uploads to another FTP server.' })),
    vehicle_id: recordId,
    vehicle_no: Type.String(),
    requested_by: nullable({ ...recordId, description: 'User who requested the clip; null for API keys.' }),
    requested_by_name: Type.Optional(
      nullable(Type.String({ description: 'Null for API keys and deleted users. Absent in websocket events.' })),
    ),
    completed_at: nullable(time),
    media_id: nullable({ ...recordId, description: 'File of the clip; null until it is completed.' }),
    download_url: nullable(Type.String({ description: 'Opens without headers; valid for 8 hours.' })),
    thumbnail_url: nullable(
      Type.String({ description: 'JPEG, created by the first request if need be; null without a file or a picture.' }),
    ),
    thumbnail_width: nullable(Type.Integer({ minimum: 1 })),
    duration_seconds: nullable(Type.Number({ minimum: 0 })),
    error: nullable(Type.String({ description: 'Why the upload failed.' })),
    percent: nullable(
      Type.Integer({
        minimum: 0,
        maximum: 100,
        description: 'Received part of the bytes that the camera lists for the clip; null while they are unknown.',
      }),
    ),
    bytes_per_second: nullable(Type.Integer({ minimum: 0, description: 'Null unless bytes are arriving.' })),
    seconds_left: nullable(Type.Integer({ minimum: 0 })),
    mp4: nullable(mp4Schema),
  },
  { title: 'Download' },
);
export type DownloadResponse = Static<typeof downloadResponseSchema>;

/** Networks of a camera, in the order of their bits in 0x9206. */
export const networks = ['wifi', 'lan', 'mobile'] as const;

const clipTime = (description: string, example: string) =>
  Type.String({
    ...timeParameter,
    description: `${description} RFC 3339, or milliseconds since 1970.`,
    examples: [example],
  });

export const requestDownloadBody = Type.Object(
  {
    vehicle_id: { ...recordId, examples: [42] },
    channel_id: Type.Integer({ minimum: 1, maximum: 255, description: 'Camera channel.', examples: [1] }),
    from: clipTime('Beginning of the clip, rounded down to a second.', '2026-11-21T08:15:00Z'),
    to: clipTime('End of the clip, at most 60 minutes later.', '2026-11-21T08:16:00Z'),
    networks: Type.Optional(
      Type.Array(stringEnum(networks), {
        minItems: 1,
        maxItems: networks.length,
        uniqueItems: true,
        description: 'Networks over which the camera may upload. Default: all.',
      }),
    ),
  },
  { title: 'RequestDownload' },
);
export type RequestDownloadBody = Static<typeof requestDownloadBody>;

export const controlDownloadBody = Type.Object(
  { action: stringEnum(['pause', 'resume', 'cancel'], { description: 'Canceling deletes the received bytes.' }) },
  { title: 'ControlDownload' },
);
export type ControlDownloadBody = Static<typeof controlDownloadBody>;

export const listDownloadsQuery = Type.Object({
  ...paginationQuery,
  sort: sortParameter(['id'], { default: '-id' }),
  vehicle_id: Type.Optional({ ...recordId, description: 'Returns only clips of this vehicle.' }),
  status: Type.Optional(stringEnum(uploadStatuses, { description: 'Returns only uploads in this status.' })),
  from: Type.Optional({ ...timeParameter, description: 'Returns only clips requested at or after this time.' }),
  to: Type.Optional({ ...timeParameter, description: 'Returns only clips requested before this time.' }),
});
export type ListDownloadsQuery = Static<typeof listDownloadsQuery>;
