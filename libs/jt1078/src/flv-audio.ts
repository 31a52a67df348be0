import { type AacConfig, encodeAudioSpecificConfig } from './aac.ts';
import { createTag, type FlvTag } from './flv-tag.ts';
import type { Mp3Header } from './mp3.ts';

/** FLV sound formats. */
export const FlvSound = { MP3: 2, G711A: 7, G711U: 8, AAC: 10 } as const;

// AAC says 44.1 kHz stereo whatever it is; G.711 implies 8 kHz mono.
const aacSequencePrefix = Buffer.from([0xaf, 0]);
const aacFramePrefix = Buffer.from([0xaf, 1]);
const g711aPrefix = Buffer.from([0x72]);
const g711uPrefix = Buffer.from([0x82]);

/** The tag with the AudioSpecificConfig, which a viewer needs before the first AAC frame. */
export const createAacSequenceHeader = (config: AacConfig, timestampMs: number): FlvTag =>
  createTag('audio', timestampMs, [aacSequencePrefix, encodeAudioSpecificConfig(config)], { isSequenceHeader: true });

/** One raw AAC frame (no ADTS header). */
export const createAacTag = (raw: Uint8Array, timestampMs: number): FlvTag =>
  createTag('audio', timestampMs, [aacFramePrefix, raw]);

/** G.711 as it came, for players other than browsers. */
export const createG711Tag = (law: 'alaw' | 'mulaw', data: Uint8Array, timestampMs: number): FlvTag =>
  createTag('audioCopy', timestampMs, [law === 'alaw' ? g711aPrefix : g711uPrefix, data]);

/** One MP3 frame; FLV has no rates but these, players read the frame's own header. */
export function createMp3Tag(data: Uint8Array, header: Mp3Header, timestampMs: number): FlvTag {
  const rate = header.sampleRate > 32_000 ? 3 : header.sampleRate > 16_000 ? 2 : 1;
  const first = (FlvSound.MP3 << 4) | (rate << 2) | 2 | (header.channels > 1 ? 1 : 0);
  return createTag('audio', timestampMs, [Buffer.from([first]), data]);
}
