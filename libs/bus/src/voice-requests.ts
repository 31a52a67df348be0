import { Type } from 'typebox';
import { defineUseCase } from './use-case.ts';

/** Identifies voice in Redis, from the upload of a file until the last vehicle has played it. */
const voiceId = Type.String({ pattern: '^[0-9a-f]{32}$' });
const seconds = Type.Number({ minimum: 0 });

/** Decodes an audio file in Redis to PCM, which replaces it. Served by media pods, which have ffmpeg. */
export const decodeVoice = defineUseCase({
  subject: 'jt1078-media.decode-voice',
  request: Type.Object({ voiceId }),
  result: Type.Object({ seconds }),
});

/** Plays decoded voice to the driver of one device. */
export const broadcastVoice = defineUseCase({
  subject: 'device-api.broadcast-voice',
  request: Type.Object({
    imei: Type.String({ pattern: '^[1-9][0-9A-F]{0,19}$' }),
    channel: Type.Integer({ minimum: 0, maximum: 255 }),
    voiceId,
  }),
  result: Type.Object({ seconds }),
});
