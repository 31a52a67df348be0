import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readdir, stat, writeFile } from 'node:fs/promises';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodedFrameHashes } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { DownloadCamera, type Mp4State, readMp4 } from './testing/download-camera.ts';
import { killProcess, waitForRestart } from './testing/faults.ts';
import { type DedicatedHarness, startHarness } from './testing/harness.ts';
import { findError, PlatformClient } from './testing/platform-client.ts';
import { probeMedia } from './testing/probe-media.ts';
import { SlowFfmpeg } from './testing/slow-ffmpeg.ts';

// Conversions last as long as their clips, and a killed process is noticed after seconds.
jest.setTimeout(180_000);

const codecs = ['h264', 'h265'] as const;
/** More than cores, so that the cores limit. */
const requestedParallel = 8;
const coreLimit = Math.max(1, availableParallelism() - 1);

let harness: DedicatedHarness;
let client: PlatformClient;
let folder: string;
const ffmpeg = new SlowFfmpeg();
beforeAll(async () => {
  harness = await startHarness({ FFMPEG_PATH: ffmpeg.path, MP4_PARALLEL: String(requestedParallel) });
  client = await PlatformClient.logIn(harness);
  folder = mkdtempSync(join(tmpdir(), 'fleet-mp4-'));
}, 180_000);
afterEach(() => ffmpeg.speedUp());
afterAll(async () => {
  await harness?.stop();
  ffmpeg.remove();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

const mp4Path = (id: string): string => `/dashcam-downloads/${id}/mp4`;
const request = (id: string) => client.request(mp4Path(id), {});
const isDone = ({ status, url }: Mp4State): boolean => status === 'completed' && url !== null;
const isHalfway = ({ status, percent }: Mp4State): boolean => status === 'running' && percent > 0 && percent < 90;

async function download({ url }: Mp4State): Promise<Buffer> {
  const response = await fetch(String(url));
  if (response.status !== 200) throw new Error(`${String(url)}: ${response.status}`);
  return Buffer.from(await response.arrayBuffer());
}

/** Returns the MD5 of each picture of a file. */
async function hashPictures(name: string, content: Buffer): Promise<string[]> {
  const file = join(folder, name);
  writeFileSync(file, content);
  return decodedFrameHashes(file, {});
}

/** Returns whether no conversion has files; false while a directory disappears. */
async function hasNoWork(): Promise<boolean> {
  const root = join(harness.product.dataDir, 'clips', '.mp4');
  try {
    const entries = await readdir(root, { recursive: true, withFileTypes: true });
    return entries.every((entry) => entry.isDirectory());
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}

describe('a conversion to MP4', () => {
  it.each(codecs)('of %s continues when upload-ftp is killed in the middle of it, and plays', async (codec) => {
    const setup = { video: { codec }, camera: { video: codec, audio: 'g711a' } } as const;
    const dashcam = await DownloadCamera.create(harness, client, setup);
    const clip = dashcam.camera.getClip(1, { count: 2 });
    const id = await dashcam.upload(clip);
    ffmpeg.slowDown();
    await request(id);
    await dashcam.waitForMp4(id, isHalfway, 'the middle of the conversion');
    expect(ffmpeg.isSlowRunning()).toBe(true);
    const killed = killProcess(harness, 'upload-ftp');
    ffmpeg.speedUp();
    await waitForRestart(harness, 'upload-ftp', killed);
    await waitFor(() => !ffmpeg.isSlowRunning(), 'the end of the ffmpeg of the killed process');
    const mp4 = await dashcam.waitForMp4(id, ({ status }) => status === 'completed' || status === 'failed', 'the end');
    expect(mp4).toMatchObject({ status: 'completed', percent: 100, error: null });
    const content = await download(await dashcam.waitForMp4(id, isDone, 'the URL'));
    expect(content).toHaveLength(Number(mp4.size_bytes));
    // What the killed process had written is neither a result nor left on the disk.
    await waitFor(hasNoWork, 'the partial file to be removed');
    const { durationSeconds, video, audio } = await probeMedia(content);
    expect(video).toMatchObject(codec === 'h264' ? { codec: 'h264', tag: 'avc1' } : { codec: 'hevc', tag: 'hvc1' });
    expect(audio).toEqual({ codec: 'aac' });
    expect(durationSeconds).toBeCloseTo((clip.endMs - clip.startMs) / 1_000, 0);
    const [sent] = await dashcam.camera.readFiles(clip);
    const pictures = await hashPictures(`${id}-sent`, sent?.content ?? Buffer.alloc(0));
    expect(pictures.length).toBeGreaterThan(100);
    expect(await hashPictures(`${id}-mp4`, content)).toEqual(pictures);
  });

  it('is refused for good if the clip cannot be read, with the reason, also after restarts', async () => {
    const dashcam = await DownloadCamera.create(harness, client);
    const id = await dashcam.upload(dashcam.camera.getClip(2));
    const [file] = await dashcam.camera.readStoredFiles(id);
    const path = join(dashcam.camera.directory(id), 'files', file?.path ?? '');
    await writeFile(path, randomBytes((await stat(path)).size));
    await request(id);
    const failed = await dashcam.waitForMp4(id, ({ status }) => status === 'failed', 'the refusal');
    expect(failed).toMatchObject({ error: 'The clip has no readable video.', url: null });
    for (const name of ['upload-ftp', 'platform-api']) await waitForRestart(harness, name, killProcess(harness, name));
    const repeated = await waitFor(async () => {
      const error = await request(id).then(
        () => 'accepted',
        (cause: Error) => cause.message,
      );
      return /: 5\d\d |fetch failed/.test(error) ? undefined : error;
    }, 'a response of platform-api');
    expect(repeated).toContain(': 409 ');
    expect(repeated).toContain('The clip has no readable video.');
    expect(await dashcam.waitForMp4(id, () => true, 'the download')).toMatchObject(failed);
  });

  it('ends without a file when it is canceled, and runs again when it is requested again', async () => {
    const dashcam = await DownloadCamera.create(harness, client);
    const id = await dashcam.upload(dashcam.camera.getClip(3, { count: 2 }));
    ffmpeg.slowDown();
    await request(id);
    await dashcam.waitForMp4(id, isHalfway, 'the middle of the conversion');
    // A repeated request changes nothing.
    expect((await request(id))['data']).toMatchObject({ mp4: { status: 'running' } });
    await client.remove(mp4Path(id));
    await waitFor(hasNoWork, 'the partial file to be removed');
    expect(await dashcam.waitForMp4(id, () => true, 'the download')).toMatchObject({ status: 'canceled', url: null });
    expect(await findError(client.remove(mp4Path(id)))).toBe('409 state_conflict');
    ffmpeg.speedUp();
    await request(id);
    const content = await download(await dashcam.waitForMp4(id, isDone, 'the MP4'));
    expect((await probeMedia(content)).durationSeconds).toBeCloseTo(10, 0);
    expect(await findError(request(id))).toBe('409 state_conflict');
  });
});

describe('several conversions', () => {
  it('run at most on all cores but one', async () => {
    const dashcam = await DownloadCamera.create(harness, client);
    const ids: string[] = [];
    for (let index = 0; index < coreLimit + 3; index += 1) {
      const { startMs, ...clip } = dashcam.camera.getClip(index);
      ids.push(await dashcam.upload({ ...clip, startMs, endMs: startMs + 3_000 }));
    }
    ffmpeg.slowDown();
    for (const id of ids) await request(id);
    const runningCounts = new Set<number>();
    await waitFor(
      async () => {
        const states = (await dashcam.list()).map((each) => readMp4(each)?.status);
        runningCounts.add(states.filter((status) => status === 'running').length);
        return states.every((status) => status === 'completed');
      },
      'all conversions',
      120_000,
    );
    expect(Math.max(...runningCounts)).toBe(coreLimit);
  });
});
