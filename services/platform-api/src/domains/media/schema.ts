import { mediaFileSources } from '@fleet/bus';
import { clipFormats, paginationQuery, sortParameter } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import { stringEnum } from '../../platform/fields.ts';
import { nullable, recordId, recordProperties, time } from '../../platform/schemas.ts';
import { timeParameter } from '../../platform/timestamps.ts';
import type { AccountRecord } from '../../store/account-repository.ts';

/** Kinds of files; `other` are logs and data attached to an alarm. */
const mediaKinds = ['image', 'video', 'audio', 'other'] as const;
type MediaKind = (typeof mediaKinds)[number];

/** Reasons for which a terminal sent a file. */
const mediaSources = [...mediaFileSources, 'upload'] as const;

/** Location of a picture or an attachment of an alarm: a pod of upload-ftp, or object storage (`any`). */
export interface FileLocation {
  /** Canonical terminal number. */
  readonly imei: string;
  readonly fileId: string;
  readonly server: string;
}

/** Size, duration and thumbnail of a file. */
export interface Preview {
  readonly width: number;
  readonly height: number;
  readonly durationMs: number | null;
  readonly thumbnail: { readonly file: FileLocation; readonly width: number; readonly height: number };
}

/** File of a vehicle: a picture, an attachment of an alarm, or an uploaded clip. */
export interface Media extends AccountRecord {
  /** `file:<number>:<file>` or `clip:<upload>`. Each has one record, however often the file is reported. */
  readonly mediaKey: string;
  readonly captureId: string | null;
  readonly vehicleId: number;
  /** Number in the form that the terminal sends. */
  readonly imei: string;
  readonly channelId: number;
  readonly kind: MediaKind;
  readonly source: (typeof mediaSources)[number];
  readonly mimeType: string;
  readonly sizeBytes: number;
  readonly takenAt: Date;
  readonly receivedAt: Date;
  readonly latitude: number | null;
  readonly longitude: number | null;
  readonly notificationId: number | null;
  readonly protected: boolean;
  /**
   * Time of the notification that the file raises, if any. It is chosen once, so that a retry does not raise a second
   * notification.
   */
  readonly toldAtMs: number | null;
  readonly file: FileLocation | null;
  readonly clip: { readonly uploadId: string } | null;
  /** Null if the file has no readable picture, or until `previewDueAt`. */
  readonly preview?: Preview | null;
  /** When the preview is created, or retried; null if nothing is left to do. */
  readonly previewDueAt?: Date | null;
  readonly previewAttempts?: number;
  /** True while a process creates the preview, until `previewDueAt`. */
  readonly isPreviewRunning?: boolean;
}

/**
 * Removal of a file from its storage; `_id` is the key of its deleted record. A completed removal is retained for a
 * while, in case the file is reported again.
 */
export interface MediaRemoval {
  readonly _id: string;
  /** Null if the file never had a record. */
  readonly recordId: number | null;
  readonly accountId: number | null;
  readonly file: FileLocation | null;
  readonly clip: { readonly uploadId: string } | null;
  readonly thumbnail?: FileLocation | null;
  /** If true, the file stays when its record was protected in time. */
  readonly sparesProtected?: boolean;
  /** A file stored at or after this time is another copy, which stays. */
  readonly storedBeforeMs?: number | null;
  readonly notedAt: Date;
  readonly doneAt: Date | null;
}

/** Storage that the media of a vehicle use; `_id` is the id of the vehicle. */
export interface MediaUsage {
  readonly _id: number;
  readonly accountId: number;
  readonly bytes: number;
  /** Number of changes. */
  readonly revision: number;
  /** Time of the notification that the storage is nearly full; `belowThreshold` if it is not. */
  readonly nearlyFullAtMs: number;
  /** True once the notification is recorded. */
  readonly isTold: boolean;
}

export const mediaResponseSchema = Type.Object(
  {
    ...recordProperties,
    capture_id: nullable(Type.String()),
    video_id: nullable(Type.String({ description: 'Upload that created the clip.' })),
    vehicle_id: recordId,
    imei: Type.String(),
    channel_id: Type.Integer({ minimum: 0 }),
    kind: stringEnum(mediaKinds),
    source: stringEnum(mediaSources),
    mime_type: Type.String(),
    size_bytes: Type.Integer({ minimum: 0 }),
    url: Type.String({ description: 'Opens without headers; valid for 8 hours.' }),
    thumbnail_url: nullable(
      Type.String({
        description:
          'JPEG of at most 320 by 240, created by the first request if need be; null without a readable picture.',
      }),
    ),
    thumbnail_width: nullable(Type.Integer({ minimum: 1 })),
    thumbnail_height: nullable(Type.Integer({ minimum: 1 })),
    width: nullable(Type.Integer({ minimum: 1, description: 'Of the picture or the video; null while unknown.' })),
    height: nullable(Type.Integer({ minimum: 1 })),
    duration_seconds: nullable(Type.Number({ minimum: 0, description: 'Length of a video; null if unknown.' })),
    taken_at: time,
    received_at: time,
    latitude: nullable(Type.Number()),
    longitude: nullable(Type.Number()),
    notification_id: nullable(recordId),
    protected: Type.Boolean({
      description: 'True if the file stays, however old it is and however full the storage is.',
    }),
  },
  { title: 'Media' },
);
export type MediaResponse = Static<typeof mediaResponseSchema>;

export const listMediaQuery = Type.Object({
  ...paginationQuery,
  sort: sortParameter(['id', 'taken_at', 'received_at'], { default: '-taken_at' }),
  channel_id: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 255,
      alias: 'channelId',
      description: 'Returns only files from this channel.',
    }),
  ),
  kind: Type.Optional(stringEnum(mediaKinds, { description: 'Returns only files of this kind.' })),
  from: Type.Optional(timeParameter),
  to: Type.Optional(timeParameter),
});
export type ListMediaQuery = Static<typeof listMediaQuery>;

export const mediaBody = Type.Object({
  protected: Type.Optional(
    Type.Boolean({ description: 'A protected file is not deleted by retention or quota.', examples: [true] }),
  ),
});
export type MediaBody = Static<typeof mediaBody>;

export const fileQuery = Type.Object({
  user: Type.Optional(Type.String({ maxLength: 20, description: 'User for whom the URL was created.' })),
  expires: Type.Optional(Type.String({ maxLength: 20, description: 'Unix seconds.' })),
  signature: Type.Optional(
    Type.String({ maxLength: 100, description: 'Signature of the file id, the user and the expiry time.' }),
  ),
  thumbnail: Type.Optional(stringEnum(['0', '1'], { description: '1: the thumbnail instead of the file.' })),
  download: Type.Optional(stringEnum(['0', '1'], { description: '1: saves the file instead of displaying it.' })),
  format: Type.Optional(
    stringEnum(clipFormats, {
      description:
        'For clips only: the format of the camera, or one MP4, which is created at the first request. That requires the permission commands.',
      default: 'original',
    }),
  ),
});
export type FileQuery = Static<typeof fileQuery>;
