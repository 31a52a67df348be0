import { copyFile, mkdtemp, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testEnv } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createSample, decodeFile, isFastStart, readCodecs, type SampleName } from '../testing/sample-clips.ts';
import { Ffmpeg, FfmpegError } from './ffmpeg.ts';
import { type ClipProbe, getRawFrameRate } from './probe-clip.ts';
import { NotConvertibleError, remuxClip } from './remux.ts';

// Real ffmpeg on a machine that may be busy.
jest.setTimeout(120_000);

let folder: string;
const samples = new Map<SampleName, Promise<string>>();
const sample = (name: SampleName): Promise<string> => {
  const made = samples.get(name) ?? createSample(folder, name);
  samples.set(name, made);
  return made;
};
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fleet-remux-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function remux(files: readonly string[], options: { timeoutMs?: number; signal?: AbortSignal } = {}) {
  const workDir = await mkdtemp(join(folder, 'work-'));
  const ffmpeg = new Ffmpeg({ path: testEnv('FFMPEG_PATH'), timeoutMs: options.timeoutMs ?? 60_000 });
  return remuxClip({ ffmpeg, files, workDir, clipMs: 2_000, signal: options.signal ?? new AbortController().signal });
}

describe('remuxClip with one file', () => {
  it.each([
    ['h264-pcma.avi', ['h264', 'aac']],
    ['h264-pcmu.flv', ['h264', 'aac']],
    ['h264-pcma.mov', ['h264', 'aac']],
    ['h264-g726.mkv', ['h264', 'aac']],
    ['h264-adpcm.avi', ['h264', 'aac']],
    ['h264-aac.mp4', ['h264', 'aac']],
    ['h264-aac.ts', ['h264', 'aac']],
    ['h264-mp2.ps', ['h264', 'aac']],
    ['h264-silent.mp4', ['h264']],
    ['h264-raw.h264', ['h264']],
    ['h265-raw.h265', ['hevc']],
    ['h265-pcma.mkv', ['hevc', 'aac']],
  ] as const)(
    'remuxes %s with unchanged frames, browser-compatible sound and the index at the start',
    async (name, codecs) => {
      const source = await sample(name);
      const output = await remux([source]);
      expect(await readCodecs(output)).toEqual(codecs);
      expect(await isFastStart(output)).toBe(true);
      const [before, after] = [await decodeFile(source), await decodeFile(output)];
      expect(after.pictures).toBe(30);
      expect(after.pictureHash).toBe(before.pictureHash);
      expect(after.videoSeconds).toBeCloseTo(2, 0);
      expect(Math.abs(after.soundSeconds - (codecs.length === 2 ? 2 : 0))).toBeLessThan(0.4);
    },
  );
});

describe('remuxClip with several files', () => {
  it.each([
    ['files of one format', ['h264-pcma.avi', 'h264-pcma.avi', 'h264-pcma.avi']],
    ['MPEG-TS', ['h264-aac.ts', 'h264-aac.ts', 'h264-aac.ts']],
    ['files of several formats', ['h264-aac.mp4', 'h264-pcmu.flv', 'h264-mp2.ps']],
    ['a file without sound', ['h264-silent.mp4', 'h264-pcma.avi', 'h264-aac.mp4']],
    ['files without video', ['picture.jpg', 'h264-aac.mp4', 'h264-pcma.avi', 'sound-only.mp4', 'h264-pcma.mov']],
  ] as const)('joins %s in order, with their sound', async (_case, names) => {
    const output = await remux(await Promise.all(names.map(sample)));
    const { pictures, videoSeconds, soundSeconds } = await decodeFile(output);
    expect(pictures).toBe(90);
    expect(Math.abs(videoSeconds - 6)).toBeLessThan(0.7);
    expect(Math.abs(soundSeconds - 6)).toBeLessThan(0.8);
    expect(await isFastStart(output)).toBe(true);
  });

  it.each(['h264-raw.h264', 'h265-raw.h265'] as const)(
    'joins %s cut within a frame to the original stream',
    async (name) => {
      const bytes = await readFile(await sample(name));
      const cut = Math.floor(bytes.length / 2) + 7;
      const pieces = ["1 | 'a'", '-2%d.bin'].map((piece) => join(folder, `${name}-${piece}`));
      await writeFile(pieces[0] ?? '', bytes.subarray(0, cut));
      await writeFile(pieces[1] ?? '', bytes.subarray(cut));
      const [whole, joined] = [await decodeFile(await sample(name)), await decodeFile(await remux(pieces))];
      expect(joined.pictureHash).toBe(whole.pictureHash);
      expect(joined.videoSeconds).toBeCloseTo(2, 1);
    },
  );
});

