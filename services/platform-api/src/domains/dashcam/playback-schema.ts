import { type Static, Type } from 'typebox';
import { stringEnum } from '../../platform/fields.ts';
import { timeParameter } from '../../platform/timestamps.ts';

const channel = {
  channel_id: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 255, alias: 'channelId', description: 'Camera channel; 1 by default.' }),
  ),
};

export const playbackQuery = Type.Object(channel);

export const startPlaybackBody = Type.Object({
  ...channel,
  from: Type.String({ ...timeParameter, description: 'RFC 3339, or milliseconds since 1970.' }),
  to: Type.String({ ...timeParameter, description: 'At most 24 hours after `from`.' }),
  stream_type: Type.Optional(
    stringEnum(['LOW', 'HIGH'], { description: 'LOW: the sub stream. HIGH: the main stream. Either if absent.' }),
  ),
  memory_type: Type.Optional(
    Type.Integer({ minimum: 0, maximum: 2, description: '0 (default): any. 1: main storage. 2: backup storage.' }),
  ),
  takeover: Type.Optional(
    Type.Boolean({ description: 'True: ends the recording that another user plays on the channel.' }),
  ),
});
export type StartPlaybackBody = Static<typeof startPlaybackBody>;

export const controlPlaybackBody = Type.Object({
  ...channel,
  playback_control: Type.Integer({
    minimum: 0,
    maximum: 6,
    description:
      '0 play, 1 pause, 2 stop, 3 fast forward, 4 keyframe rewind, 5 seek to drag_playback_time, 6 keyframe play.',
  }),
  fast_forward_rewind_times: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 5,
      description: 'With playback_control 3 or 4: 1 to 5 stand for 1, 2, 4, 8 and 16 times.',
    }),
  ),
  drag_playback_time: Type.Optional(
    Type.String({ ...timeParameter, description: 'Position of the seek; required with playback_control 5.' }),
  ),
});
export type ControlPlaybackBody = Static<typeof controlPlaybackBody>;
