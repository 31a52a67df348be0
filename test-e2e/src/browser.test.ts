import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type BrowserContext, chromium } from 'playwright-core';
import { joinSharedHarness, type ProductHarness } from './testing/harness.ts';
import { servePlayer } from './testing/player-page.ts';

/** Allows no external DNS lookups: the browser plays only a page on the loopback interface. */
const quiet = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--autoplay-policy=no-user-gesture-required',
];

interface PlayerState {
  errors: string[];
  media?: { mimeType: string; hasAudio: boolean; width: number };
  currentTime: number;
  pictures: number;
  soundBytes: number;
}

let harness: ProductHarness;
let browser: BrowserContext;
const profile = mkdtempSync(join(tmpdir(), 'fleet-browser-'));

beforeAll(async () => {
  const executablePath = process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium';
  harness = await joinSharedHarness();
  browser = await chromium.launchPersistentContext(profile, { executablePath, headless: true, args: quiet });
}, 180_000);

afterAll(async () => {
  await browser?.close();
  await harness?.stop();
  rmSync(profile, { recursive: true, force: true });
}, 60_000);

describe('a browser with a plain mpegts.js player', () => {
  // G.711 in FLV stops such a player, and so does a header that announces a track without data.
  it.each(['g711a', 'adpcm', 'g726', 'aac', 'none'] as const)(
    'plays a camera with %s sound',
    async (audio) => {
      const terminal = await harness.startTerminal({ video: { audio } });
      const query = `imei=${terminal.phone}&channel=1`;
      expect((await harness.get(`/realtime/start-stream?${query}`)).status).toBe(200);
      const player = await servePlayer(`${harness.product.runtime.base_url}/api/v1/realtime/stream.flv?${query}`);
      const page = await browser.newPage();
      await page.goto(player.url);
      const readState = (): Promise<PlayerState> => page.evaluate<PlayerState>(readPlayer);
      const state = await waitFor(async () => {
        const now = await readState();
        return now.errors.length > 0 || (now.currentTime > 3 && now.pictures > 30) ? now : undefined;
      }, 'three seconds of video');
      expect(state.errors).toEqual([]);
      expect(state.media).toMatchObject({ width: 640, hasAudio: audio !== 'none' });
      expect(state.soundBytes > 0).toBe(audio !== 'none');
      await page.close();
      await player.close();
    },
    90_000,
  );
});

/** Evaluated in the page. */
const readPlayer = `(() => {
  const video = document.getElementById('video');
  return {
    ...window.state,
    currentTime: video.currentTime,
    pictures: video.getVideoPlaybackQuality().totalVideoFrames,
    soundBytes: video.webkitAudioDecodedByteCount,
  };
})()`;
