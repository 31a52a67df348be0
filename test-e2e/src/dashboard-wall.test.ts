import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import {
  type DashboardBrowser,
  findAccessibilityFaults,
  openDashboard,
  pageTimeoutMs,
} from './testing/dashboard-browser.ts';
import { takePictures } from './testing/dashboard-pictures.ts';
import { type Dashcam, Dashcams } from './testing/dashcams.ts';
import { leaseHarness, type ProductHarness } from './testing/harness.ts';
import { waitForPlaying } from './testing/video-probe.ts';

// Sixteen streams in a browser that decodes without hardware, on a busy machine.
jest.setTimeout(600_000);

/** Streams end a minute after their last viewer has left. */
const streamEndMs = 180_000;
const vehicleCount = 8;
const tinyVideo = { video: { width: 160, height: 120, fps: 4, gop: 4 } };
const twoCameras = [{ channel_id: 1 }, { channel_id: 2 }];

let harness: ProductHarness;
let dashcams: Dashcams;
let cameras: Dashcam[];
let browser: DashboardBrowser;
let page: Page;

beforeAll(async () => {
  harness = await leaseHarness();
  dashcams = await Dashcams.open(harness);
  cameras = await Promise.all(
    Array.from({ length: vehicleCount }, (_, index) =>
      dashcams.create({ name: `Wall ${index + 1}`, channels: twoCameras }, tinyVideo),
    ),
  );
  ({ browser, page } = await openDashboard(harness));
  // A desktop with enough cores for sixteen tiles.
  await page.addInitScript("Object.defineProperty(navigator, 'hardwareConcurrency', { value: 8 })");
}, 240_000);

afterAll(async () => {
  await browser?.close();
  await harness?.stop();
}, 90_000);

/** Fails a test whose page had an error, even if the test saw what it waited for. */
afterEach(() => expect(browser.faults.splice(0)).toEqual([]));

const names = Array.from({ length: vehicleCount }, (_, index) => [
  `Wall ${index + 1} · Channel 1`,
  `Wall ${index + 1} · Channel 2`,
]).flat();
const tileOf = (name: string): Locator => page.getByRole('region', { name, exact: true });

/** Waits until a tile plays. Resumes it, as a person does, if this slow machine has parked it. */
async function waitForTile(name: string): Promise<void> {
  const tile = tileOf(name);
  await waitFor(
    async () => {
      const resume = tile.getByRole('button', { name: /^(Resume|Retry)$/ });
      if (await resume.isVisible()) await resume.click().catch(() => undefined);
      return tile.getByText(/stream · H264/).isVisible();
    },
    `a picture of ${name}`,
    2 * pageTimeoutMs,
  );
  await waitForPlaying(tile.locator('> video'), 2 * pageTimeoutMs);
}

/** Returns how many cameras send live video. */
const countStreams = (): number =>
  cameras.reduce(
    (sum, { terminal }) =>
      sum + terminal.cameras.records.filter(({ kind, endReason }) => kind === 'live' && endReason === null).length,
    0,
  );

describe('a wall of sixteen tiles', () => {
  it('plays cameras of eight vehicles, while the page can still call the API', async () => {
    const tiles = cameras.flatMap(({ vehicleId }) => [`${vehicleId}.1`, `${vehicleId}.2`]).join(',');
    await page.goto(`${browser.baseUrl}/video?layout=16&tiles=${tiles}`);
    for (const name of names) await waitForTile(name);
    // Browsers open six connections to a host: the streams must not use them up.
    expect(await page.evaluate<number>("fetch('/api/public/dashboard-config').then(({ status }) => status)")).toBe(200);
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await takePictures(page, 'wall-16');
  });

  it('ends the streams of the tiles that a smaller layout closes', async () => {
    await page.getByText('4', { exact: true }).click();
    await tileOf(names[15] ?? '').waitFor({ state: 'detached' });
    expect(await page.locator('.tile video').count()).toBe(4);
    for (const name of names.slice(0, 4)) await waitForTile(name);
    await waitFor(() => countStreams() <= 4, 'the end of twelve streams', streamEndMs);
    expect(countStreams()).toBe(4);
  });

  it('rests while the page is hidden, and continues when it is visible again', async () => {
    const setHidden = (isHidden: boolean) =>
      page.evaluate(`(() => {
        Object.defineProperty(document, 'hidden', { value: ${isHidden}, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
      })()`);
    await setHidden(true);
    const parked = page.locator('.tile').getByText(/hidden/);
    await waitFor(async () => (await parked.count()) === 4, 'four tiles at rest', pageTimeoutMs);
    await setHidden(false);
    await waitForTile(names[0] ?? '');
    expect(await parked.count()).toBe(0);
  });
});
