import { type Static, Type } from 'typebox';
import { defineUseCase } from './use-case.ts';

const imei = Type.String({ pattern: '^[1-9][0-9A-F]{0,19}$' });
const channel = Type.Integer({ minimum: 1, maximum: 255 });
const captureId = Type.String({ pattern: '^[0-9a-f]{24}$' });
const seconds = (maximum: number) => Type.Integer({ minimum: 0, maximum });

/** Qualities of pictures, from the smallest. */
export const captureQualities = ['LOW', 'MEDIUM', 'HIGH', 'MAX'] as const;
const quality = Type.Unsafe<(typeof captureQualities)[number]>({ type: 'string', enum: [...captureQualities] });

/** Options of a capture: pictures, or a clip of live video. */
const captureOptions = {
  channel,
  kind: Type.Union([Type.Literal('photo'), Type.Literal('clip')]),
  quality,
  /** Number of pictures. */
  count: Type.Integer({ minimum: 1, maximum: 10 }),
  /** Time between two pictures. */
  intervalSeconds: seconds(60),
  /** Length of a clip. */
  durationSeconds: Type.Integer({ minimum: 1, maximum: 30 }),
  /** Wakes a sleeping terminal first. */
  wake: Type.Boolean(),
};

const optionsSchema = Type.Object(captureOptions);

/** Options of a capture. */
export type CaptureOptions = Static<typeof optionsSchema>;

/**
 * Captures pictures or a clip of a vehicle, for the video service, which has checked the caller. `capture` is the
 * record of the Platform API; `isEnded` is false if it was still pending after `waitSeconds`.
 */
export const captureMedia = defineUseCase({
  subject: 'platform-api.capture-media',
  request: Type.Object({
    imei,
    ...captureOptions,
    /** Chosen by the caller: a repeated request waits for the capture that the first one has started. */
    captureId: Type.Optional(captureId),
    waitSeconds: seconds(60),
    /** The caller, for whom the URLs of the files are created; null if no credential is required. */
    caller: Type.Union([
      Type.Object({
        kind: Type.Union([Type.Literal('user'), Type.Literal('key')]),
        id: Type.Integer({ minimum: 1 }),
      }),
      Type.Null(),
    ]),
    /** False: the caller may not see recorded video, so the response lists no files. */
    maySeeFiles: Type.Boolean(),
  }),
  result: Type.Object({
    isEnded: Type.Boolean(),
    capture: Type.Unsafe<Record<string, unknown>>({ type: 'object' }),
  }),
});

/**
 * Records live video of a channel on an upload-ftp pod, as one JPEG or as an MP4, and stores it like other files: MEDIA
 * reports it with the capture. The stream must have been requested. A repeated request stores no other file.
 * Throws `not_streaming` if the stream ends too early.
 */
export const recordLive = defineUseCase({
  subject: 'upload-ftp.record-live',
  request: Type.Object({
    captureId,
    imei,
    channel,
    kind: Type.Union([Type.Literal('image'), Type.Literal('video')]),
    /** Largest size of the picture; null keeps the size of the video. */
    box: Type.Union([
      Type.Object({ width: Type.Integer({ minimum: 1 }), height: Type.Integer({ minimum: 1 }) }),
      Type.Null(),
    ]),
    durationSeconds: Type.Integer({ minimum: 1, maximum: 30 }),
    hasAudio: Type.Boolean(),
  }),
  result: Type.Object({}),
});

/** Request of `recordLive`. */
export type LiveRecording = Static<typeof recordLive.request>;
