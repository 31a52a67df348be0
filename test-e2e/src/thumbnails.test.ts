import { runFfmpeg } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { DownloadCamera } from './testing/download-camera.ts';
import { joinSharedHarness, type ProductHarness, uniquePhone } from './testing/harness.ts';
import { PlatformClient, type PlatformRecord } from './testing/platform-client.ts';
import { probeMedia } from './testing/probe-media.ts';

// Files are transferred in real time on a machine that may be busy.
jest.setTimeout(180_000);

const arriveMs = 120_000;

let harness: ProductHarness;
let client: PlatformClient;
beforeAll(async () => {
  harness = await joinSharedHarness();
  client = await PlatformClient.logIn(harness);
}, 180_000);
afterAll(() => harness?.stop(), 60_000);

async function download(url: unknown): Promise<Buffer> {
  const response = await fetch(String(url));
  expect(response.status).toBe(200);
  return Buffer.from(await response.arrayBuffer());
}

/** Waits until a vehicle has `count` files with thumbnails, and returns them. */
const waitForThumbnails = (vehicleId: number, count: number): Promise<PlatformRecord[]> =>
  waitFor(
    async () => {
      const media = await client.listAll(`/vehicles/${vehicleId}/list-dashcam-media`);
      const ready = media.filter(({ thumbnail_width: width }) => width !== null);
      return ready.length === count && ready;
    },
    `${count} thumbnails`,
    arriveMs,
  );

/** Compares what the record of a file says with the file and its thumbnail. */
async function expectTrueProperties(media: PlatformRecord): Promise<void> {
  const file = await download(media['url']);
  const { video, durationSeconds } = await probeMedia(file);
  expect(media).toMatchObject({ size_bytes: file.length, width: video.width, height: video.height });
  const thumbnail = (await probeMedia(await download(media['thumbnail_url']))).video;
  expect(thumbnail).toMatchObject({
    codec: 'mjpeg',
    width: media['thumbnail_width'],
    height: media['thumbnail_height'],
  });
  expect(thumbnail.width).toBeLessThanOrEqual(320);
  expect(thumbnail.height).toBeLessThanOrEqual(240);
  const isPicture = media['kind'] === 'image';
  expect(media['duration_seconds'] === null).toBe(isPicture);
  expect(Number(media['duration_seconds'])).toBeCloseTo(isPicture ? 0 : durationSeconds, 1);
}

describe('the thumbnail of a file', () => {
  it.each(['h264', 'h265'] as const)('is made of a clip that a camera has uploaded over FTP: %s', async (codec) => {
    const setup = { video: { codec }, camera: { video: codec, audio: 'g711a' } } as const;
    const dashcam = await DownloadCamera.create(harness, client, setup);
    const clip = dashcam.camera.getClip(2);
    const id = await dashcam.upload(clip);
    const [media] = await waitForThumbnails(dashcam.vehicleId, 1);
    if (media === undefined) throw new Error('the clip has no thumbnail');
    const [sent] = await dashcam.camera.readFiles(clip);
    expect(media).toMatchObject({ kind: 'video', source: 'upload', size_bytes: sent?.content.length });
    await expectTrueProperties(media);
    const listed = await dashcam.waitFor(({ thumbnail_width: width }) => width !== null, 'the thumbnail', id);
    expect(listed).toMatchObject({ thumbnail_width: media['thumbnail_width'], filesize: media['size_bytes'] });
    expect(await download(listed['thumbnail_url'])).toEqual(await download(media['thumbnail_url']));
  });

  it('is made of the picture and the video of an alarm', async () => {
    const { ffmpeg } = harness.product.runtime.backends;
    const test = ['-f', 'lavfi', '-i', 'testsrc2=size=640x360:rate=15'];
    const picture = await runFfmpeg(ffmpeg, [...test, '-frames:v', '1', '-f', 'mjpeg', '-']);
    const mp4 = ['-t', '3', '-c:v', 'libx264', '-movflags', 'frag_keyframe+empty_moov', '-f', 'mp4', '-'];
    const film = await runFfmpeg(ffmpeg, [...test, ...mp4]);
    const imei = uniquePhone();
    const { id } = await client.requestData('/vehicles', { vehicle_no: `T ${imei.slice(-12)}`, imei });
    const terminal = await harness.startTerminal({ phone: imei, attachmentRetryMs: 500 });
    const files = [
      { content: picture, type: 0, channel: 65 },
      { content: film, type: 2, channel: 1 },
    ] as const;
    terminal.raiseSafetyAlarm({ kind: 'dsm', type: 2, level: 2, files: [...files] });
    const media = await waitForThumbnails(Number(id), 2);
    expect(new Set(media.map(({ kind }) => kind))).toEqual(new Set(['image', 'video']));
    for (const each of media) {
      expect(each['source']).toBe('alarm');
      await expectTrueProperties(each);
    }
  });
});
