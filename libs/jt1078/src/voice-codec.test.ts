import { describe, expect, it } from '@jest/globals';
import { hasHisiliconHeader } from './hisilicon.ts';
import { PayloadType } from './tables.ts';
import { createVoiceEncoder, VoiceDecoder } from './voice-codec.ts';

const frameSamples = 320;
const tone = (at: number): Int16Array =>
  Int16Array.from({ length: frameSamples }, (_unused, index) => Math.round(8_000 * Math.sin((at + index) * 0.3)));

/** Returns the part of the energy of a frame that is at the frequency of the tone. */
function toneShare(pcm: Int16Array, at: number): number {
  let cosine = 0;
  let sine = 0;
  let energy = 0;
  for (const [index, sample] of pcm.entries()) {
    cosine += sample * Math.cos((at + index) * 0.3);
    sine += sample * Math.sin((at + index) * 0.3);
    energy += sample * sample;
  }
  return energy === 0 ? 0 : (2 * (cosine * cosine + sine * sine)) / (pcm.length * energy);
}

describe('voice', () => {
  it.each([
    ['G.711 A-law', PayloadType.G711A, {}],
    ['G.711 mu-law', PayloadType.G711U, {}],
    ['G.711 A-law with a Hisilicon header', PayloadType.G711A, { hasHisiliconHeader: true }],
    ['G.726 of 32 kbit/s', PayloadType.G726, {}],
    ['G.726 of 16 kbit/s', PayloadType.G726, { g726CodeSize: 2 }],
    ['G.726 of 40 kbit/s with a Hisilicon header', PayloadType.G726, { g726CodeSize: 5, hasHisiliconHeader: true }],
    ['ADPCM', PayloadType.ADPCMA, {}],
  ])('keeps its tone through %s', (_name, codec, options) => {
    const encoder = createVoiceEncoder(codec, options);
    const decoder = new VoiceDecoder();
    const frames = Array.from({ length: 20 }, (_unused, index) => encoder?.encode(tone(index * frameSamples)));
    const expectsHeader = codec === PayloadType.ADPCMA || 'hasHisiliconHeader' in options;
    expect(frames.every((frame) => hasHisiliconHeader(frame ?? Buffer.alloc(0)) === expectsHeader)).toBe(true);
    const decoded = frames.map((frame) => decoder.decode(codec, frame ?? Buffer.alloc(0)) ?? new Int16Array());
    expect(decoded.every(({ length }) => length === frameSamples)).toBe(true);
    const shares = decoded.map((pcm, index) => toneShare(pcm, index * frameSamples));
    // Adaptive codecs need some frames to adapt.
    expect(Math.min(...shares.slice(6))).toBeGreaterThan(0.9);
  });

  it('keeps its tone through frames of 20 ms of G.726 of 32 kbit/s, which are as long as 40 ms of 16 kbit/s', () => {
    const encoder = createVoiceEncoder(PayloadType.G726, { g726CodeSize: 4 });
    const decoder = new VoiceDecoder();
    const shares = Array.from({ length: 40 }, (_unused, index) => {
      const pcm = tone(index * 160).subarray(0, 160);
      const frame = encoder?.encode(pcm) ?? Buffer.alloc(0);
      expect(frame).toHaveLength(80);
      return toneShare(decoder.decode(PayloadType.G726, frame, index * 20) ?? new Int16Array(), index * 160);
    });
    expect(Math.min(...shares.slice(12))).toBeGreaterThan(0.9);
  });

  it('has no encoder and no decoder for AAC', () => {
    expect(createVoiceEncoder(PayloadType.AAC)).toBeNull();
    expect(new VoiceDecoder().decode(PayloadType.AAC, Buffer.alloc(10))).toBeNull();
  });
});
