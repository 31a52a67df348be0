import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Page } from 'playwright-core';
import {
  DashboardBrowser,
  findAccessibilityFaults,
  logIn,
  openDashboard,
  pageTimeoutMs,
} from './testing/dashboard-browser.ts';
import { takePictures } from './testing/dashboard-pictures.ts';
import { type Dashcam, Dashcams } from './testing/dashcams.ts';
import { leaseHarness, type ProductHarness } from './testing/harness.ts';
import { createRecording } from './testing/playback.ts';
import { waitForPlaying } from './testing/video-probe.ts';

// Two browsers with software rendering on a busy machine.
jest.setTimeout(600_000);

const hourMs = 3_600_000;
/** A slow machine may not reach the end before a test seeks there. */
const recordingMs = 240_000;
/** Yesterday at 10:00 and 11:00 on the clock of the camera, which is that of the vehicle. */
const dayStartMs = Math.floor((Date.now() + 8 * hourMs) / (24 * hourMs)) * 24 * hourMs - 32 * hourMs;
const date = new Date(dayStartMs + 8 * hourMs).toISOString().slice(0, 10);
const firstMs = dayStartMs + 10 * hourMs;
const secondMs = dayStartMs + 11 * hourMs;
const toCameraClock = (timeMs: number): string => new Date(timeMs + 8 * hourMs).toISOString().slice(0, 19);
const recordingAt = (startMs: number) =>
  createRecording(toCameraClock(startMs), toCameraClock(startMs + recordingMs), { fileSizeBytes: 8_000_000 });
const colleague = { email: `replay-${process.pid}@fleet.example`, password: 'correct horse battery' };

let harness: ProductHarness;
let dashcams: Dashcams;
let dashcam: Dashcam;
let browser: DashboardBrowser;
let page: Page;

beforeAll(async () => {
  harness = await leaseHarness();
  dashcams = await Dashcams.open(harness);
  dashcam = await dashcams.create(
    { name: 'Recorder', timezone: 'Asia/Shanghai', camera_utc_offset: '+08:00', channels: [{ channel_id: 1 }] },
    {
      recordings: [recordingAt(firstMs), recordingAt(secondMs)],
      video: { width: 320, height: 240, fps: 10, gop: 10 },
    },
  );
  await dashcams.client.requestData('/users', { name: 'Asha Nair', role: 'manager', ...colleague });
  ({ browser, page } = await openDashboard(harness));
}, 240_000);

afterAll(async () => {
  await browser?.close();
  await harness?.stop();
}, 90_000);

/** Fails a test whose page had an error, even if the test saw what it waited for. */
afterEach(() => expect(browser.faults.splice(0)).toEqual([]));

const openDay = (timeMs: number, target = page) =>
  target.goto(`${browser.baseUrl}/vehicles/${dashcam.vehicleId}/day/${date}?t=${timeMs / 1_000}`);
const pane = (target = page) => target.getByRole('region', { name: 'Video', exact: true });
const picture = (target = page) => target.getByLabel("Picture of the camera's recording");
const timeBar = (target = page) => target.getByRole('slider', { name: 'Time of the replay' });
const play = (target = page) => pane(target).getByRole('button', { name: 'Play from the camera' }).click();
/** The control of the newest command 0x9202 that the camera received. */
const countControls = (): number => dashcam.terminal.receivedFrames(0x9202).length;

/** Returns the time at the playhead. */
async function readPlayhead(target = page): Promise<number> {
  const [clock = ''] = ((await timeBar(target).getAttribute('aria-valuetext')) ?? '').split(',');
  return Date.parse(`${date}T${clock}+08:00`);
}

/** Returns the time of the picture on screen: the recording begins with the stream. */
async function readPictureTime(): Promise<number> {
  const seconds = await picture().evaluate((element) => (element as unknown as { currentTime: number }).currentTime);
  return firstMs + seconds * 1_000;
}

const waitForPlayhead = (fromMs: number, toMs: number, target = page) =>
  waitFor(
    async () => {
      const timeMs = await readPlayhead(target);
      return timeMs >= fromMs && timeMs < toMs;
    },
    `the playhead between ${toCameraClock(fromMs)} and ${toCameraClock(toMs)}`,
    pageTimeoutMs,
  );

