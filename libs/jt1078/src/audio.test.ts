import { propertySettings } from '@fleet/testing';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { AdtsSplitter, encodeAudioSpecificConfig, parseAdts, parseAudioSpecificConfig } from './aac.ts';
import { AdpcmEncoder, decodeAdpcm } from './adpcm.ts';
import { decodeG711A, decodeG711U, encodeG711A, encodeG711U, fromS16le, toS16le } from './g711.ts';
import { getG726CodeSize } from './g726.ts';
import { addHisiliconHeader, hasHisiliconHeader, stripHisiliconHeader } from './hisilicon.ts';
import { parseMp3 } from './mp3.ts';
import { encodeAdtsHeader } from './testing/encode-adts-header.ts';
import { encodeAudio, ffmpeg } from './testing/ffmpeg.ts';

fc.configureGlobal(propertySettings);

const every = Buffer.from(Array.from({ length: 256 }, (_, code) => code));

describe('G.711 (payload types 6 and 7)', () => {
  it.each([
    ['A-law', 'alaw', decodeG711A, encodeG711A],
    ['mu-law', 'mulaw', decodeG711U, encodeG711U],
  ] as const)('%s: decodes like ffmpeg, and encodes every decoded code to itself', (_case, format, decode, encode) => {
    const pcm = ffmpeg(['-f', format, '-ar', '8000', '-ac', '1', '-i', 'pipe:0', '-f', 's16le', 'pipe:1'], every);
    expect(toS16le(decode(every)).equals(pcm)).toBe(true);
    const again = encode(decode(every));
    // mu-law has two zeros: 7f is encoded as ff.
    expect([...again].map((code, i) => (format === 'mulaw' && i === 0x7f ? 0x7f : code))).toEqual([...every]);
  });

  it('decodes and encodes reference values', () => {
    expect([...decodeG711A(Buffer.from('d5552aaa', 'hex'))]).toEqual([8, -8, -32_256, 32_256]);
    expect([...decodeG711U(Buffer.from('ff7f0080', 'hex'))]).toEqual([0, 0, -32_124, 32_124].map((v) => v + 0));
    expect(encodeG711A(Int16Array.of(0, 32_767, -32_768)).toString('hex')).toBe('d5aa2a');
    expect(encodeG711U(Int16Array.of(0, 32_767, -32_768)).toString('hex')).toBe('ff8000');
  });

  it('preserves every sample within the step of its segment', () => {
    fc.assert(
      fc.property(fc.integer({ min: -32_768, max: 32_767 }), (sample) => {
        for (const back of [
          decodeG711A(encodeG711A(Int16Array.of(sample))),
          decodeG711U(encodeG711U(Int16Array.of(sample))),
        ]) {
          expect(Math.abs((back[0] ?? 0) - sample)).toBeLessThanOrEqual(Math.max(16, Math.abs(sample) / 16));
        }
      }),
    );
  });
});

describe('Hisilicon header', () => {
  it('is detected by its length byte, for any codec', () => {
    const g711 = addHisiliconHeader(Buffer.alloc(320, 0xd5));
    expect(g711.subarray(0, 4).toString('hex')).toBe('0001a000');
    expect(addHisiliconHeader(Buffer.alloc(164)).subarray(0, 4).toString('hex')).toBe('00015200');
    expect(stripHisiliconHeader(g711).length).toBe(320);
    expect(hasHisiliconHeader(Buffer.from('0001a000d5d5', 'hex'))).toBe(false);
    expect(hasHisiliconHeader(Buffer.alloc(0))).toBe(false);
    expect(() => addHisiliconHeader(Buffer.alloc(512))).toThrow(RangeError);
  });
});

