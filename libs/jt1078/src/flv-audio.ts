import { type AacConfig, encodeAudioSpecificConfig } from './aac.ts';
import { createTag, type FlvTag } from './flv-tag.ts';
import type { Mp3Header } from './mp3.ts';

/** FLV sound formats. */
export const FlvSound = { MP3: 2, G711A: 7, G711U: 8, AAC: 10 } as const;

// In FLV, AAC always declares 44.1 kHz stereo, and G.711 implies 8 kHz mono.
const aacSequencePrefix = Buffer.from([0xaf, 0]);
const aacFramePrefix = Buffer.from([0xaf, 1]);
const g711aPrefix = Buffer.from([0x72]);
const g711uPrefix = Buffer.from([0x82]);

/** Creates the tag with the AudioSpecificConfig, which a viewer needs before the first AAC frame. */
export const createAacSequenceHeader = (config: AacConfig, timestampMs: number): FlvTag =>
  createTag('audio', timestampMs, [aacSequencePrefix, encodeAudioSpecificConfig(config)], { isSequenceHeader: true });

/** Creates the tag of one raw AAC frame (without ADTS header). */
export const createAacTag = (raw: Uint8Array, timestampMs: number): FlvTag =>
  createTag('audio', timestampMs, [aacFramePrefix, raw]);

/** Creates the tag of unmodified G.711, for players other than browsers. */
export const createG711Tag = (law: 'alaw' | 'mulaw', data: Uint8Array, timestampMs: number): FlvTag =>
  createTag('audioCopy', timestampMs, [law === 'alaw' ? g711aPrefix : g711uPrefix, data]);

/** Creates the tag of one MP3 frame. FLV supports only these rates; players read the header of the frame itself. */
export function createMp3Tag(data: Uint8Array, header: Mp3Header, timestampMs: number): FlvTag {
  const rate = header.sampleRate > 32_000 ? 3 : header.sampleRate > 16_000 ? 2 : 1;
  const first = (FlvSound.MP3 << 4) | (rate << 2) | 2 | (header.channels > 1 ? 1 : 0);
  return createTag('audio', timestampMs, [Buffer.from([first]), data]);
}
