import { type Static, Type } from 'typebox';
import { stringEnum } from '../../platform/fields.ts';
import { nullable, recordId, time } from '../../platform/schemas.ts';

/** Qualities of live video: the sub stream and the main stream. */
const streamTypes = ['LOW', 'HIGH'] as const;
export type StreamType = (typeof streamTypes)[number];

/** Progress of a start. */
const streamPhases = ['waking', 'requested', 'connecting', 'streaming'] as const;
export type StreamPhase = (typeof streamPhases)[number];

/** A live stream without viewers ends after this time. */
export const autoStopSeconds = 60 as const;

const channelId = (description: string) =>
  Type.Integer({ minimum: 1, maximum: 255, alias: 'channelId', description, examples: [1] });

const streamType = Type.String({
  pattern: '^([Ll][Oo][Ww]|[Hh][Ii][Gg][Hh])$',
  errorMessage: 'must be LOW or HIGH',
  alias: 'streamType',
  description: 'LOW (default): the sub stream. HIGH: the main stream. Case does not matter.',
  examples: ['HIGH'],
});

export const startStreamBody = Type.Object({
  channel_id: Type.Optional(channelId('Camera channel; 1 by default.')),
  stream_type: Type.Optional(streamType),
  audio: Type.Optional(Type.Boolean({ description: 'False: video only. Default: true.', examples: [true] })),
  wake: Type.Optional(Type.Boolean({ description: 'Wakes a sleeping device first. Default: true.' })),
});
export type StartStreamBody = Static<typeof startStreamBody>;

export const stopStreamBody = Type.Object({
  channel_id: Type.Optional(channelId('Camera channel; all channels if absent.')),
  force: Type.Optional(
    Type.Boolean({
      description: 'Stops the stream although others watch it. Requires the permission commands.',
      examples: [false],
    }),
  ),
});
export type StopStreamBody = Static<typeof stopStreamBody>;

export const getStreamQuery = Type.Object({
  channel_id: Type.Optional(channelId('Camera channel; 1 by default.')),
  stream_type: Type.Optional(streamType),
  auto_start: Type.Optional(
    Type.Boolean({ alias: 'autoStart', description: 'False: 404 instead of a start if the channel does not stream.' }),
  ),
});
export type GetStreamQuery = Static<typeof getStreamQuery>;

const playbackFields = {
  playback_id: Type.String({ pattern: '^[0-9a-f]{24}$' }),
  from: time,
  to: time,
  position: time,
  pace: Type.Integer({ minimum: 1, maximum: 16, description: 'Speed: 1, 2, 4, 8 or 16 times.' }),
};

const streamFields = {
  vehicle_id: recordId,
  imei: Type.String(),
  channel_id: Type.Integer({ minimum: 0 }),
  stream_type: stringEnum(streamTypes),
  status: stringEnum(['starting', 'streaming', 'stopped'], {
    description: 'starting: the camera has accepted and sent nothing yet.',
  }),
  stream_url: Type.String({ description: 'HTTP-FLV; opens without headers until `token_expires_at`.' }),
  ws_flv_url: nullable(Type.String({ description: 'The same FLV in binary messages of a websocket.' })),
  hls_url: nullable(
    Type.String({ description: 'HLS, for players that cannot play FLV, such as iPhones; with the same token.' }),
  ),
  talk_url: nullable(
    Type.String({
      description:
        'Address of the websocket to talk to the driver, with a token of its own; null for callers who may not talk.',
    }),
  ),
  token_expires_at: time,
  video_codec: nullable(stringEnum(['h264', 'h265'])),
  audio_codec: nullable(Type.String()),
  width: nullable(Type.Integer({ minimum: 0 })),
  height: nullable(Type.Integer({ minimum: 0 })),
  phase: nullable(
    stringEnum(streamPhases, {
      description:
        'Progress of a start: the device is woken, the camera is requested, it connects, it streams. Null for a stopped stream.',
    }),
  ),
  reason: nullable(
    Type.Object(
      { code: Type.String(), text: Type.String() },
      { description: 'Why a stream stopped or did not start; null otherwise.' },
    ),
  ),
  viewers: Type.Integer({ minimum: 0 }),
  started_at: nullable(time),
  auto_stop_seconds: Type.Literal(autoStopSeconds, {
    description: 'Time without viewers after which the stream ends.',
  }),
};

export const streamResponseSchema = Type.Object(
  {
    ...streamFields,
    kind: stringEnum(['live', 'history'], { description: 'history: a recording of the camera.' }),
    playback: nullable(
      Type.Object(playbackFields, { description: 'The recording in events of a playback; null otherwise.' }),
    ),
  },
  { title: 'Stream' },
);

export const playbackResponseSchema = Type.Object(
  {
    ...streamFields,
    kind: Type.Literal('history'),
    ...playbackFields,
    started_by_name: nullable(
      Type.String({ description: 'The user who started it; null for users of other accounts.' }),
    ),
  },
  { title: 'Playback' },
);
export type PlaybackResponse = Static<typeof playbackResponseSchema>;
export type StreamResponse = Static<typeof streamResponseSchema>;
