import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { decodeAdpcm } from '@fleet/jt1078';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { getAudioFormat, splitAdts } from './audio-frames.ts';
import { type ClipOptions, createClip } from './clip.ts';
import { type AudioCodec, type ClipSpec, clipKey, resolveClipSpec, type VideoCodec } from './clip-spec.ts';
import { nalType, splitDelimitedStream, splitNalUnits } from './elementary-stream.ts';
import { clipFrameHashes, decodedFrameHashes } from './frame-hashes.ts';

const small: Partial<ClipSpec> = { width: 160, height: 120, fps: 10, gop: 5, seconds: 1, bitrateKbps: 100 };
// ffmpeg starts slowly on a busy machine.
jest.setTimeout(60_000);

let options: ClipOptions;

beforeAll(async () => {
  options = { cacheDir: await mkdtemp(path.join(os.tmpdir(), 'clips-')) };
});

afterAll(() => rm(options.cacheDir, { recursive: true }));

describe('createClip', () => {
  it.each<VideoCodec>(['h264', 'h265'])('creates %s access units that decode to one picture each', async (codec) => {
    const clip = await createClip({ ...small, codec, stamp: '0138-1' }, options);
    expect(clip.videoFrames).toHaveLength(10);
    expect(clip.videoFrames.flatMap((frame) => (frame.isKeyFrame ? [frame.index] : []))).toEqual([0, 5]);
    const joined = path.join(options.cacheDir, `joined.${codec}`);
    await writeFile(joined, Buffer.concat(clip.videoFrames.map((frame) => frame.data)));
    const hashes = await clipFrameHashes(clip);
    expect(hashes).toHaveLength(10);
    expect(new Set(hashes).size).toBe(10);
    expect(await decodedFrameHashes(joined, { format: codec === 'h264' ? 'h264' : 'hevc' })).toEqual(hashes);
  });

  it('creates parameter sets in every key frame, no delimiters and no B slices', async () => {
    const clip = await createClip({ ...small, stamp: '0138-1' }, options);
    const types = clip.videoFrames.map((frame) => splitNalUnits(frame.data).map((unit) => nalType(unit, 'h264')));
    expect(types[5]).toEqual(expect.arrayContaining([7, 8, 5]));
    expect(types[6]).toEqual([1]);
    expect(types.flat()).not.toContain(9);
  });

  it('reads a clip from the cache the second time, and shares it within the process', async () => {
    const messages: string[] = [];
    const spec = { ...small, stamp: '77' };
    const progressMessages = { ...options, onProgress: (message: string) => messages.push(message) };
    const [first, second] = await Promise.all([createClip(spec, progressMessages), createClip(spec, progressMessages)]);
    expect(first).toBe(second);
    expect(messages).toEqual(['creating clip 160x120 h264 77']);
    expect((await readdir(options.cacheDir)).filter((name) => name.endsWith('.part'))).toEqual([]);
  });

  it('draws the number into the picture', async () => {
    const [plain, stamped] = await Promise.all([
      createClip({ ...small, stamp: '1' }, options),
      createClip({ ...small, stamp: '2' }, options),
    ]);
    const [one, two] = [await clipFrameHashes(plain), await clipFrameHashes(stamped)];
    expect(one[0]).not.toBe(two[0]);
  });

  it('throws an error that names ffmpeg when it is not installed', async () => {
    const missing = { ...options, ffmpegPath: '/nonexistent/ffmpeg' };
    await expect(createClip({ ...small, stamp: '99' }, missing)).rejects.toThrow(/install ffmpeg/);
  });
});

describe('audio of a clip', () => {
  it.each<[AudioCodec, number, number]>([
    ['g711a', 25, 320],
    ['g711u', 25, 320],
    ['g726', 25, 160],
    ['adpcm', 25, 168],
  ])('%s has %i frames per second of %i bytes', async (audio, count, bytes) => {
    const clip = await createClip({ ...small, audio }, options);
    expect(clip.audioFrames).toHaveLength(count);
    expect(new Set(clip.audioFrames.map((frame) => frame.data.length))).toEqual(new Set([bytes]));
    expect(clip.audioPayloadType).toBe(getAudioFormat(audio)?.payloadType);
  });

  it('ADPCM has the Hisilicon header and decodes to the tone', async () => {
    const clip = await createClip({ ...small, audio: 'adpcm' }, options);
    const frame = clip.audioFrames[10]?.data ?? Buffer.alloc(0);
    expect(frame.subarray(0, 4)).toEqual(Buffer.from([0, 1, 82, 0]));
    const loudest = Math.max(...decodeAdpcm(frame));
    expect(loudest).toBeGreaterThan(1000);
  });

  it('G.711 has the header if requested', async () => {
    const clip = await createClip({ ...small, audio: 'g711a', hisiliconHeader: true }, options);
    expect(clip.audioFrames[0]?.data.subarray(0, 4)).toEqual(Buffer.from([0, 1, 160, 0]));
  });

  it('AAC is split into ADTS frames', async () => {
    const clip = await createClip({ ...small, audio: 'aac' }, options);
    expect(clip.audioFrames.length).toBeGreaterThanOrEqual(8);
    for (const { data } of clip.audioFrames) expect(splitAdts(data)).toEqual([data]);
  });

  it('is empty for the codec none', async () => {
    const clip = await createClip({ ...small, audio: 'none' }, options);
    expect(clip.audioFrames).toEqual([]);
    expect(clip.audioPayloadType).toBeNull();
  });
});

describe('splitDelimitedStream', () => {
  it('accepts start codes of three and four bytes, and several slices of one picture', () => {
    const aud = '0000000109f0';
    const stream = Buffer.from(
      `${aud}0000000167aa0000000168bb00000165c1c200000165c3c4${aud}0000000141d1${aud}0000000141e1`,
      'hex',
    );
    const units = splitDelimitedStream(stream, 'h264');
    expect(units.map((unit) => unit.isKeyFrame)).toEqual([true, false, false]);
    expect(units[0]?.data.toString('hex')).toBe('0000000167aa0000000168bb00000165c1c200000165c3c4');
    expect(units[2]?.data.toString('hex')).toBe('0000000141e1');
  });
});

describe('clip specification', () => {
  it('rejects values that cannot be encoded', () => {
    expect(() => resolveClipSpec({ width: 161 })).toThrow(/even/);
    expect(() => resolveClipSpec({ fps: 0 })).toThrow(/fps/);
    expect(() => resolveClipSpec({ stamp: "1':drawbox" })).toThrow(/stamp/);
  });

  it('has a key that depends on the content, not on the order of the settings', () => {
    const { width, ...rest } = resolveClipSpec({});
    expect(clipKey({ ...rest, width })).toBe(clipKey(resolveClipSpec({})));
    expect(clipKey(resolveClipSpec({ stamp: '1' }))).not.toBe(clipKey(resolveClipSpec({})));
  });
});