describe('IMA ADPCM (payload type 26)', () => {
  const tone = fromS16le(encodeAudio(['-f', 's16le'], 0.4));

  it.each([true, false])(
    'decodes its own encoding, each frame from its own state (Hisilicon header: %s)',
    (hisiliconHeader) => {
      const encoder = new AdpcmEncoder({ hisiliconHeader });
      const frames = Array.from({ length: 10 }, (_, i) => encoder.encode(tone.subarray(i * 320, (i + 1) * 320)));
      expect(frames.every((frame) => frame.length === (hisiliconHeader ? 168 : 164))).toBe(true);
      const pcm = frames.slice(1).flatMap((frame) => [...decodeAdpcm(frame)]);
      const error = Math.max(...pcm.map((sample, i) => Math.abs(sample - (tone[i + 320] ?? 0))));
      expect(error).toBeLessThan(600);
      // The state after a frame is in the header of the next frame.
      const state = decodeAdpcm(frames[3] ?? Buffer.alloc(0)).at(-1);
      expect(frames[4]?.readInt16LE(hisiliconHeader ? 4 : 0)).toBe(state);
    },
  );

  it('decodes the high nibble first', () => {
    expect([...decodeAdpcm(Buffer.from('0000000070', 'hex'))]).toEqual([11, 13]);
  });

  it('never throws on arbitrary bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (data) =>
        expect(decodeAdpcm(Buffer.from(data))).toBeInstanceOf(Int16Array),
      ),
    );
    expect(() => new AdpcmEncoder().encode(new Int16Array(3))).toThrow(RangeError);
  });
});

describe('AAC', () => {
  const adts = encodeAudio(['-c:a', 'aac', '-f', 'adts'], 1, 16_000);

  it('splits an ADTS stream into frames regardless of chunk sizes, skipping bytes in between', () => {
    const noisy = Buffer.concat([Buffer.from('xx'), adts]);
    const cut = (size: number): string[] => {
      const frames: string[] = [];
      const splitter = new AdtsSplitter((frame) => frames.push(frame.toString('hex')));
      for (let at = 0; at < noisy.length; at += size) splitter.push(noisy.subarray(at, at + size));
      return frames;
    };
    const whole = cut(noisy.length);
    expect(whole.join('')).toBe(adts.toString('hex'));
    for (const size of [1, 5, 64]) expect(cut(size)).toEqual(whole);
  });

  it('reads rate and channels from ADTS and writes an equal header', () => {
    const header = parseAdts(adts);
    expect(header).toMatchObject({ objectType: 2, sampleRate: 16_000, channels: 1, headerBytes: 7 });
    if (!header) throw new Error('no header');
    const own = encodeAdtsHeader(header, header.frameBytes - 7);
    expect(parseAdts(Buffer.concat([own, adts.subarray(7)]))).toEqual(header);
    expect(parseAdts(Buffer.from('0001a000d5d5d5d5', 'hex'))).toBeNull();
  });

  it.each([
    [8000, 1, '1588'],
    [16_000, 1, '1408'],
    [44_100, 1, '1208'],
    [44_100, 2, '1210'],
  ])('encodes and parses AudioSpecificConfig of %i Hz, %i channels as %s', (sampleRate, channels, hex) => {
    const config = { objectType: 2, sampleRate, channels };
    expect(encodeAudioSpecificConfig(config).toString('hex')).toBe(hex);
    expect(parseAudioSpecificConfig(Buffer.from(hex, 'hex'))).toEqual(config);
  });
});

describe('G.726 and MPEG audio', () => {
  it('derives the G.726 rate from the frame length', () => {
    expect([80, 120, 160, 200, 40, 33].map(getG726CodeSize)).toEqual([2, 3, 4, 5, 2, null]);
  });

  it('parses MPEG audio headers', () => {
    const mp3 = encodeAudio(
      ['-c:a', 'libmp3lame', '-write_xing', '0', '-id3v2_version', '0', '-f', 'mp3'],
      0.2,
      16_000,
    );
    expect(parseMp3(mp3)).toEqual({ sampleRate: 16_000, channels: 1, samples: 576 });
    expect(parseMp3(Buffer.from('fffb9000', 'hex'))).toEqual({ sampleRate: 44_100, channels: 2, samples: 1152 });
    expect(parseMp3(Buffer.from('000000000000', 'hex'))).toBeNull();
  });
});
