import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Page } from 'playwright-core';
import {
  type DashboardBrowser,
  findAccessibilityFaults,
  openDashboard,
  readSidewaysScroll,
} from './testing/dashboard-browser.ts';
import { leaseHarness, type ProductHarness, uniquePhone } from './testing/harness.ts';
import { PlatformClient, type RegisteredAccount } from './testing/platform-client.ts';

// A browser with software rendering on a busy machine.
jest.setTimeout(600_000);

const phone = { width: 390, height: 844 };

let harness: ProductHarness;
let account: RegisteredAccount;
let browser: DashboardBrowser;
let page: Page;
let terminal: SimulatedTerminal;
let vehicleId: number;

beforeAll(async () => {
  harness = await leaseHarness();
  account = await PlatformClient.register(harness, 'phone');
  const imei = uniquePhone();
  vehicleId = Number((await account.client.requestData('/vehicles', { vehicle_no: 'KL07PH0001', imei })).id);
  terminal = await harness.startTerminal({ phone: imei, reportIntervalMs: 1_000 });
  ({ browser, page } = await openDashboard(harness, account));
  await page.setViewportSize(phone);
}, 240_000);

afterAll(async () => {
  await browser?.close();
  await harness?.stop();
}, 90_000);

const expectNoFaults = (): void => expect(browser.faults.splice(0)).toEqual([]);
afterEach(expectNoFaults);

const open = (path: string) => page.goto(`${browser.baseUrl}${path}`);
describe('on a phone', () => {
  it('finds a vehicle, and opens its page', async () => {
    await open('/vehicles');
    await page.getByRole('link', { name: 'KL07PH0001' }).click();
    await page.getByRole('heading', { level: 1 }).getByText('KL07PH0001').waitFor();
    expect(await readSidewaysScroll(page)).toBe(0);
  });

  it('acknowledges an event', async () => {
    await open('/events');
    await page.getByText('All handled').waitFor();
    terminal.raiseAlarm('emergency');
    const row = page.getByRole('list', { name: 'List of events' }).getByRole('button', { name: /SOS/ });
    await row.click();
    const details = page.getByRole('article', { name: 'Event' });
    // The list makes room for the event.
    await row.waitFor({ state: 'hidden' });
    expect(await readSidewaysScroll(page)).toBe(0);
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await details.getByRole('button', { name: 'Acknowledge' }).click();
    await details.getByText(/^Acknowledged by Owner, /).waitFor();
    await details.getByRole('button', { name: 'Close' }).click();
    await page.getByText('All handled').waitFor();
  });

  it('offers the actions of the map and of the replay of a day', async () => {
    const today = new Date().toISOString().slice(0, 10);
    const actions: readonly (readonly [path: string, names: readonly string[]])[] = [
      ['/map', ['Layers', 'Nearest']],
      [`/vehicles/${vehicleId}/day/${today}`, ['Day before', 'Days with data', 'Export', 'Play', 'Show as list']],
    ];
    for (const [path, names] of actions) {
      await open(path);
      // A trial fails if another element covers the button.
      for (const name of names) await page.getByRole('button', { name, exact: true }).click({ trial: true });
      expect(await readSidewaysScroll(page)).toBe(0);
      expect(await findAccessibilityFaults(page)).toEqual([]);
    }
    await page.getByRole('button', { name: 'Days with data' }).click();
    const firstDay = page.getByRole('grid', { name: 'Days of the month' }).getByRole('button').first();
    await firstDay.click({ trial: true });
    expect(await readSidewaysScroll(page)).toBe(0);
  });
});