describe('remuxClip with unsupported files', () => {
  const refusal = (files: readonly string[]) => remux(files).catch((error: unknown) => error);

  it('reports a codec that MP4 players cannot show', async () => {
    expect(await refusal([await sample('vp8.mkv')])).toEqual(
      new NotConvertibleError("The clip's video is vp8, which MP4 players cannot show."),
    );
  });

  it('rejects playlists, file lists, pictures and noise without opening the files they name', async () => {
    const secret = join(folder, 'secret.ts');
    await copyFile(await sample('h264-aac.ts'), secret);
    const contents = [
      `#EXTM3U\n#EXT-X-TARGETDURATION:2\n#EXTINF:2,\nfile://${secret}\n#EXT-X-ENDLIST\n`,
      `ffconcat version 1.0\nfile '${secret}'\n`,
      `v=0\nc=IN IP4 127.0.0.1\nm=video 5004 RTP/AVP 96\n`,
      `<?xml version="1.0"?><MPD><BaseURL>file://${secret}</BaseURL></MPD>`,
      '',
      Buffer.alloc(300_000, 0xa5),
    ];
    for (const [index, content] of contents.entries()) {
      const path = join(folder, `evil-${index}.mp4`);
      await writeFile(path, content);
      expect(await refusal([path])).toEqual(new NotConvertibleError('The clip has no readable video.'));
    }
    expect(await refusal([await sample('picture.jpg')])).toBeInstanceOf(NotConvertibleError);
    expect(await refusal([await sample('sound-only.mp4')])).toBeInstanceOf(NotConvertibleError);
  });

  it('rejects a truncated MP4 and converts what is readable of other truncated containers', async () => {
    const cut = async (name: SampleName): Promise<string> => {
      const path = join(folder, `cut-${name}`);
      const source = await sample(name);
      await copyFile(source, path);
      await truncate(path, Math.floor((await readFile(source)).length * 0.6));
      return path;
    };
    expect(await refusal([await cut('h264-aac.mp4')])).toBeInstanceOf(NotConvertibleError);
    const { pictures } = await decodeFile(await remux([await cut('h264-aac.ts')]));
    expect(pictures).toBeGreaterThan(10);
    expect(pictures).toBeLessThan(30);
  });
});

describe('Ffmpeg', () => {
  const endless = {
    inputs: [{ source: 'testsrc=r=1000', options: ['-re', '-f lavfi'] }],
    outputOptions: ['-f null'],
    output: null,
  };

  it('kills a process at the time limit and on abort', async () => {
    const ffmpeg = (timeoutMs: number) => new Ffmpeg({ path: testEnv('FFMPEG_PATH'), timeoutMs });
    const late = await ffmpeg(300)
      .run(endless, new AbortController().signal)
      .catch((error: unknown) => error);
    expect(late).toBeInstanceOf(FfmpegError);
    expect((late as FfmpegError).isTimeout).toBe(true);
    const abort = new AbortController();
    const run = ffmpeg(60_000).run(endless, abort.signal);
    abort.abort();
    await expect(run).rejects.toThrow(FfmpegError);
  });

  it('reports a missing program', async () => {
    const missing = new Ffmpeg({ path: '/nowhere/ffmpeg', timeoutMs: 10_000 });
    const error = await missing.run(endless, new AbortController().signal).catch((thrown: unknown) => thrown);
    expect((error as FfmpegError).hasRun).toBe(false);
  });
});

describe('getRawFrameRate', () => {
  const probe = (frameRate: number | null, frames: number): ClipProbe => ({
    format: 'h264',
    video: 'h264',
    audio: null,
    frameRate,
    frames,
  });
  it.each([
    ['the declared rate', [probe(15, 30)], 10_000, 15],
    ["the rate that fills the clip's duration", [probe(null, 100), probe(null, 50)], 10_000, 15],
    ['25 if the computed rate is implausible', [probe(null, 10)], 60_000, 25],
    ['25 for a clip without duration', [probe(null, 10)], 0, 25],
  ])('returns %s', (_case, probes, clipMs, expected) => {
    expect(getRawFrameRate(probes, clipMs)).toBe(expected);
  });
});
