import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { joinSamples } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type BrowserContext, chromium } from 'playwright-core';
import { quietBrowserArguments } from './testing/browser-arguments.ts';
import { type ProductHarness, startHarness } from './testing/harness.ts';
import { servePlayer } from './testing/player-page.ts';
import { serveTalkPage } from './testing/talk-page.ts';

/** A microphone that beeps, without a question to the user. */
const fakeMicrophone = ['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream'];

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
  // Each page has an origin of its own.
  harness = await startHarness({ CORS_ORIGINS: '*' });
  browser = await chromium.launchPersistentContext(profile, {
    executablePath,
    headless: true,
    args: [...quietBrowserArguments, ...fakeMicrophone],
  });
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

describe('a browser page that talks to a driver', () => {
  it('sends the sound of the microphone, and receives the voice of the driver', async () => {
    const terminal = await harness.startTerminal({ voice: { toneHz: 600, amplitude: 8_000 } });
    const talkUrl = `${harness.product.runtime.video_url.replace(/^http/, 'ws')}/${terminal.phone}/1/talk`;
    const served = await serveTalkPage(talkUrl);
    const page = await browser.newPage();
    await page.goto(served.url);
    const received = (): Int16Array => {
      const talk = terminal.cameras.records.findLast(({ kind }) => kind === 'talk');
      return joinSamples(talk?.receivedFrames.map(({ pcm }) => pcm) ?? []);
    };
    // The beep of the fake microphone is loud for a part of each second.
    const isBeep = (sample: number): boolean => Math.abs(sample) > 2_000;
    const state = await waitFor(
      async () => {
        const now = await page.evaluate<TalkState>('window.state');
        const isDone = now.receivedSamples > 8_000 && received().length > 8_000 && received().some(isBeep);
        return now.errors.length > 0 || isDone ? now : undefined;
      },
      'a second of voice both ways',
      60_000,
    );
    expect(state).toMatchObject({ errors: [], closeCode: null });
    expect(state.sentMessages).toBeGreaterThan(40);
    expect(state.loudestSample).toBeGreaterThan(7_000);
    expect(state.loudestSample).toBeLessThan(9_000);
    await page.close();
    await served.close();
    await waitFor(() => terminal.cameras.records.every((record) => record.state === 'ended'), 'the end of the talk');
  }, 90_000);
});

interface TalkState {
  readonly errors: string[];
  readonly sentMessages: number;
  readonly receivedSamples: number;
  readonly loudestSample: number;
  readonly closeCode: number | null;
}

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
