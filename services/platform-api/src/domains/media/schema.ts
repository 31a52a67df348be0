import { mediaFileSources } from '@fleet/bus';
import { clipFormats, paginationQuery, sortParameter } from '@fleet/service-kit';
import { type Static, Type } from 'typebox';
import { stringEnum } from '../../platform/fields.ts';
import { nullable, recordId, recordProperties, time } from '../../platform/schemas.ts';
import { timeParameter } from '../../platform/timestamps.ts';
import type { AccountRecord } from '../../store/account-repository.ts';

/** What a file is; `other` are logs and data beside an alarm. */
export const mediaKinds = ['image', 'video', 'audio', 'other'] as const;
export type MediaKind = (typeof mediaKinds)[number];

/** What made a terminal send it. */
export const mediaSources = [...mediaFileSources, 'upload'] as const;

/** Where a picture or an attachment of an alarm is: with a pod of upload-ftp, or (`any`) in object storage. */
export interface FilePlace {
  /** Canonical terminal number. */
  readonly imei: string;
  readonly fileId: string;
  readonly server: string;
}

/** A file of a vehicle: a picture, an attachment of an alarm, or a clip that was uploaded. */
export interface Media extends AccountRecord {
  /** `file:<number>:<file>` or `clip:<upload>`: one record for each, however often it is told of. */
  readonly mediaKey: string;
  readonly captureId: string | null;
  readonly vehicleId: number;
  /** The number as the terminal sends it. */
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
  /** The time of its notification, where it raises one: once chosen it stays, so that doing it again makes no second one. */
  readonly toldAtMs: number | null;
  readonly file: FilePlace | null;
  readonly clip: { readonly uploadId: string } | null;
}

/** Something to be removed from where it is stored: `_id` is the key of its record, which is gone. What is done stays for a while, for what tells of the file once more. */
export interface MediaRemoval {
  readonly _id: string;
  /** Null where it never had a record. */
  readonly recordId: number | null;
  readonly accountId: number | null;
  readonly file: FilePlace | null;
  readonly clip: { readonly uploadId: string } | null;
  /** It is not to go where its record is protected by then. */
  readonly sparesProtected?: boolean;
  /** What was stored at this moment or later is another copy, which stays. */
  readonly storedBeforeMs?: number | null;
  readonly notedAt: Date;
  readonly doneAt: Date | null;
}

/** What a vehicle's media take; `_id` is the vehicle's. */
export interface MediaUsage {
  readonly _id: number;
  readonly accountId: number;
  readonly bytes: number;
  /** Counts changes. */
  readonly revision: number;
  /** Since when they are nearly full: the time of the notification; `hasRoom` where they are not. */
  readonly nearlyFullAtMs: number;
  /** The notification is on record. */
  readonly isTold: boolean;
}

export const mediaResponseSchema = Type.Object(
  {
    ...recordProperties,
    capture_id: nullable(Type.String()),
    video_id: nullable(Type.String({ description: 'The upload that a clip came by.' })),
    vehicle_id: recordId,
    imei: Type.String(),
    channel_id: Type.Integer({ minimum: 0 }),
    kind: stringEnum(mediaKinds),
    source: stringEnum(mediaSources),
    mime_type: Type.String(),
    size_bytes: Type.Integer({ minimum: 0 }),
    url: Type.String({ description: 'Opens without headers, for 8 hours.' }),
    thumbnail_url: nullable(Type.String()),
    taken_at: time,
    received_at: time,
    latitude: nullable(Type.Number()),
    longitude: nullable(Type.Number()),
    notification_id: nullable(recordId),
    protected: Type.Boolean({ description: 'It stays however old it is, and however full the storage.' }),
  },
  { title: 'Media' },
);
export type MediaResponse = Static<typeof mediaResponseSchema>;

export const listMediaQuery = Type.Object({
  ...paginationQuery,
  sort: sortParameter(['id', 'taken_at', 'received_at'], { default: '-taken_at' }),
  channel_id: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 255, alias: 'channelId', description: 'Only what this channel has taken.' }),
  ),
  kind: Type.Optional(stringEnum(mediaKinds, { description: 'Only files of this kind.' })),
  from: Type.Optional(timeParameter),
  to: Type.Optional(timeParameter),
});
export type ListMediaQuery = Static<typeof listMediaQuery>;

export const mediaBody = Type.Object({ protected: Type.Optional(Type.Boolean()) });
export type MediaBody = Static<typeof mediaBody>;

export const fileQuery = Type.Object({
  user: Type.Optional(Type.String({ maxLength: 20, description: 'Whom the URL was shown to.' })),
  expires: Type.Optional(Type.String({ maxLength: 20, description: 'Unix seconds.' })),
  signature: Type.Optional(Type.String({ maxLength: 100, description: 'Of all of the URL that counts.' })),
  download: Type.Optional(stringEnum(['0', '1'], { description: '1: to be saved as a file, instead of being shown.' })),
  format: Type.Optional(
    stringEnum(clipFormats, { description: 'Of clips alone: as the camera sent it, or one MP4.', default: 'original' }),
  ),
});
export type FileQuery = Static<typeof fileQuery>;