describe('the recording of a camera', () => {
  it('plays after its cost was shown; the playhead follows the picture, pauses, speeds up, seeks and ends', async () => {
    // The page looks for another recording when one has ended.
    browser.expectStatus(404);
    await openDay(firstMs);
    await page.getByRole('button', { name: 'Query the camera for its recordings' }).click();
    await pane().getByText('The camera has a recording at this time.').waitFor();
    await pane()
      .getByText(/^Playing it uses about 2 MB a minute/)
      .waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await play();
    await pane().getByText('From the camera, 10:00:00 – 10:04:00').waitFor();
    await waitForPlaying(picture());
    // The text of the playhead has whole seconds.
    await waitFor(
      async () => Math.abs((await readPictureTime()) - (await readPlayhead()) - 500) <= 1_000,
      'the playhead at the picture',
      pageTimeoutMs,
    );
    await takePictures(page, 'camera-replay');

    const beforePause = countControls();
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    await waitFor(() => countControls() === beforePause + 1, 'the pause at the camera', pageTimeoutMs);
    await waitFor(() => page.evaluate<boolean>('document.querySelector("video").paused'), 'a still picture');
    const pausedAtMs = await readPlayhead();
    await page.getByText('4x', { exact: true }).click();
    await page.getByRole('button', { name: 'Play', exact: true }).click();
    await waitFor(() => countControls() >= beforePause + 2, 'the speed at the camera', pageTimeoutMs);
    await waitForPlayhead(pausedAtMs + 10_000, firstMs + recordingMs);
    // The camera sends no sound at this speed, and the pictures go on.
    await waitForPlaying(picture());
    expect(await picture().isVisible()).toBe(true);

    await page.getByText('1x', { exact: true }).click();
    const beforeSeek = countControls();
    await timeBar().focus();
    // A minute each.
    for (let minute = 0; minute < 3; minute += 1) await page.keyboard.press('Shift+ArrowRight');
    await waitFor(() => countControls() > beforeSeek, 'the seek at the camera', pageTimeoutMs);
    // The end of the recording is the end of its window.
    await pane()
      .getByText('The recording has ended.')
      .waitFor({ timeout: 2 * pageTimeoutMs });
    expect(await pane().getByRole('button', { name: 'Play from the camera' }).isVisible()).toBe(true);
  });

  it('of which another user plays a part offers to watch along, or to take over', async () => {
    browser.expectStatus(409);
    const other = await DashboardBrowser.open(harness);
    try {
      other.expectStatus(409);
      const visitor = await other.newPage('/');
      await logIn(visitor, colleague);
      await openDay(firstMs);
      await play();
      await waitForPlaying(picture());
      await openDay(secondMs, visitor);
      await play(visitor);
      const choice = pane(visitor).getByRole('alert');
      await choice.getByText(/ plays 10:00:00 – 10:\d\d:\d\d from this camera\.$/).waitFor();
      expect(await findAccessibilityFaults(visitor)).toEqual([]);
      await choice.getByRole('button', { name: 'Watch along' }).click();
      await pane(visitor)
        .getByText(/^From the camera, .* started by /)
        .waitFor();
      await waitForPlaying(picture(visitor));
      await waitForPlayhead(firstMs, firstMs + 10 * 60_000, visitor);

      await openDay(secondMs, visitor);
      await play(visitor);
      await pane(visitor).getByRole('button', { name: 'Take over' }).click();
      await pane(visitor)
        .getByText(/^From the camera, 11:00:00 – /)
        .waitFor();
      await waitForPlaying(picture(visitor));
      await waitForPlayhead(secondMs, secondMs + recordingMs, visitor);
      // The first user gets the same choice.
      await pane()
        .getByRole('alert')
        .getByText(/^Asha Nair plays 11:00:00 – /)
        .waitFor();
      expect(other.faults).toEqual([]);
    } finally {
      await other.close();
    }
  });

  it('of a camera that is not connected cannot be played, and says why', async () => {
    const gone = await dashcams.create({ name: 'Gone', timezone: 'Asia/Shanghai', channels: [{ channel_id: 1 }] });
    await gone.terminal.stop();
    await page.goto(`${browser.baseUrl}/vehicles/${gone.vehicleId}/day/${date}`);
    await play();
    const alert = pane().getByRole('alert');
    await alert.getByText(/not connected/).waitFor();
    expect(await alert.getByRole('button', { name: 'Retry' }).isVisible()).toBe(true);
  });
});
