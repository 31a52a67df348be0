import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor, waitForAssertion } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Page } from 'playwright-core';
import {
  closeOthers,
  DashboardBrowser,
  findAccessibilityFaults,
  logIn,
  pageTimeoutMs,
} from './testing/dashboard-browser.ts';
import { type ProductHarness, startHarness, uniquePhone } from './testing/harness.ts';
import { PlatformClient } from './testing/platform-client.ts';

// A browser with software rendering on a busy machine.
jest.setTimeout(600_000);

let harness: ProductHarness;
let client: PlatformClient;
let browser: DashboardBrowser;
/** All browsers of this file, which would keep the process running. */
const browsers: DashboardBrowser[] = [];
let page: Page;
let terminal: SimulatedTerminal;
let vehicleId: number;

beforeAll(async () => {
  harness = await startHarness();
  client = await PlatformClient.logIn(harness);
  const imei = uniquePhone();
  vehicleId = Number((await client.requestData('/vehicles', { vehicle_no: 'KL07CD1234', name: 'Truck 12', imei })).id);
  terminal = await harness.startTerminal({ phone: imei, reportIntervalMs: 500 });
  browser = await openBrowser();
  page = await browser.newPage('/');
  await logIn(page, harness.product.runtime.demo);
}, 240_000);

afterAll(async () => {
  for (const opened of browsers) await opened.close();
  await harness?.stop();
}, 90_000);

/** Fails a test whose page had an error, even if the test saw what it waited for. */
const expectNoFaults = (): void => expect(browser.faults.splice(0)).toEqual([]);
afterEach(expectNoFaults);
afterEach(() => closeOthers(browsers));

async function openBrowser(): Promise<DashboardBrowser> {
  const opened = await DashboardBrowser.open(harness);
  browsers.push(opened);
  return opened;
}

const open = (path: string) => page.goto(`${browser.baseUrl}${path}`);

describe('the log-in page', () => {
  it('refuses a wrong password with one sentence, and keeps no token in storage or address', async () => {
    const other = await openBrowser();
    other.expectStatus(401);
    const visitor = await other.newPage('/vehicles');
    await visitor.getByLabel('E-mail or phone').fill(harness.product.runtime.demo.email);
    await visitor.locator('input[type=password]').fill('a wrong password');
    await visitor.getByRole('button', { name: 'Log in', exact: true }).click();
    await visitor.getByRole('alert').getByText('The name or the password is wrong.').waitFor();
    await visitor.locator('input[type=password]').fill(harness.product.runtime.demo.password);
    await visitor.getByRole('button', { name: 'Log in', exact: true }).click();
    // The page that was requested before the log-in.
    await visitor.getByRole('heading', { name: /vehicle/ }).waitFor();
    await waitForAssertion(() => expect(new URL(visitor.url()).pathname).toBe('/vehicles'));
    const stored = await visitor.evaluate(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])',
    );
    expect(stored).not.toMatch(/rt_|fk_|eyJ/);
    await waitForAssertion(() => expect(visitor.url()).not.toMatch(/token|rt_|fk_|eyJ/));
    expect(other.faults).toEqual([]);
  });

  it('appears without a click when the session is ended elsewhere, and returns to the same page', async () => {
    const other = await openBrowser();
    other.expectStatus(401);
    const { demo } = harness.product.runtime;
    const window = await other.newPage('/login');
    await logIn(window, demo);
    await window.getByRole('link', { name: 'Events' }).click();
    await window.getByRole('heading', { name: 'Events', exact: true }).waitFor();
    const newest = Math.max(...(await client.listAll('/auth/sessions')).map(({ id }) => Number(id)));
    await client.remove(`/auth/sessions/${newest}`);
    await window.getByText('Your session has ended. Log in again.').waitFor();
    await window.getByLabel('E-mail or phone').fill(demo.email);
    await window.locator('input[type=password]').fill(demo.password);
    await window.getByRole('button', { name: 'Log in', exact: true }).click();
    await window.getByRole('heading', { name: 'Events', exact: true }).waitFor();
    expect(other.faults).toEqual([]);
  });

  it('continues the session after a reload, and in a second window', async () => {
    await open('/vehicles');
    await page.getByRole('link', { name: 'KL07CD1234' }).waitFor();
    const second = await browser.newPage('/vehicles');
    await second.getByRole('link', { name: 'KL07CD1234' }).waitFor();
    await waitForAssertion(() => expect(new URL(second.url()).pathname).toBe('/vehicles'));
    await second.close();
  });
});

describe('the live map', () => {
  it('shows the vehicle, its state and its newest position', async () => {
    await open('/map');
    const row = page.getByRole('button', { name: /Truck 12/ });
    await row.waitFor();
    await row.click();
    const panel = page.getByRole('region', { name: 'Truck 12' });
    await panel.getByText('KL07CD1234').waitFor();
    await page.getByRole('status').getByText('Live').waitFor();
    await page.locator('canvas.maplibregl-canvas').waitFor();
    await waitFor(async () => /Fix\s+[0-9] sec/.test(await panel.innerText()), 'a position of the last ten seconds');
    await waitForAssertion(async () => expect(await panel.innerText()).toContain('Truck 12'));
  });

  it('filters by state and text, and shows the same in a second window with the same address', async () => {
    await open('/map?q=nothing');
    await page.getByText('No vehicle matches').waitFor();
    await page.getByRole('textbox', { name: 'Find a vehicle' }).fill('kl07 cd');
    await page.getByRole('button', { name: /Truck 12/ }).click();
    await page.getByRole('region', { name: 'Truck 12' }).waitFor();
    const second = await browser.newPage(new URL(page.url()).pathname + new URL(page.url()).search);
    await second.getByRole('region', { name: 'Truck 12' }).waitFor();
    await waitForAssertion(async () =>
      expect(await second.getByRole('textbox', { name: 'Find a vehicle' }).inputValue()).toBe('kl07 cd'),
    );
    await second.close();
  });
});

