import { getFfmpegPath, parseFrameMd5, runFfmpeg } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Dashcam, Dashcams } from './testing/dashcams.ts';
import { findSentPart, hashSentPictures } from './testing/decode.ts';
import { joinSharedHarness, type ProductHarness } from './testing/harness.ts';
import { probe } from './testing/probe-media.ts';

jest.setTimeout(120_000);

let harness: ProductHarness;
let dashcams: Dashcams;
beforeAll(async () => {
  harness = await joinSharedHarness();
  dashcams = await Dashcams.open(harness);
}, 180_000);
afterAll(() => harness?.stop(), 60_000);

/** Returns the MD5 of each picture of HLS, as ffplay would show them: `count` of them, or all until the stream ends. */
async function playHls(url: string, count?: number): Promise<string[]> {
  const length = count === undefined ? [] : ['-frames:v', String(count)];
  const output = ['-map', '0:v:0', '-fps_mode', 'passthrough', '-f', 'framemd5', '-'];
  return parseFrameMd5((await runFfmpeg(getFfmpegPath(), ['-i', url, ...length, ...output])).toString());
}

/** Asserts that the camera sent these pictures of its sub stream in this order, without another in between. */
async function expectSentPictures(pictures: readonly string[], { terminal }: Dashcam): Promise<void> {
  const clip = await terminal.options.clips?.(1, 'sub');
  if (clip === undefined) throw new Error('the terminal has no camera');
  expect(pictures).toEqual(findSentPart(pictures, await hashSentPictures(terminal, clip)));
}

const start = async ({ vehicleId }: Dashcam): Promise<string> =>
  String((await dashcams.client.requestData(`/vehicles/start-dashcam-stream/${vehicleId}`, {}))['hls_url']);

describe('HLS of live video', () => {
  it('plays the pictures of the camera in ffmpeg, with the URL of the Platform API', async () => {
    const dashcam = await dashcams.create();
    const pictures = await playHls(await start(dashcam), 40);
    expect(pictures).toHaveLength(40);
    await expectSentPictures(pictures, dashcam);
  });

  it('plays H.265 with the tag that Apple requires, with the sound of the camera', async () => {
    const camera = { video: 'h265', audio: 'g711a' } as const;
    const dashcam = await dashcams.create({}, { video: { codec: 'h265' }, camera });
    const url = await start(dashcam);
    const { video, audio } = await probe(url);
    expect(video).toMatchObject({ codec: 'hevc', tag: 'hvc1' });
    expect(video.width).toBeGreaterThan(0);
    expect(audio).toEqual({ codec: 'aac' });
    const pictures = await playHls(url, 30);
    expect(pictures).toHaveLength(30);
    await expectSentPictures(pictures, dashcam);
  });

  it('ends with the stream, so that players stop by themselves', async () => {
    const dashcam = await dashcams.create();
    const { vehicleId } = dashcam;
    const playing = playHls(await start(dashcam));
    const readStream = () =>
      dashcams.client.requestData(`/vehicles/${vehicleId}/v2/get-dashcam-stream?channelId=1&autoStart=false`);
    await waitFor(async () => Number((await readStream())['viewers']) > 0, 'the reader');
    const sentPictures = (): number => dashcam.terminal.cameras.records.at(-1)?.sentVideoFrames.length ?? 0;
    const sentBefore = sentPictures();
    await waitFor(() => sentPictures() > sentBefore + 75, 'five seconds of video');
    await dashcams.client.request(`/vehicles/stop-dashcam-stream/${vehicleId}`, { force: true });
    const pictures = await playing;
    expect(pictures.length).toBeGreaterThan(30);
    await expectSentPictures(pictures, dashcam);
  });

  it('lists parts, which low-latency players request before they exist', async () => {
    const url = await start(await dashcams.create());
    const playlist = await (await fetch(url)).text();
    const hint = /PRELOAD-HINT:TYPE=PART,URI="(hls\/part-(\d+)\.(\d+)\.m4s\?token=[^"]+)"/.exec(playlist);
    const [, address = '', sequence, part] = hint ?? [];
    const [file, next] = await Promise.all([
      fetch(new URL(address, url)),
      fetch(`${url}&_HLS_msn=${sequence}&_HLS_part=${part}`),
    ]);
    expect([file.status, file.headers.get('content-type')]).toEqual([200, 'video/mp4']);
    expect((await file.arrayBuffer()).byteLength).toBeGreaterThan(100);
    expect(await next.text()).toContain(`URI="${address}"`);
  });
});
