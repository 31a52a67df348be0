import { type Static, Type } from 'typebox';
import { defineEvent, defineRequest } from './contract.ts';
import { outcome } from './device-command.ts';

const streamKind = Type.Union([Type.Literal('live'), Type.Literal('history'), Type.Literal('talk')]);

/**
 * Event for the media pod that owns a stream: a partner controlled it over JT/T 1078, so timers and viewers follow.
 * Subject: `mediaControlSubject`.
 */
export const mediaControl = defineEvent({
  subject: 'media.*.control',
  schema: Type.Object({
    kind: streamKind,
    imei: Type.String(),
    channel: Type.Integer({ minimum: 0, maximum: 255 }),
    /**
     * ended: finish the viewers' responses and release the claim. paused, resumed: expect no data, expect data again.
     * restarted: timestamps restart (seek, speed). restarting: the camera is being requested; its first frames may
     * arrive before its response, or it may refuse. switched: main or sub stream, by 0x9102.
     */
    change: Type.Union([
      Type.Literal('ended'),
      Type.Literal('paused'),
      Type.Literal('resumed'),
      Type.Literal('restarting'),
      Type.Literal('restarted'),
      Type.Literal('switched'),
    ]),
    /** With switched: 0 main stream, 1 sub stream. */
    streamType: Type.Optional(Type.Integer({ minimum: 0, maximum: 1 })),
    /**
     * With restarting and restarted: `arrival` for playback at a speed other than 1, backwards or in leaps. Unchanged
     * if absent.
     */
    pace: Type.Optional(Type.Union([Type.Literal('device'), Type.Literal('arrival')])),
  }),
});

/** Returns the subject of stream changes for one media pod. */
export const mediaControlSubject = (podId: string): string => `media.${podId}.control`;

/** Sequence number per publisher, to drop events that arrive out of order. Clocks differ between hosts. */
export const eventSequence = Type.Object({
  by: Type.String({ maxLength: 100 }),
  sequence: Type.Integer({ minimum: 1 }),
});

/**
 * Identifies the camera request that caused a stream change (`requestId` of the `StreamRequest`). The requesting and
 * the receiving process differ, so `starting` may arrive after the camera's reaction.
 */
export const streamStartId = Type.String({ maxLength: 64 });

/** Trailer of the FLV response of a media pod: the reason of its end, if viewers need to know it. */
export const stopReasonTrailer = 'x-stop-reason';

/** Value of `stopReasonTrailer`. */
export type StreamStopReason = 'data_budget_spent' | 'moved';

/** Trailer of a stream that has moved to another pod: timestamp in milliseconds at which it continues. */
export const streamPositionTrailer = 'x-stream-position';

/** State of a live stream. */
const streamState = Type.Object({
  /** Canonical number. */
  imei: Type.String({ pattern: '^[1-9][0-9A-F]{0,19}$' }),
  channel: Type.Integer({ minimum: 0, maximum: 255 }),
  /** starting: the camera accepted and has sent nothing yet. */
  status: Type.Union([Type.Literal('starting'), Type.Literal('streaming'), Type.Literal('stopped')]),
  /** As in 0x9101: 0 main stream, 1 sub stream. */
  streamType: Type.Integer({ minimum: 0, maximum: 255 }),
  /** Null before the first key frame. */
  video: Type.Union([
    Type.Object({
      codec: Type.Union([Type.Literal('h264'), Type.Literal('h265')]),
      width: Type.Integer({ minimum: 0 }),
      height: Type.Integer({ minimum: 0 }),
    }),
    Type.Null(),
  ]),
  audioCodec: Type.Union([Type.String(), Type.Null()]),
  viewers: Type.Integer({ minimum: 0 }),
  startedAtMs: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
  /** Time of the change by the publisher's clock; several replicas forward it to websockets. */
  atMs: Type.Optional(Type.Integer({ minimum: 0 })),
  order: Type.Optional(eventSequence),
  /** Why it stopped; absent if unknown. */
  endReason: Type.Optional(
    Type.Union([
      Type.Literal('idle'),
      Type.Literal('noData'),
      Type.Literal('cameraLeft'),
      Type.Literal('stopped'),
      Type.Literal('dataBudgetSpent'),
      Type.Literal('shutdown'),
    ]),
  ),
  startId: Type.Optional(streamStartId),
});

/** Event: state of a live stream, published for each changed field. Lost while the broker is unavailable. */
export const streamChanged = defineEvent({ subject: 'stream.changed', schema: streamState });

/**
 * Event: progress of a recording that plays from a camera, each second, and its end. Lost while the broker is
 * unavailable.
 */
export const playbackProgress = defineEvent({
  subject: 'stream.playback-progress',
  schema: Type.Object({
    imei: Type.String({ pattern: '^[1-9][0-9A-F]{0,19}$' }),
    channel: Type.Integer({ minimum: 0, maximum: 255 }),
    /** Timestamp of the newest picture by the camera's clock, whose origin may be any; null before the first one. */
    timestampMs: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
    viewers: Type.Integer({ minimum: 0 }),
    isEnded: Type.Boolean(),
  }),
});

/** Payload of `playbackProgress`. */
export type PlaybackProgress = Static<typeof playbackProgress.schema>;

/** Event for every replica of device-api: a manager has taken over the talk with a device. */
export const talkTaken = defineEvent({
  subject: 'device-api.talk-taken',
  schema: Type.Object({
    imei: Type.String({ pattern: '^[1-9][0-9A-F]{0,19}$' }),
    /** Of the new talk. */
    talkId: Type.String({ maxLength: 64 }),
  }),
});

/** Payload of `streamChanged`. */
export type StreamChanged = Static<typeof streamChanged.schema>;

/** Returns the event of a stream that did not start. */
export const streamStatusEvent = (
  { imei, channel }: Pick<StreamChanged, 'imei' | 'channel'>,
  status: 'starting' | 'stopped',
  streamType = 0,
): StreamChanged => ({
  imei,
  channel,
  status,
  streamType,
  video: null,
  audioCodec: null,
  viewers: 0,
  startedAtMs: null,
  atMs: Date.now(),
});

/**
 * Queries the media pod that claimed a stream whether it runs there: a crashed pod's claim remains until it expires.
 */
export const queryStream = (podId: string) =>
  defineRequest({
    subject: `media.${podId}.stream`,
    request: Type.Object({
      kind: streamKind,
      imei: Type.String(),
      channel: Type.Integer({ minimum: 0, maximum: 255 }),
    }),
    reply: Type.Object({
      isRunning: Type.Boolean(),
      /** State of a live stream that runs there; absent for others, and from pods of the previous release. */
      state: Type.Optional(streamState),
    }),
  });

/** Switches a live stream between main and sub stream (0x9102) on the media pod that claimed it. */
export const switchStream = (podId: string) =>
  defineRequest({
    subject: `media.${podId}.switch`,
    request: Type.Object({
      imei: Type.String(),
      channel: Type.Integer({ minimum: 0, maximum: 255 }),
      /** As in 0x9101: 0 main stream, 1 sub stream. */
      streamType: Type.Integer({ minimum: 0, maximum: 1 }),
    }),
    reply: Type.Object({
      /** Null if the stream has this type already, or does not run there. */
      outcome: Type.Union([outcome, Type.Null()]),
    }),
  });