describe('the video wall', () => {
  it('plays a camera: the time advances and pictures arrive', async () => {
    await open('/video');
    await page
      .getByRole('button', { name: /Truck 12, camera/ })
      .first()
      .click();
    const readVideo = () =>
      page.evaluate<{ time: number; pictures: number } | null>(
        `(() => { const video = document.querySelector('video'); return video === null ? null :
          { time: video.currentTime, pictures: video.getVideoPlaybackQuality().totalVideoFrames }; })()`,
      );
    await waitFor(
      async () => {
        const state = await readVideo();
        return state !== null && state.time > 2 && state.pictures > 20;
      },
      'two seconds of video',
      pageTimeoutMs,
    );
    await page.getByText(/^Sub stream/).waitFor();
    expect((await readVideo())?.time).toBeGreaterThan(2);
  });

  it('says why a camera does not play, and offers a retry', async () => {
    browser.expectStatus(404);
    const { id } = await client.requestData('/vehicles', { vehicle_no: 'OFF 1', imei: uniquePhone() });
    await open(`/video?tiles=${String(id)}.1`);
    await page.getByText('The vehicle is offline').waitFor();
    await waitForAssertion(async () =>
      expect(await page.getByRole('button', { name: 'Retry' }).isVisible()).toBe(true),
    );
  });
});

describe('the event inbox', () => {
  it('receives an SOS without a reload, and acknowledges it with a note', async () => {
    await open('/events');
    await page.getByRole('heading', { name: 'Events', exact: true }).waitFor();
    terminal.raiseAlarm('emergency');
    // New events wait behind a button, so that no row moves under the pointer.
    const event = page.getByRole('list', { name: 'List of events' }).getByRole('button', { name: /SOS/i }).first();
    await event
      .or(page.getByRole('button', { name: /new event/ }))
      .first()
      .click();
    await event.click();
    await page.getByLabel('Note').fill('called the driver');
    await page.getByRole('button', { name: /^Acknowledge/ }).click();
    await page.getByText(/^Acknowledged by /).waitFor();
    const [stored] = await client.listAll('/notifications?type=sos');
    expect(stored).toMatchObject({ vehicle_id: vehicleId, acknowledged_at: expect.any(String) });
  });
});

describe('the preferences', () => {
  it('switch the page to another language and another unit, also after a reload', async () => {
    await open('/profile/preferences');
    await page.getByLabel('Speed').selectOption('mph');
    await page.getByLabel('Language').selectOption('zh');
    await page.getByRole('heading', { name: '个人资料' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { name: '个人资料' }).waitFor();
    await waitForAssertion(async () => expect(await page.getByLabel('速度').inputValue()).toBe('mph'));
    await page.getByLabel('语言').selectOption('en');
    await page.getByRole('heading', { name: 'Profile', exact: true }).waitFor();
  });
});

describe('accessibility', () => {
  it.each(['light', 'dark'] as const)('has no serious fault on any page in the %s theme', async (scheme) => {
    await page.emulateMedia({ colorScheme: scheme });
    const faults: string[] = [];
    for (const path of ['/map', '/video', '/events', '/vehicles', `/vehicles/${vehicleId}`, '/profile/webhooks']) {
      await open(path);
      await page.getByRole('heading', { level: 1 }).waitFor({ state: 'attached' });
      faults.push(...(await findAccessibilityFaults(page)).map((fault) => `${path} ${fault}`));
    }
    expect(faults).toEqual([]);
  });
});

describe('a public share page', () => {
  it('shows one vehicle to a guest without credentials', async () => {
    const link = await client.requestData('/share-links', { vehicle_id: vehicleId, expires_in_hours: 1 });
    const guest = await openBrowser();
    const view = await guest.newPage(`/share/${String(link['slug'])}`);
    await view.getByRole('heading', { name: 'Truck 12' }).waitFor();
    await view.locator('canvas.maplibregl-canvas').waitFor();
    expect(guest.faults).toEqual([]);
  });
});

describe('the log-out', () => {
  it('ends the session in all windows and leads to the log-in page', async () => {
    // The other window may renew its session before it hears of the log-out.
    browser.expectStatus(401);
    await open('/map');
    const second = await browser.newPage('/events');
    await second.getByRole('heading', { name: 'Events', exact: true }).waitFor();
    await page.getByRole('button', { name: 'Log out' }).click();
    await page.getByLabel('E-mail or phone').waitFor();
    await second.getByLabel('E-mail or phone').waitFor();
    expect([page, second].map((window) => new URL(window.url()).pathname)).toEqual(['/login', '/login']);
    await second.close();
  });
});
