import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Page, Route } from 'playwright-core';
import { type DashboardBrowser, findAccessibilityFaults, openDashboard } from './testing/dashboard-browser.ts';
import { leaseHarness, type ProductHarness, uniquePhone } from './testing/harness.ts';
import { PlatformClient, type RegisteredAccount } from './testing/platform-client.ts';

// Many pages in a browser with software rendering on a busy machine.
jest.setTimeout(600_000);

let harness: ProductHarness;
let account: RegisteredAccount;
let browser: DashboardBrowser;
let page: Page;
let vehicleId: number;

beforeAll(async () => {
  harness = await leaseHarness();
  account = await PlatformClient.register(harness, 'failures');
  const imei = uniquePhone();
  vehicleId = Number((await account.client.requestData('/vehicles', { vehicle_no: 'KL07FA0001', imei })).id);
  ({ browser, page } = await openDashboard(harness, account));
}, 240_000);

afterAll(async () => {
  await browser?.close();
  await harness?.stop();
}, 90_000);

/** Fails a test whose page had an error, even if the test saw what it waited for. */
afterEach(() => expect(browser.faults.splice(0)).toEqual([]));

const open = (path: string) => page.goto(`${browser.baseUrl}${path}`);
const alert = () => page.getByRole('alert').first();
/** Other alerts, such as that of a terminal that is not connected, may stand before it. */
const failure = () => page.getByRole('alert').filter({ hasText: 'This could not be loaded' }).first();

/** Each page with the requests that it cannot do without. */
const pages: readonly (readonly [path: string, requests: string])[] = [
  ['/video', '**/api/vehicles?*'],
  ['/events', '**/api/notifications?*'],
  ['/vehicles', '**/api/vehicles?*'],
  ['/vehicles/ID', '**/api/vehicles/ID'],
  ['/vehicles/ID/settings', '**/api/vehicles/ID'],
  ['/vehicles/ID/commands', '**/api/vehicles/ID/commands?*'],
  ['/vehicles/ID/notifications', '**/api/notifications/vehicle-preferences/ID'],
  ['/vehicles/ID/sharing', '**/api/vehicle/get-shared-users?*'],
  ['/vehicles/ID/routes', '**/api/vehicles/ID/list-linked-routes?*'],
  ['/vehicles/ID/media', '**/api/user/downloaded-dashcam-videos?*'],
  ['/vehicles/ID/day/2026-11-20', '**/api/vehicles/ID/locations?*'],
  ['/groups', '**/api/vehicle-groups?*'],
  ['/media', '**/api/user/downloaded-dashcam-videos?*'],
  ['/drivers', '**/api/drivers?*'],
  ['/geofences', '**/api/geofences?*'],
  ['/routes', '**/api/routes?*'],
  ['/sharing', '**/api/share-links?*'],
  ['/devices/mining', '**/api/mining-devices/list'],
  ['/devices/partners', '**/api/partners*'],
  ['/messages', '**/api/chat-log?*'],
  ['/support', '**/api/support-tickets?*'],
  ['/account/users', '**/api/users?*'],
  ['/account/audit', '**/api/audit-log?*'],
  ['/account/configuration', '**/api/global-config*'],
  ['/profile/security', '**/api/auth/sessions*'],
  ['/profile/webhooks', '**/api/user-webhooks*'],
];
const withVehicle = (text: string): string => text.replace('ID', String(vehicleId));

const respondWith = (status: number, headers: Record<string, string> = {}) => {
  const code = status === 429 ? 'rate_limited' : 'internal_error';
  const body = JSON.stringify({
    status,
    error: `The test refuses with ${status}.`,
    code,
    request_id: 'request-of-test',
  });
  return (route: Route): Promise<void> =>
    route.request().method() === 'GET' || route.request().url().endsWith('/list')
      ? route.fulfill({ status, contentType: 'application/json', headers, body })
      : route.fallback();
};

describe.each(pages)('the page %s', (path, requests) => {
  const fail = (handle: (route: Route) => Promise<void>) => page.route(withVehicle(requests), handle);
  const recover = () => page.unroute(withVehicle(requests));

  it('names a failure of the server with its request, and loads after a click', async () => {
    browser.expectStatus(500);
    await fail(respondWith(500));
    await open(withVehicle(path));
    await failure().getByText('This could not be loaded').waitFor();
    await failure().getByText('Request request-of-test').waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await recover();
    await failure().getByRole('button', { name: 'Retry' }).click();
    await page.getByText('This could not be loaded').waitFor({ state: 'detached' });
    await page.getByRole('heading', { level: 1 }).waitFor({ state: 'attached' });
  });

  it('counts down while requests are limited, and then loads by itself', async () => {
    browser.expectStatus(429);
    await fail(respondWith(429, { 'retry-after': '4' }));
    await open(withVehicle(path));
    await failure()
      .getByRole('button', { name: /^Retry in [1-4] s$/ })
      .waitFor();
    await recover();
    await page.getByText('This could not be loaded').waitFor({ state: 'detached' });
    await page.getByRole('heading', { level: 1 }).waitFor({ state: 'attached' });
    expect(await page.getByRole('button', { name: /^Retry/ }).count()).toBe(0);
  });

  it('says that it still loads, and shows what arrives late', async () => {
    let release = (): void => undefined;
    const isReleased = new Promise<void>((resolve) => {
      release = resolve;
    });
    await fail(async (route) => {
      await isReleased;
      await route.continue();
    });
    await open(withVehicle(path));
    await page.getByRole('status').getByText('Still loading').waitFor();
    release();
    await page.getByText('Still loading').waitFor({ state: 'detached' });
    await page.getByRole('heading', { level: 1 }).waitFor({ state: 'attached' });
    await recover();
    expect(await page.getByText('This could not be loaded').count()).toBe(0);
  });
});

describe('a page whose request gets no response', () => {
  it('offers a retry after 15 seconds, which loads it', async () => {
    let isResponding = false;
    await page.route('**/api/drivers?*', (route) => (isResponding ? route.continue() : undefined));
    await open('/drivers');
    const retry = page.getByRole('status').getByRole('button', { name: 'Retry' });
    await retry.waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
    isResponding = true;
    await retry.click();
    await page.getByText('Still loading').waitFor({ state: 'detached' });
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.unroute('**/api/drivers?*');
  });
});

describe('a new version of the page', () => {
  it('is offered when the server no longer has a part of the old one', async () => {
    browser.expectStatus(404);
    browser.expectConsole(/dynamically imported module/);
    await open('/profile');
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.route('**/assets/page-*.js', (route) => route.fulfill({ status: 404 }));
    await page.getByRole('link', { name: 'Vehicles' }).first().click();
    await alert()
      .getByText(/could not be loaded\. The server may have a new version of it\.$/)
      .waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await page.unroute('**/assets/page-*.js');
    await page.getByRole('button', { name: 'Reload' }).click();
    await page.getByRole('link', { name: 'KL07FA0001' }).waitFor();
    expect(await page.getByText(/new version/).count()).toBe(0);
  });
});
