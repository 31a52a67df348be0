import { readFileSync } from 'node:fs';
import { waitFor, waitForAssertion } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Page } from 'playwright-core';
import {
  type DashboardBrowser,
  findAccessibilityFaults,
  openDashboard,
  pageTimeoutMs,
} from './testing/dashboard-browser.ts';
import { DownloadCamera } from './testing/download-camera.ts';
import { leaseHarness, type ProductHarness } from './testing/harness.ts';
import { PlatformClient } from './testing/platform-client.ts';
import type { Clip } from './testing/upload-camera.ts';

// A browser with software rendering on a busy machine.
jest.setTimeout(600_000);

let harness: ProductHarness;
let client: PlatformClient;
let browser: DashboardBrowser;
let page: Page;

beforeAll(async () => {
  harness = await leaseHarness();
  client = await PlatformClient.logIn(harness);
  ({ browser, page } = await openDashboard(harness));
}, 240_000);

afterAll(async () => {
  await browser?.close();
  await harness?.stop();
}, 90_000);

/** Fails a test whose page had an error, even if the test saw what it waited for. */
const expectNoFaults = (): void => expect(browser.faults.splice(0)).toEqual([]);
afterEach(expectNoFaults);

const open = (path: string) => page.goto(`${browser.baseUrl}${path}`);

/** Opens the day at the beginning of a clip, chooses its span with the buttons, and requests it. */
async function requestClip(camera: DownloadCamera, { startMs, endMs }: Clip): Promise<void> {
  const day = `/vehicles/${camera.vehicleId}/day/clip`;
  await open(`${day}?t=${startMs / 1_000}`);
  const clips = page.getByRole('region', { name: 'Clips' });
  await clips.getByRole('button', { name: 'Start at the playhead' }).click();
  const slider = page.getByRole('slider', { name: 'Time of the replay' });
  await slider.focus();
  for (let timeMs = startMs; timeMs < endMs; timeMs += 10_000) await page.keyboard.press('ArrowRight');
  await clips.getByRole('button', { name: 'End at the playhead' }).click();
  await clips.getByRole('button', { name: 'Request clip' }).click();
}

const clipRow = () => page.getByRole('region', { name: 'Clips' }).getByRole('listitem');

describe('a clip', () => {
  it('is requested from the time bar, pauses, resumes, survives a reload, and plays as MP4', async () => {
    const camera = await DownloadCamera.create(harness, client, { uploadBytesPerSecond: 60_000 });
    // Two recordings of five seconds: ten seconds are one step of the keyboard.
    const clip = camera.camera.getClip(2, { count: 2 });
    await requestClip(camera, clip);
    const row = clipRow();
    await row.getByText(/^Uploading, [1-9]\d? %/).waitFor();
    await row.getByRole('button', { name: 'Pause upload' }).click();
    await row.getByText(/^Paused/).waitFor();
    await page.reload();
    await row.getByText(/^Paused/).waitFor();
    await row.getByRole('button', { name: 'Resume upload' }).click();
    await row.getByText(/^Completed/).waitFor();
    const saved = page.waitForEvent('download');
    await row.getByRole('link', { name: 'Download original' }).click();
    const files = await camera.camera.readFiles(clip);
    const bytes = readFileSync(await (await saved).path());
    expect(bytes.equals(Buffer.concat(files.map(({ content }) => content)))).toBe(true);
    await row.getByRole('button', { name: 'Make MP4' }).click();
    await row.getByRole('link', { name: 'Download MP4' }).waitFor();
    await open(`/vehicles/${camera.vehicleId}/day/clip?t=${clip.startMs / 1_000}`);
    await page.getByLabel('Picture of the uploaded clip').waitFor();
    await page.getByRole('button', { name: 'Play', exact: true }).click();
    await waitFor(
      () => page.evaluate<boolean>('(document.querySelector("video")?.currentTime ?? 0) > 2'),
      'two seconds of the clip',
      pageTimeoutMs,
    );
    const pictures = await page.evaluate<number>(
      'document.querySelector("video").getVideoPlaybackQuality().totalVideoFrames',
    );
    expect(pictures).toBeGreaterThan(10);
  });

  it('is canceled on the media page, where the filters find it', async () => {
    const camera = await DownloadCamera.create(harness, client, { uploadBytesPerSecond: 20_000 });
    const clip = camera.camera.getClip(4, { count: 2 });
    const { video_id: id } = await client.requestData('/dashcam-downloads', {
      vehicle_id: camera.vehicleId,
      channel_id: 1,
      from: new Date(clip.startMs).toISOString(),
      to: new Date(clip.endMs).toISOString(),
    });
    await open(`/media?vehicle=${camera.vehicleId}`);
    const row = page.getByRole('list', { name: 'Requested clips' }).getByRole('listitem');
    await row.getByRole('button', { name: 'Cancel upload' }).click();
    await row.getByText(/^Canceled/).waitFor();
    await page.getByLabel('Status').selectOption('completed');
    await page.getByText('No clip has this status.').waitFor();
    await page.getByLabel('Status').selectOption('cancelled');
    await row.waitFor();
    const [stored] = await camera.list();
    expect(stored).toMatchObject({ video_id: id, status: 'cancelled' });
  });

  it('of a camera that is not connected is refused with the reason', async () => {
    browser.expectStatus(404);
    const { id } = await client.requestData('/vehicles', { vehicle_no: 'CLIP OFF 1' });
    await open(`/vehicles/${String(id)}/day/today?t=${Math.floor(Date.now() / 1_000) - 60}`);
    const clips = page.getByRole('region', { name: 'Clips' });
    await clips.getByRole('button', { name: 'Start at the playhead' }).click();
    await page.getByRole('slider', { name: 'Time of the replay' }).focus();
    await page.keyboard.press('ArrowRight');
    await clips.getByRole('button', { name: 'End at the playhead' }).click();
    await clips.getByRole('button', { name: 'Request clip' }).click();
    await page
      .getByRole('alert')
      .getByText(/has no terminal/)
      .waitFor();
    await waitForAssertion(async () =>
      expect(await page.getByRole('button', { name: 'Request clip' }).isEnabled()).toBe(true),
    );
  });
});

describe('the media page', () => {
  it('has no serious accessibility fault in either theme', async () => {
    const faults: string[] = [];
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      for (const path of ['/media', '/media?kind=pictures']) {
        await open(path);
        await page.getByRole('heading', { name: 'Clips and pictures' }).waitFor();
        faults.push(...(await findAccessibilityFaults(page)));
      }
    }
    expect(faults).toEqual([]);
  });
});
