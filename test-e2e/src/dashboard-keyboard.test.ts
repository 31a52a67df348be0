import { waitFor, waitForAssertion } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Page } from 'playwright-core';
import {
  type DashboardBrowser,
  findAccessibilityFaults,
  openDashboard,
  pageTimeoutMs,
} from './testing/dashboard-browser.ts';
import { type ProductHarness, startHarness, uniquePhone } from './testing/harness.ts';
import { PlatformClient } from './testing/platform-client.ts';

// A browser with software rendering on a busy machine.
jest.setTimeout(600_000);

let harness: ProductHarness;
let browser: DashboardBrowser;
let page: Page;
let vehicleId: number;
let vehicleNo: string;

beforeAll(async () => {
  harness = await startHarness();
  const client = await PlatformClient.logIn(harness);
  const imei = uniquePhone();
  vehicleNo = `KEY ${imei.slice(-12)}`;
  vehicleId = Number(
    (await client.requestData('/vehicles', { vehicle_no: vehicleNo, name: 'Keyboard truck', imei })).id,
  );
  ({ browser, page } = await openDashboard(harness));
}, 240_000);

afterAll(async () => {
  await browser?.close();
  await harness?.stop();
}, 90_000);

afterEach(() => expect(browser.faults.splice(0)).toEqual([]));

const path = () => new URL(page.url()).pathname;
const becomes = (expected: string) => waitFor(() => path() === expected, expected, pageTimeoutMs);

describe('the keyboard', () => {
  it('finds a vehicle in the command palette and opens it', async () => {
    await page.keyboard.press('Control+k');
    await page.getByPlaceholder('Find a page, vehicle, driver or place').fill(vehicleNo);
    await page.getByRole('dialog').getByText('Keyboard truck').waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await page.keyboard.press('ArrowDown');
    await page.locator('[data-selected]').getByText('Keyboard truck').waitFor();
    await page.keyboard.press('Enter');
    await becomes(`/vehicles/${vehicleId}`);
  });

  it('opens the first row by Enter, although the list was loaded after the last key', async () => {
    await page.goto(`${browser.baseUrl}/profile`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    let release = (): void => undefined;
    const isReleased = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/api/vehicles?*', async (route) => {
      await isReleased;
      await route.continue();
    });
    await page.keyboard.press('Control+k');
    await page.getByPlaceholder('Find a page, vehicle, driver or place').fill(vehicleNo);
    await page.getByText('Nothing matches').waitFor();
    release();
    await page.getByRole('dialog').getByText('Keyboard truck').waitFor();
    await page.keyboard.press('Enter');
    await becomes(`/vehicles/${vehicleId}`);
    expect(path()).toBe(`/vehicles/${vehicleId}`);
    await page.unroute('**/api/vehicles?*');
  });

  it('opens pages by g and a letter', async () => {
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('e');
    await becomes('/events');
    await page.keyboard.press('g');
    await page.keyboard.press('l');
    await becomes('/vehicles');
    expect(path()).toBe('/vehicles');
  });

  it('lists its keys, and switches single keys off', async () => {
    await page.keyboard.press('?');
    const table = page.getByRole('dialog', { name: 'Keyboard' });
    await table.getByText('Find anything').waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
    const saved = page.waitForResponse((response) => response.request().method() === 'PUT' && response.ok());
    await table.getByLabel('Use single keys').click();
    await saved;
    await table.locator('input[type=checkbox]:not(:checked)').waitFor({ state: 'attached' });
    await page.keyboard.press('Escape');
    await table.waitFor({ state: 'hidden' });
    await page.keyboard.press('?');
    await page.keyboard.press('Control+k');
    await page.getByPlaceholder('Find a page, vehicle, driver or place').waitFor();
    await waitForAssertion(async () => expect(await table.isVisible()).toBe(false));
  });
});
