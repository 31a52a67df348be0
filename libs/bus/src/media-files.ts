import { type Static, Type } from 'typebox';
import { defineEvent } from './contract.ts';
import { defineUseCase } from './use-case.ts';

const id = Type.Integer({ minimum: 1 });
const byte = Type.Integer({ minimum: 0, maximum: 255 });
const milliseconds = Type.Integer({ minimum: 0 });
const imei = Type.String({ pattern: '^[1-9][0-9A-F]{0,19}$' });
const fileId = Type.String({ pattern: '^[0-9a-f]{24}$' });
/** Number of an alarm, made by platform-api: unguessable, as whoever knows it may send files. It travels as the 32 bytes of T/JSATL 12-2017 table 4-21. */
const alarmNo = Type.String({ pattern: '^[0-9a-f]{32}$' });
const alarmTagHex = Type.String({ pattern: '^([0-9a-f]{2}){16,64}$' });
const stringEnum = <const T extends readonly string[]>(values: T) =>
  Type.Unsafe<T[number]>({ type: 'string', enum: [...values] });

/** Kinds of files that terminals send; `other` are logs and data beside an alarm. */
export const mediaFileKinds = ['image', 'audio', 'video', 'other'] as const;

/** What made a terminal send a file. */
export const mediaFileSources = ['capture', 'timer', 'alarm'] as const;

/**
 * A file that a terminal has sent (0x0801, or an attachment of an alarm) is on disk or in object storage: in the stream MEDIA on `mediaStoredSubject`, with
 * `<fileId>-<receivedAtMs>` as `Nats-Msg-Id`: a file that is sent again is told of again, as its record may be gone by then. Whoever reads it meets it at least once.
 */
export const mediaStored = defineEvent({
  subject: 'media-file.*.stored',
  schema: Type.Object({
    /** The same for the same file of the same terminal, however often it is sent. */
    fileId,
    /** Canonical number. */
    imei,
    /** The upload-ftp pod that has it; `any` once it is in object storage. */
    server: Type.String({ pattern: '^[A-Za-z0-9_-]{1,128}$' }),
    kind: stringEnum(mediaFileKinds),
    mimeType: Type.String({ minLength: 3, maxLength: 100 }),
    /** An alarm may count a file that its terminal has without a byte. */
    sizeBytes: Type.Integer({ minimum: 0 }),
    channel: byte,
    source: stringEnum(mediaFileSources),
    /** Id that the terminal has given it in 0x0800 and 0x0801; null for attachments. */
    multimediaId: Type.Union([Type.Integer({ minimum: 0, maximum: 4_294_967_295 }), Type.Null()]),
    /** When it was taken, on the terminal's own clock (`2026-11-22T10:00:00`), as far as that was told. */
    takenAt: Type.Union([Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d$' }), Type.Null()]),
    receivedAtMs: milliseconds,
    place: Type.Union([
      Type.Object({
        latitude: Type.Number({ minimum: -90, maximum: 90 }),
        longitude: Type.Number({ minimum: -180, maximum: 180 }),
      }),
      Type.Null(),
    ]),
    /** The alarm that it belongs to, as `expectAttachments` named it. */
    attachment: Type.Union([
      Type.Object({
        alarmNo,
        accountId: id,
        vehicleId: id,
        notificationId: id,
        /** The file's name at the terminal. */
        name: Type.String({ maxLength: 255 }),
      }),
      Type.Null(),
    ]),
  }),
});

/** Payload of `mediaStored`. */
export type MediaStored = Static<typeof mediaStored.schema>;

/** Where files of one terminal are told; `imei` is the canonical number. */
export const mediaStoredSubject = (imei: string): string => `media-file.${imei}.stored`;

/**
 * An alarm counts files that its terminal holds (T/JSATL 12-2017): subject in the work-queue stream ATTACHMENTS, stored with the report that told of it and done once
 * the terminal has been asked for them, or never will be.
 */
export const attachmentsRequested = defineEvent({
  subject: 'attachments.wanted.*',
  schema: Type.Object({
    accountId: id,
    vehicleId: id,
    imei,
    /** Of the alarm's notification. */
    dedupeKey: Type.String({ minLength: 1, maxLength: 512 }),
    /** The alarm's tag (table 4-16) as the terminal sent it: 16, 38, 39 or 40 bytes. */
    tagHex: alarmTagHex,
    count: Type.Integer({ minimum: 1, maximum: 255 }),
    /** When the alarm was, ms. */
    atMs: milliseconds,
  }),
});

/** Payload of `attachmentsWanted`. */
export type AttachmentsRequested = Static<typeof attachmentsRequested.schema>;

/** Subject of a terminal's wanted attachments. */
export const attachmentsRequestedSubject = (imei: string): string => `attachments.wanted.${imei}`;

/** Tells upload-ftp that a terminal is going to be asked for the attachments of an alarm, and where it shall send them. Asked again, it is the same expectation. */
export const expectAttachments = defineUseCase({
  subject: 'upload-ftp.expect-attachments',
  request: Type.Object({
    alarmNo,
    imei,
    accountId: id,
    vehicleId: id,
    notificationId: id,
    count: Type.Integer({ minimum: 1, maximum: 255 }),
    /** How long the terminal may take. */
    lifetimeMs: Type.Integer({ minimum: 1 }),
  }),
  result: Type.Object({
    host: Type.String({ minLength: 1, maxLength: 255 }),
    tcpPort: Type.Integer({ minimum: 1, maximum: 65_535 }),
  }),
});

/** Asks the pod that has a terminal's file to remove it; `any` once it is in object storage. Removing what is not there succeeds. */
export const removeMediaFile = (podId: string) => {
  if (!/^[A-Za-z0-9_-]{1,128}$/.test(podId)) throw new RangeError(`${podId} is no pod id`);
  return defineUseCase({
    subject: `upload-ftp.pod.${podId}.remove-media-file`,
    request: Type.Object({
      imei,
      fileId,
      /** What was stored at this moment or later stays: the same file may have come again since. Absent: it goes whenever it was stored. */
      storedBeforeMs: Type.Optional(milliseconds),
    }),
    result: Type.Object({}),
  });
};
