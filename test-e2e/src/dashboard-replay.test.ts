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
import { type Dashcam, Dashcams } from './testing/dashcams.ts';
import { leaseHarness, type ProductHarness } from './testing/harness.ts';
import { sendPastDrive } from './testing/past-drive.ts';

// A browser with software rendering on a busy machine.
jest.setTimeout(600_000);

const zone = 'Asia/Kolkata';
const dayMs = 86_400_000;
/** Yesterday in the zone of the vehicle: two drives with a gap without reports between them. */
const yesterday = new Date(Date.now() + 19_800_000 - dayMs).toISOString().slice(0, 10);
const atClock = (time: string): number => Date.parse(`${yesterday}T${time}+05:30`);

let harness: ProductHarness;
let dashcams: Dashcams;
let dashcam: Dashcam;
let browser: DashboardBrowser;
let page: Page;

beforeAll(async () => {
  harness = await leaseHarness();
  dashcams = await Dashcams.open(harness);
  dashcam = await dashcams.create({ vehicle_no: 'REPLAY 1', timezone: zone, camera_utc_offset: '+08:00' });
  const { terminal, vehicleId } = dashcam;
  const place = { latitude: 9.93, longitude: 76.26 };
  const count =
    sendPastDrive(terminal, { ...place, startMs: atClock('09:00:00'), driveMinutes: 10, standMinutes: 10 }) +
    sendPastDrive(terminal, { ...place, startMs: atClock('12:00:00'), driveMinutes: 10, standMinutes: 10 });
  const path = `/vehicles/${vehicleId}/locations?from=${atClock('00:00:00')}&to=${atClock('23:59:59')}`;
  await waitFor(
    async () => ((await dashcams.client.request(path))['data'] as unknown[]).length === count,
    'the reports of yesterday',
    pageTimeoutMs,
  );
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
const openDay = (more = '') => open(`/vehicles/${dashcam.vehicleId}/day/${yesterday}${more}`);
const timeBar = () => page.getByRole('slider', { name: 'Time of the replay' });
const readTime = async (): Promise<string> => (await timeBar().getAttribute('aria-valuetext')) ?? '';
const waitForText = (pattern: RegExp) =>
  waitFor(async () => pattern.test(await readTime()), `${String(pattern)} at the playhead`, pageTimeoutMs);

describe('the replay of a day', () => {
  it('starts at the first trip, plays at four times the speed, and pauses', async () => {
    await openDay();
    await waitForText(/^09:00:00, 54 km\/h, Moving$/);
    await page.getByText('4x').click();
    await page.getByRole('button', { name: 'Play', exact: true }).click();
    await waitForText(/^09:00:[1-5]\d, 54 km\/h, Moving$/);
    await page.getByRole('button', { name: 'Pause', exact: true }).click();
    const paused = await readTime();
    // The address has the time, and shows the same after a reload.
    await page.waitForURL((url) => url.searchParams.get('t') === String(atClock(paused.slice(0, 8)) / 1_000));
    await page.reload();
    await waitFor(async () => (await readTime()) === paused, 'the same time after a reload', pageTimeoutMs);
    await waitForAssertion(async () =>
      expect(await page.getByRole('button', { name: 'Play', exact: true }).isVisible()).toBe(true),
    );
  });

  it('moves by keyboard, and says that there are no reports in a gap', async () => {
    await openDay(`?t=${atClock('09:05:00') / 1_000}`);
    await waitForText(/^09:05:00, 54 km\/h, Moving$/);
    await timeBar().focus();
    await page.keyboard.press('ArrowRight');
    await waitForText(/^09:05:10/);
    await page.keyboard.press('Shift+ArrowLeft');
    await waitForText(/^09:04:10/);
    await page.keyboard.press('Space');
    await page.getByRole('button', { name: 'Pause', exact: true }).waitFor();
    await page.keyboard.press('Space');
    await openDay(`?t=${atClock('11:00:00') / 1_000}`);
    await waitForText(/^11:00:00, no report$/);
    await waitForAssertion(async () =>
      expect(await page.getByRole('button', { name: 'Play', exact: true }).isVisible()).toBe(true),
    );
  });

  it('names the zone and the offset of the camera, and lists trips, stops and states', async () => {
    await openDay();
    await page.getByText('Vehicle time Asia/Kolkata, UTC+5:30 (camera UTC+8:00)').waitFor();
    await page.getByRole('button', { name: '2 trips' }).click();
    await page.getByRole('menuitem', { name: /^12:00 – 12:1\d, 9 km$/ }).click();
    await waitForText(/^12:00:00/);
    await page.getByRole('button', { name: 'Show as list' }).click();
    await page.getByRole('region', { name: 'Stops' }).getByRole('button', { name: /^09:1/ }).waitFor();
    // Each stop has the name of its place.
    const stop = page.getByRole('region', { name: 'Stops' }).getByRole('listitem').first();
    await waitForAssertion(async () => expect(await stop.innerText()).toMatch(/\p{L}{3}/u));
    const states = await page.getByRole('region', { name: 'States' }).innerText();
    expect(states).toMatch(/09:00:00[\s\S]*Moving[\s\S]*Stopped[\s\S]*Offline[\s\S]*12:00:00[\s\S]*Moving/);
  });

  it('exports the positions of the day', async () => {
    await openDay();
    await page.getByRole('button', { name: 'Export' }).click();
    const saved = page.waitForEvent('download');
    await page.getByRole('menuitem', { name: 'Positions as CSV' }).click();
    const download = await saved;
    const text = readFileSync(await download.path(), 'utf8');
    expect(download.suggestedFilename()).toMatch(/\.csv$/);
    expect(text.trim().split('\n').length).toBeGreaterThan(200);
  });

  it('shows the days with data in a calendar, and opens one by keyboard', async () => {
    const days = '**/days?month=*';
    const json = { status: 500, error: 'The test refuses.', code: 'internal_error', request_id: 'request-of-test' };
    browser.expectStatus(500);
    await page.route(days, (route) => route.fulfill({ status: 500, json }));
    await openDay();
    await waitForText(/^09:00:00/);
    await page.getByRole('button', { name: 'Days with data' }).press('Enter');
    const retry = page.getByRole('dialog').getByRole('button', { name: 'Retry' });
    await retry.waitFor();
    await page.unroute(days);
    await retry.click();
    const grid = page.getByRole('grid', { name: 'Days of the month' });
    const dayWithData = grid.getByRole('button', { name: /, 1[78](\.\d)? km/ });
    await dayWithData.waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await dayWithData.focus();
    await page.keyboard.press('ArrowLeft');
    await waitForAssertion(async () =>
      expect(await page.evaluate<string>('document.activeElement.ariaLabel')).toMatch(/, no data$/),
    );
    await page.keyboard.press('Enter');
    const dayBefore = new Date(Date.parse(yesterday) - dayMs).toISOString().slice(0, 10);
    await page.waitForURL((url) => url.pathname.endsWith(`/day/${dayBefore}`));
    await grid.waitFor({ state: 'hidden' });
  });

  it('has 25 hours on the day on which summer time ends', async () => {
    const vehicle = await dashcams.client.requestData('/vehicles', { vehicle_no: 'DST 1', timezone: 'Europe/Berlin' });
    await open(`/vehicles/${String(vehicle.id)}/day/2026-10-25`);
    await page.getByText('The clock changes: this day has 25 hours.').waitFor();
    const [min, max] = await Promise.all(
      ['aria-valuemin', 'aria-valuemax'].map((name) => timeBar().getAttribute(name)),
    );
    expect((Number(max) - Number(min)) / 3_600_000).toBe(25);
  });

  it('has no serious accessibility fault in either theme', async () => {
    const faults: string[] = [];
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      await openDay();
      await page.getByRole('button', { name: 'Show as list' }).click();
      await page.getByRole('region', { name: 'States' }).waitFor();
      faults.push(...(await findAccessibilityFaults(page)));
    }
    expect(faults).toEqual([]);
  });
});
