import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { decodedFrameHashes } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { DownloadCamera, readMp4 } from './testing/download-camera.ts';
import { killProcess, waitForRestart } from './testing/faults.ts';
import { type DedicatedHarness, leaseHarness, type TerminalSetup } from './testing/harness.ts';
import { PlatformClient, type PlatformRecord } from './testing/platform-client.ts';
import type { Clip } from './testing/upload-camera.ts';

jest.setTimeout(180_000);

let harness: DedicatedHarness;
let folder: string;
let client: PlatformClient;
beforeAll(async () => {
  harness = await leaseHarness();
  folder = mkdtempSync(join(tmpdir(), 'fleet-mp4-'));
  client = await PlatformClient.logIn(harness);
}, 180_000);
afterAll(async () => {
  await harness?.stop();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

const createDashcam = (setup: TerminalSetup = {}): Promise<DownloadCamera> =>
  DownloadCamera.create(harness, client, setup);

describe('downloads', () => {
  it('list an upload while its progress rises, and then the URL of the whole file', async () => {
    const dashcam = await createDashcam({ uploadBytesPerSecond: 60_000 });
    const clip = dashcam.camera.getClip(1);
    const videoId = await dashcam.camera.upload(clip);
    const first = await dashcam.waitFor(
      ({ percent, bytes_per_second: speed }) => percent !== null && Number(percent) < 100 && speed !== null,
      'the progress of the upload',
    );
    expect(first).toMatchObject({ video_id: videoId, status: 'uploading', requested_by: null, download_url: null });
    expect(Number(first['seconds_left'])).toBeLessThan(60);
    await dashcam.waitFor(
      ({ percent, filesize }) =>
        Number(percent) > Number(first['percent']) && Number(filesize) > Number(first['filesize']),
      'more progress',
    );
    const done = await dashcam.waitFor(({ download_url: url }) => url !== null, 'the file');
    expect(done).toMatchObject({ status: 'completed', percent: 100, bytes_per_second: null, mp4: null });
    const files = await dashcam.camera.readFiles(clip);
    const response = await fetch(String(done['download_url']));
    expect(Buffer.from(await response.arrayBuffer()).equals(Buffer.concat(files.map(({ content }) => content)))).toBe(
      true,
    );
  });

  it('name the user who queued the upload as a command', async () => {
    const dashcam = await createDashcam();
    const { startMs, endMs } = dashcam.camera.getClip(2);
    const [startTime, endTime] = [startMs, endMs].map((ms) => new Date(ms).toISOString());
    const command = await client.requestData(`/vehicles/${dashcam.vehicleId}/commands`, {
      type: 'upload',
      params: { channel: 1, start_time: startTime, end_time: endTime },
    });
    const download = await dashcam.waitFor(() => true, 'the upload of the command');
    expect(download).toMatchObject({ requested_by: command['created_by'] });
    expect(command['created_by']).toEqual(expect.any(Number));
  });
});

describe('MP4 conversions', () => {
  it('survive a kill of upload-ftp, leave no partial file, and play with the pictures of the camera', async () => {
    const dashcam = await createDashcam({ uploadFiles: 'perRecording' });
    const clips = [1, 3, 5, 7].map((index) => dashcam.camera.getClip(index, { count: 2 }));
    const uploads: { readonly id: string; readonly clip: Clip }[] = [];
    for (const clip of clips) {
      const id = await dashcam.camera.upload(clip);
      await dashcam.camera.waitForStatus(id, 'completed');
      uploads.push({ id, clip });
    }
    const killed = killProcess(harness, 'upload-ftp');
    for (const { id } of uploads) await client.request(`/dashcam-downloads/${id}/mp4`, {});
    await waitForRestart(harness, 'upload-ftp', killed);
    const isDone = (download: PlatformRecord): boolean =>
      readMp4(download)?.status === 'completed' && download['download_url'] !== null;
    const downloads = await waitFor(async () => {
      const found = await dashcam.list();
      return found.length === uploads.length && found.every(isDone) && found;
    }, 'all conversions');
    for (const { id, clip } of uploads) {
      const download = downloads.find(({ video_id: each }) => each === id);
      const { url, size_bytes: size } = readMp4(download ?? {}) ?? {};
      const bytes = Buffer.from(await (await fetch(String(url))).arrayBuffer());
      expect(bytes).toHaveLength(Number(size));
      writeFileSync(join(folder, `${id}.mp4`), bytes);
      const sent = await dashcam.camera.readFiles(clip);
      const pictures: string[] = [];
      for (const [part, { content }] of sent.entries()) {
        const file = join(folder, `${id}-${part}`);
        writeFileSync(file, content);
        pictures.push(...(await decodedFrameHashes(file, {})));
      }
      expect(await decodedFrameHashes(join(folder, `${id}.mp4`), {})).toEqual(pictures);
      expect((await readdir(dashcam.camera.directory(id))).toSorted()).toEqual(['clip.mp4', 'files']);
    }
    expect(await readdir(join(harness.product.dataDir, 'clips', '.mp4'))).toEqual([]);
    await expect(client.request(`/dashcam-downloads/${uploads[0]?.id}/mp4`, {})).rejects.toThrow(/409/);
  });
});
