import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type BrowserContext, chromium, type Page } from 'playwright-core';
import { quietBrowserArguments } from './testing/browser-arguments.ts';
import { Dashcams } from './testing/dashcams.ts';
import { serveExamplePlayer } from './testing/example-player.ts';
import { type ProductHarness, startHarness } from './testing/harness.ts';

jest.setTimeout(120_000);

let harness: ProductHarness;
let dashcams: Dashcams;
let browser: BrowserContext;
let player: Awaited<ReturnType<typeof serveExamplePlayer>>;
const profile = mkdtempSync(join(tmpdir(), 'fleet-browser-'));

beforeAll(async () => {
  const executablePath = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium';
  player = await serveExamplePlayer();
  harness = await startHarness({ CORS_ORIGINS: new URL(player.url).origin });
  dashcams = await Dashcams.open(harness);
  browser = await chromium.launchPersistentContext(profile, {
    executablePath,
    headless: true,
    args: quietBrowserArguments,
  });
}, 180_000);

afterAll(async () => {
  await browser?.close();
  await player?.close();
  await harness?.stop();
  rmSync(profile, { recursive: true, force: true });
}, 60_000);

interface PlayerState {
  status: string;
  currentTime: number;
  pictures: number;
  soundBytes: number;
  hasEnded: boolean;
}

/** Evaluated in the page. */
const readPlayer = `(() => {
  const video = document.getElementById('video');
  return {
    status: document.getElementById('status').textContent,
    currentTime: video.currentTime,
    pictures: video.getVideoPlaybackQuality().totalVideoFrames,
    soundBytes: video.webkitAudioDecodedByteCount,
    hasEnded: video.ended,
  };
})()`;

/** Opens the example page with a stream; returns once it reports an error or has played for two seconds. */
async function play(url: string): Promise<PlayerState> {
  const page: Page = await browser.newPage();
  await page.goto(`${player.url}#${url}`);
  let startedAt: number | undefined;
  try {
    return await waitFor(async () => {
      const state = await page.evaluate<PlayerState>(readPlayer);
      if (state.pictures > 0) startedAt ??= state.currentTime;
      const hasPlayed = startedAt !== undefined && state.currentTime > startedAt + 2 && state.pictures > 10;
      return hasPlayed || state.status !== '' ? state : undefined;
    }, 'two seconds of video');
  } finally {
    await page.close();
  }
}

/** A player without an error, that has shown pictures and decoded sound. */
const playing = { status: '', hasPictures: true, hasSound: true };
const summarize = ({ status, pictures, soundBytes }: PlayerState) => ({
  status,
  hasPictures: pictures > 10,
  hasSound: soundBytes > 0,
});

describe('the example page, at another origin than the platform', () => {
  it.each(['stream_url', 'ws_flv_url', 'hls_url'])('plays %s of a start, with sound', async (field) => {
    const { vehicleId } = await dashcams.create();
    const stream = await dashcams.client.requestData(`/vehicles/start-dashcam-stream/${vehicleId}`, {});
    expect(summarize(await play(String(stream[field])))).toEqual(playing);
  });

  it.each(['stream_url', 'ws_flv_url', 'hls_url'])(
    'plays %s of a share link, which starts the stream',
    async (field) => {
      const { vehicleId, imei } = await dashcams.create();
      const view = await dashcams.openLink(vehicleId, ['live_video']);
      expect(String(view[field])).not.toContain(imei);
      expect(summarize(await play(String(view[field])))).toEqual(playing);
    },
  );

  it('stops after the last picture when a stream over HLS ends, without an error', async () => {
    const { vehicleId } = await dashcams.create();
    const stream = await dashcams.client.requestData(`/vehicles/start-dashcam-stream/${vehicleId}`, {});
    const page = await browser.newPage();
    await page.goto(`${player.url}#${String(stream['hls_url'])}`);
    await waitFor(async () => (await page.evaluate<PlayerState>(readPlayer)).currentTime > 1, 'video');
    const end = page.waitForResponse(
      async (response) => response.url().includes('index.m3u8') && (await response.text()).includes('#EXT-X-ENDLIST'),
    );
    await dashcams.client.request(`/vehicles/stop-dashcam-stream/${vehicleId}`, { force: true });
    await end;
    await waitFor(async () => (await page.evaluate<PlayerState>(readPlayer)).hasEnded, 'the end of the video', 60_000);
    expect((await page.evaluate<PlayerState>(readPlayer)).status).toBe('');
    await page.close();
  });

  it.each(['stream_url', 'hls_url'])('can read the status of a refusal: %s', async (field) => {
    const { vehicleId } = await dashcams.create();
    const stream = await dashcams.client.requestData(`/vehicles/start-dashcam-stream/${vehicleId}`, {});
    expect((await play(`${String(stream[field])}x`)).status).toContain('401');
  });
});
