import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { joinSharedHarness, type ProductHarness, uniquePhone } from './testing/harness.ts';
import { PlatformClient, type PlatformRecord } from './testing/platform-client.ts';
import { UploadCamera } from './testing/upload-camera.ts';

jest.setTimeout(180_000);

let harness: ProductHarness;
let client: PlatformClient;
beforeAll(async () => {
  harness = await joinSharedHarness();
  client = await PlatformClient.logIn(harness);
}, 180_000);
afterAll(() => harness?.stop(), 60_000);

interface Dashcam {
  readonly vehicleId: number;
  readonly camera: UploadCamera;
}

async function createDashcam(setup: object = {}): Promise<Dashcam> {
  const phone = uniquePhone();
  const { id } = await client.requestData('/vehicles', { vehicle_no: `L ${phone.slice(-6)}`, imei: phone });
  return { vehicleId: Number(id), camera: await UploadCamera.start(harness, { ...setup, phone }) };
}

const listDownloads = async ({ vehicleId }: Dashcam): Promise<PlatformRecord[]> =>
  client.listAll(`/user/downloaded-dashcam-videos?vehicle_id=${vehicleId}`);

async function waitForDownload(
  dashcam: Dashcam,
  isReached: (download: PlatformRecord) => boolean,
  what: string,
): Promise<PlatformRecord> {
  return waitFor(async () => {
    const [download] = await listDownloads(dashcam);
    return download !== undefined && isReached(download) && download;
  }, what);
}

describe('downloads', () => {
  it('list an upload while its progress rises, and then the URL of the whole file', async () => {
    const dashcam = await createDashcam({ uploadBytesPerSecond: 60_000 });
    const clip = dashcam.camera.getClip(1);
    const videoId = await dashcam.camera.upload(clip);
    const first = await waitForDownload(
      dashcam,
      ({ percent, bytes_per_second: speed }) => percent !== null && Number(percent) < 100 && speed !== null,
      'the progress of the upload',
    );
    expect(first).toMatchObject({ video_id: videoId, status: 'uploading', requested_by: null, download_url: null });
    expect(Number(first['seconds_left'])).toBeLessThan(60);
    await waitForDownload(
      dashcam,
      ({ percent, filesize }) =>
        Number(percent) > Number(first['percent']) && Number(filesize) > Number(first['filesize']),
      'more progress',
    );
    const done = await waitForDownload(dashcam, ({ download_url: url }) => url !== null, 'the file');
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
    const download = await waitForDownload(dashcam, () => true, 'the upload of the command');
    expect(download).toMatchObject({ requested_by: command['created_by'] });
    expect(command['created_by']).toEqual(expect.any(Number));
  });
});
