import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodedFrameHashes } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { killProcess, waitForRestart } from './testing/faults.ts';
import { type DedicatedHarness, leaseHarness } from './testing/harness.ts';
import { UploadCamera, uploadAction } from './testing/upload-camera.ts';

jest.setTimeout(120_000);

let harness: DedicatedHarness;
let folder: string;
beforeAll(async () => {
  harness = await leaseHarness();
  folder = mkdtempSync(join(tmpdir(), 'fleet-downloads-'));
}, 180_000);
afterAll(async () => {
  await harness.stop();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

const readBytes = async (response: Response): Promise<Buffer> => Buffer.from(await response.arrayBuffer());

/** Returns the MD5 of each decoded picture of a file. */
async function pictures(name: string, bytes: Buffer): Promise<string[]> {
  const file = join(folder, name);
  writeFileSync(file, bytes);
  return decodedFrameHashes(file, {});
}

describe('the video of an upload', () => {
  it('equals what the camera sent, for one file and for several, also after a restart of upload-ftp', async () => {
    const camera = await UploadCamera.start(harness, { uploadFiles: 'perRecording' });
    const clip = camera.getClip(1, { count: 2 });
    const files = await camera.readFiles(clip);
    const whole = Buffer.concat(files.map(({ content }) => content));
    expect(files).toHaveLength(2);
    const videoId = await camera.upload(clip);
    await camera.waitForStatus(videoId, 'completed');

    const response = await camera.download(videoId);
    expect(response.headers.get('content-type')).toBe('video/mp4');
    expect(response.headers.get('content-disposition')).toContain((await camera.getUpload(videoId)).filename);
    expect((await readBytes(response)).equals(whole)).toBe(true);
    const edge = files[0]?.content.length ?? 0;
    const part = await camera.download(videoId, {
      range: `bytes=${edge - 10}-${edge + 9}`,
      'if-range': response.headers.get('etag') ?? '',
    });
    expect([part.status, part.headers.get('content-range')]).toEqual([
      206,
      `bytes ${edge - 10}-${edge + 9}/${whole.length}`,
    ]);
    expect((await readBytes(part)).equals(whole.subarray(edge - 10, edge + 10))).toBe(true);
    const beyond = await camera.download(videoId, { range: `bytes=${whole.length}-` });
    expect([beyond.status, await beyond.json()]).toMatchObject([416, { status: 416 }]);

    await waitForRestart(harness, 'upload-ftp', killProcess(harness, 'upload-ftp'));
    await waitFor(async () => {
      const again = await camera.download(videoId);
      const bytes = await readBytes(again);
      return again.status === 200 ? bytes.equals(whole) : undefined;
    }, 'the download to work again');
  });

  it('is an MP4 with the same pictures, created once and deleted with the upload', async () => {
    const camera = await UploadCamera.start(harness, { uploadFiles: 'perRecording' });
    const clip = camera.getClip(3, { count: 2 });
    const videoId = await camera.upload(clip);
    await camera.waitForStatus(videoId, 'completed');
    const responses = await Promise.all([1, 2, 3].map(() => camera.download(videoId, {}, 'mp4')));
    const bodies = await Promise.all(responses.map(readBytes));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(new Set(responses.map(({ headers }) => headers.get('etag'))).size).toBe(1);
    expect(bodies.every((body) => body.equals(bodies[0] ?? Buffer.alloc(0)))).toBe(true);

    const sent = await camera.readFiles(clip);
    const each = await Promise.all(sent.map(({ content }, index) => pictures(`sent-${index}.mp4`, content)));
    expect(await pictures('joined.mp4', bodies[0] ?? Buffer.alloc(0))).toEqual(each.flat());

    expect((await readdir(camera.directory(videoId))).toSorted()).toEqual(['clip.mp4', 'files']);
    expect((await camera.deleteUpload(videoId)).status).toBe(200);
    expect((await camera.download(videoId, {}, 'mp4')).status).toBe(404);
    await expect(readdir(camera.directory(videoId))).rejects.toThrow(/ENOENT/);
  });

  it('cannot be downloaded before the upload is complete', async () => {
    const camera = await UploadCamera.start(harness, { uploadBytesPerSecond: 60_000 });
    const videoId = await camera.upload(camera.getClip(2));
    await camera.waitForBytes(videoId);
    for (const format of ['original', 'mp4']) {
      const response = await camera.download(videoId, {}, format);
      expect([response.status, await response.json()]).toMatchObject([409, { status: 409 }]);
    }
    await camera.control(videoId, uploadAction.cancel);
    expect((await camera.download(videoId)).status).toBe(409);
  });
});
