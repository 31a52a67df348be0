import { mkdtemp, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testEnv } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Ffmpeg } from '../clips/ffmpeg.ts';
import { createJpeg } from '../testing/media-harness.ts';
import { createSample, type SampleName } from '../testing/sample-clips.ts';
import { renderThumbnail } from './render-thumbnail.ts';

// ffmpeg runs on a machine that may be busy.
jest.setTimeout(120_000);

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fleet-thumbnails-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const ffmpeg = new Ffmpeg({ path: testEnv('FFMPEG_PATH'), timeoutMs: 30_000 });
const render = (path: string, timeoutFfmpeg = ffmpeg) =>
  renderThumbnail(timeoutFfmpeg, path, join(folder, 'thumbnail'), new AbortController().signal);

describe('a thumbnail', () => {
  it.each<[SampleName, boolean]>([
    ['picture.jpg', false],
    ['h264-aac.mp4', true],
    ['h264-pcma.avi', true],
    ['h264-aac.ts', true],
    ['h264-raw.h264', false],
    ['h265-raw.h265', false],
    ['h265-pcma.mkv', true],
  ])('is the first picture of %s', async (name, hasDuration) => {
    const rendered = await render(await createSample(folder, name));
    expect(rendered).toMatchObject({
      source: { width: 176, height: 144 },
      thumbnail: { width: 176, height: 144 },
    });
    // Two seconds, or slightly more by the rounding of the container.
    expect((rendered?.durationMs ?? 0) > 1_900).toBe(hasDuration);
    const thumbnail = join(folder, 'copy');
    await rename(join(folder, 'thumbnail'), thumbnail);
    expect(await render(thumbnail)).toMatchObject({ source: { width: 176, height: 144 } });
  });

  it.each([
    ['a damaged picture', () => createJpeg()],
    ['a text', () => Buffer.from('no picture')],
    ['a playlist that names another file', () => Buffer.from('#EXTM3U\n#EXTINF:1,\n/etc/hostname\n')],
    ['an empty file', () => Buffer.alloc(0)],
  ])('does not exist for %s', async (_name, content) => {
    const path = join(folder, 'unreadable');
    await writeFile(path, content());
    expect(await render(path)).toBeNull();
  });

  it('does not exist for sound, nor for a video without its index', async () => {
    expect(await render(await createSample(folder, 'sound-only.mp4'))).toBeNull();
    const path = await createSample(folder, 'h264-silent.mp4');
    await truncate(path, 1_000);
    expect(await render(path)).toBeNull();
  });

  it('fails, and is not null, if ffmpeg cannot run', async () => {
    const path = await createSample(folder, 'picture.jpg');
    const missing = new Ffmpeg({ path: join(folder, 'missing'), timeoutMs: 1_000 });
    await expect(render(path, missing)).rejects.toThrow(/./);
  });
});
