import { SeededRandom } from '@fleet/testing';
import { describe, expect, it } from '@jest/globals';
import { fromS16le, toS16le } from './g711.ts';
import { G726Decoder, G726Encoder } from './g726-codec.ts';
import { ffmpeg } from './testing/ffmpeg.ts';

/** At 40 kbit/s ffmpeg leaks the zero predictor faster than the standard. */
const codeSizesOfFfmpeg = [2, 3, 4] as const;
/** ffmpeg rounds the scale factor differently from the standard, so that the samples are not identical. */
const toleranceDb = 3;

/** Two seconds at 8 kHz, like a voice: harmonics whose pitch and loudness change, and noise. */
const pcm = createVoice(new SeededRandom(1));

function createVoice(random: SeededRandom): Int16Array {
  let phase = 0;
  return Int16Array.from({ length: 16_000 }, (_unused, index) => {
    phase += 0.1 + 0.03 * Math.sin(index / 2_000);
    const loudness = 3_000 + 2_500 * Math.sin(index / 900);
    const harmonics = [1, 2, 3, 4, 5, 7].reduce((sum, order) => sum + Math.sin(phase * order) / order, 0);
    return Math.round(loudness * (harmonics + 2 * (random.next() - 0.5)));
  });
}

/** Returns the ratio of signal to noise in decibels. */
function signalToNoiseDb(original: Int16Array, decoded: Int16Array): number {
  let signal = 0;
  let noise = 0;
  for (let index = 800; index < original.length; index += 1) {
    signal += (original[index] ?? 0) ** 2;
    noise += ((original[index] ?? 0) - (decoded[index] ?? 0)) ** 2;
  }
  return 10 * Math.log10(signal / noise);
}

const raw = ['-ar', '8000', '-ac', '1'];

const decodeByFfmpeg = (data: Buffer, codeSize: number): Int16Array =>
  fromS16le(
    ffmpeg(['-f', 'g726le', '-code_size', String(codeSize), ...raw, '-i', 'pipe:0', '-f', 's16le', 'pipe:1'], data),
  );

const encodeByFfmpeg = (codeSize: number): Buffer =>
  ffmpeg(
    ['-f', 's16le', ...raw, '-i', 'pipe:0', '-c:a', 'g726le', '-code_size', String(codeSize), '-f', 'g726le', 'pipe:1'],
    toS16le(pcm),
  );

describe('G.726', () => {
  it.each([
    [2, 6],
    [3, 10],
    [4, 15],
    [5, 20],
  ] as const)('preserves a voice with %i bits per code', (codeSize, minimumDb) => {
    const decoded = new G726Decoder(codeSize).decode(new G726Encoder(codeSize).encode(pcm));
    expect(decoded).toHaveLength(pcm.length);
    expect(signalToNoiseDb(pcm, decoded)).toBeGreaterThan(minimumDb);
  });

  it.each(codeSizesOfFfmpeg)('decodes what ffmpeg encodes with %i bits per code', (codeSize) => {
    const data = encodeByFfmpeg(codeSize);
    const reference = signalToNoiseDb(pcm, decodeByFfmpeg(data, codeSize));
    expect(signalToNoiseDb(pcm, new G726Decoder(codeSize).decode(data))).toBeGreaterThan(reference - toleranceDb);
  });

  it.each(codeSizesOfFfmpeg)('encodes what ffmpeg decodes with %i bits per code', (codeSize) => {
    const data = new G726Encoder(codeSize).encode(pcm);
    const reference = signalToNoiseDb(pcm, new G726Decoder(codeSize).decode(data));
    expect(signalToNoiseDb(pcm, decodeByFfmpeg(data, codeSize))).toBeGreaterThan(reference - toleranceDb);
  });

  it('continues over frames like over one', () => {
    const encoder = new G726Encoder(4);
    const frames = Array.from({ length: 100 }, (_unused, index) =>
      encoder.encode(pcm.subarray(index * 160, (index + 1) * 160)),
    );
    expect(Buffer.concat(frames).equals(new G726Encoder(4).encode(pcm))).toBe(true);
  });

  it('rejects a frame that does not fill whole bytes', () => {
    expect(() => new G726Encoder(4).encode(new Int16Array(3))).toThrow('multiple of 8');
  });
});
