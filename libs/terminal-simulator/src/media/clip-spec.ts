import { createHash } from 'node:crypto';

/** Video codecs of a simulated camera. */
export type VideoCodec = 'h264' | 'h265';

/** Audio codecs of a simulated camera. `adpcm` is IMA ADPCM (PT 26); `aac-raw` is AAC without ADTS, 44.1 kHz stereo. */
export type AudioCodec = 'g711a' | 'g711u' | 'g726' | 'adpcm' | 'aac' | 'aac-raw' | 'none';

/** Content of a camera: a short moving picture with a number drawn into it, and a tone. It is sent in a loop. */
export interface ClipSpec {
  codec: VideoCodec;
  width: number;
  height: number;
  fps: number;
  /** Pictures from one key frame to the next. */
  gop: number;
  seconds: number;
  bitrateKbps: number;
  audio: AudioCodec;
  /** Pitch of the tone, which distinguishes channels by ear. */
  toneHz: number;
  /** Adds the 4-byte Hisilicon header before each audio frame; ADPCM always has it. */
  hisiliconHeader: boolean;
  /** Digits and dashes drawn into the picture: the vehicle's number. */
  stamp: string;
}

/** Small H.264 clip with G.711A audio, as most cameras send. */
export const defaultClipSpec: ClipSpec = {
  codec: 'h264',
  width: 640,
  height: 360,
  fps: 15,
  gop: 30,
  seconds: 10,
  bitrateKbps: 500,
  audio: 'g711a',
  toneHz: 440,
  hisiliconHeader: false,
  stamp: '',
};

/**
 * Version of the clip encoding; increase it with every change of the encoding, so that old cache files are not used.
 */
const recipeVersion = 4;

/** Returns the name of a clip's files in the cache. */
export function clipKey(spec: ClipSpec): string {
  const text = JSON.stringify([recipeVersion, ...Object.entries(spec).toSorted(([a], [b]) => (a < b ? -1 : 1))]);
  return createHash('sha256').update(text).digest('hex').slice(0, 24);
}

/** Applies defaults and rejects values that no encoder accepts. */
export function resolveClipSpec(partial: Partial<ClipSpec>): ClipSpec {
  const spec = { ...defaultClipSpec, ...partial };
  if (!Number.isInteger(spec.fps) || spec.fps < 1 || spec.fps > 60) throw new RangeError('clip fps must be 1 to 60');
  if (!Number.isInteger(spec.gop) || spec.gop < 1) throw new RangeError('clip gop must be at least 1');
  if (spec.width % 2 !== 0 || spec.height % 2 !== 0) throw new RangeError('clip width and height must be even');
  if (!(spec.seconds > 0 && spec.seconds <= 600)) throw new RangeError('clip seconds must be above 0 and at most 600');
  if (!/^[0-9 -]*$/.test(spec.stamp)) throw new RangeError('clip stamp may contain only digits, spaces and dashes');
  return spec;
}
