import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor, waitForAssertion } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Page } from 'playwright-core';
import { CuttableProxy } from './testing/cuttable-proxy.ts';
import {
  type DashboardBrowser,
  findAccessibilityFaults,
  openDashboard,
  pageTimeoutMs,
} from './testing/dashboard-browser.ts';
import { killProcess, waitForRestart } from './testing/faults.ts';
import { type StartedHarness, startHarness, uniquePhone } from './testing/harness.ts';
import { ManualTrack } from './testing/manual-track.ts';
import { PlatformClient } from './testing/platform-client.ts';
import { type Color, readPixels } from './testing/read-pixels.ts';

// A browser with software rendering on a busy machine, and states that begin after a minute.
jest.setTimeout(600_000);

const stateTimeoutMs = 150_000;
/** The websocket passes through a proxy that the test cuts. */
let proxy: CuttableProxy;
let harness: StartedHarness;
let client: PlatformClient;
let browser: DashboardBrowser;
let page: Page;
let terminal: SimulatedTerminal;
const track = new ManualTrack(10.01, 76.34);

/** Creates a vehicle that stands still at a position and reports. */
async function startVehicle(vehicleNo: string, name: string, driven: ManualTrack): Promise<SimulatedTerminal> {
  const imei = uniquePhone();
  await client.requestData('/vehicles', { vehicle_no: vehicleNo, name, imei });
  return startTerminal(imei, driven);
}

const startTerminal = (phone: string, driven: ManualTrack): Promise<SimulatedTerminal> =>
  harness.startTerminal({ phone, reportIntervalMs: 1_000, track: driven });

beforeAll(async () => {
  proxy = await CuttableProxy.open();
  harness = await startHarness({ OFFLINE_AFTER_MS: '60000', WS_URL: `ws://127.0.0.1:${proxy.port}/ws` });
  proxy.targetPort = Number(new URL(harness.product.runtime.base_url).port);
  client = await PlatformClient.logIn(harness);
  terminal = await startVehicle('KL07CD1234', 'Truck 12', track);
  for (const index of [1, 2, 3])
    await startVehicle(`KL07ST000${index}`, `Parked ${index}`, new ManualTrack(10.02 + index / 100, 76.35));
  ({ browser, page } = await openDashboard(harness, harness.product.runtime.demo, { pixelRatio: 1 }));
}, 240_000);

afterAll(async () => {
  await browser?.close();
  await harness?.stop();
  proxy?.close();
}, 90_000);

/** Fails a test whose page had an error, even if the test saw what it waited for. */
afterEach(() => expect(browser.faults.splice(0)).toEqual([]));

const open = (path: string) => page.goto(`${browser.baseUrl}${path}`);
const rowOf = (name: string, on = page) =>
  on.getByRole('list', { name: 'Vehicles' }).getByRole('button', { name: new RegExp(name) });
const panelOf = (name: string, on = page) => on.getByRole('region', { name, exact: true });
/** Returns the names of the vehicles in the list, in their order. */
const listNames = (on = page) =>
  on.getByRole('list', { name: 'Vehicles' }).locator('.map-list-name:has(small) strong').allInnerTexts();

/** Waits until the map shows a mark of this colour at its middle, where the selected vehicle is. */
async function waitForMark(on: Page, color: Color): Promise<void> {
  const map = on.getByRole('region', { name: /^Map, / });
  const countPixels = async (): Promise<number> => {
    const box = await map.boundingBox();
    if (box === null) throw new Error('The map has no size.');
    const clip = { x: box.x + box.width / 2 - 20, y: box.y + box.height / 2 - 20, width: 40, height: 40 };
    const isNear = (pixel: Color): boolean => pixel.every((value, part) => Math.abs(value - (color[part] ?? 0)) < 24);
    return (await readPixels(on, clip)).filter(isNear).length;
  };
  await waitFor(async () => (await countPixels()) > 40, `a mark of the colour ${color.join()}`, pageTimeoutMs);
}

const movingColor = [0x0a, 0x5b, 0xb5] as const;
const stoppedColor = [0x3d, 0x46, 0x52] as const;

describe('a vehicle on the live map', () => {
  it('drives, idles, stops and goes offline: position, course, shape and text follow', async () => {
    await open('/map');
    await rowOf('Truck 12').click();
    const panel = panelOf('Truck 12');
    await panel.getByText('Stopped').waitFor();
    await waitForMark(page, stoppedColor);
    track.set({ speedKmh: 52, directionDeg: 90, isIgnitionOn: true, longitudeDeg: 76.345 });
    await panel.getByText('Moving 52 km/h').waitFor();
    await rowOf('Truck 12').getByText('52 km/h').waitFor();
    await waitForAssertion(async () =>
      expect(await rowOf('Truck 12').locator('path').getAttribute('transform')).toContain('rotate(90'),
    );
    await panel.getByRole('button', { name: 'Follow' }).click();
    track.set({ longitudeDeg: 76.36, speedKmh: 60 });
    await panel.getByText('Moving 60 km/h').waitFor();
    await waitForMark(page, movingColor);
    // The map has moved with the vehicle, and so has the address.
    await waitFor(
      () => new URL(page.url()).searchParams.get('at')?.includes(',76.36000,') === true,
      'the place of the map',
    );

    track.set({ speedKmh: 0 });
    await panel.getByText('Idle').waitFor({ timeout: stateTimeoutMs });
    await panel.getByText(/^for \d+ (sec|min)/).waitFor();
    track.set({ isIgnitionOn: false });
    await panel.getByText('Stopped').waitFor();
    const readSeconds = async (): Promise<number> =>
      Number(/for (\d+) sec/.exec(await panel.getByText(/^for /).innerText())?.[1] ?? Number.NaN);
    const first = await readSeconds();
    await waitFor(async () => (await readSeconds()) > first, 'the time since the stop counts up');

    await terminal.stop();
    await panel.getByText('Offline', { exact: true }).waitFor({ timeout: stateTimeoutMs });
    await rowOf('Truck 12')
      .getByText(/Offline/)
      .waitFor();
    await waitForAssertion(async () => expect(await panel.getByText(/^for /).getAttribute('title')).toMatch(/\d{4}/));
    terminal = await startTerminal(terminal.phone, track);
    await panel.getByText('Stopped').waitFor();
  });

  it('is found, filtered, grouped, selected and followed, and a pasted address shows the same', async () => {
    const vehicles = await client.listAll('/vehicles');
    const parked = vehicles.filter(({ name }) => String(name).startsWith('Parked')).map(({ id }) => Number(id));
    const group = await client.requestData('/vehicle-groups', { name: 'South depot', vehicles: parked.slice(0, 2) });
    track.set({ speedKmh: 40, isIgnitionOn: true });
    await open('/map');
    await page.getByRole('button', { name: /^Moving 1/ }).waitFor();
    await page.getByRole('button', { name: /^Stopped 3/ }).click();
    await waitFor(async () => (await listNames()).length === 3, 'only the stopped vehicles');
    await page.getByRole('status').getByText('3 vehicles').waitFor();
    await page.getByRole('button', { name: 'Show only South depot' }).click();
    await page.getByRole('button', { name: /^Stopped 2/ }).waitFor();
    await waitFor(async () => (await listNames()).length === 2, 'only the vehicles of the group');
    await page.getByRole('textbox', { name: 'Find a vehicle' }).fill('parked 2');
    await page.getByRole('button', { name: /^Stopped 1/ }).waitFor();
    await rowOf('Parked 2').click();
    await panelOf('Parked 2').getByRole('button', { name: 'Follow' }).click();
    await waitForMark(page, stoppedColor);
    await waitFor(() => new URL(page.url()).searchParams.has('at'), 'the place of the map in the address');
    const address = new URL(page.url());
    expect(Number(address.searchParams.get('group'))).toBe(Number(group['id']));

    const second = await browser.newPage(address.pathname + address.search);
    await panelOf('Parked 2', second).getByText('Stopped').waitFor();
    expect(await panelOf('Parked 2', second).getByRole('button', { name: 'Follow' }).getAttribute('aria-pressed')).toBe(
      'true',
    );
    await waitForAssertion(async () =>
      expect(await second.getByRole('textbox', { name: 'Find a vehicle' }).inputValue()).toBe('parked 2'),
    );
    await waitFor(async () => (await listNames(second)).join() === 'Parked 2', 'the same list');
    await waitForMark(second, stoppedColor);
    await waitForAssertion(() =>
      expect(new URL(second.url()).searchParams.get('at')).toBe(address.searchParams.get('at')),
    );
    await second.close();
  });

  it('is found as the nearest to a place, with the time of its arrival', async () => {
    await open('/map?near=10.03000,76.35000');
    const panel = panelOf('Nearest vehicles');
    await panel
      .getByText(/Arrives \d/)
      .first()
      .waitFor();
    const [first] = await panel.getByRole('listitem').allInnerTexts();
    expect(first).toContain('Parked 1');
    await panel.getByRole('button', { name: /Parked 1/ }).click();
    await panelOf('Parked 1').waitFor();
  });

  it('has no serious accessibility fault, with panel and layers open', async () => {
    await open('/map');
    await rowOf('Truck 12').click();
    await panelOf('Truck 12').waitFor();
    await page.getByRole('button', { name: 'Layers' }).click();
    await page.getByRole('checkbox', { name: 'Planned routes' }).check();
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await waitForAssertion(() =>
      expect(new URL(page.url()).searchParams.get('layers')).toBe('geofences,routes,labels'),
    );
  });

  it('leads the list alone where the browser has no WebGL 2', async () => {
    const other = await browser.context.newPage();
    await other.addInitScript(`HTMLCanvasElement.prototype.getContext = new Proxy(HTMLCanvasElement.prototype.getContext, {
      apply: (target, canvas, [kind, ...more]) => (kind === 'webgl2' ? null : Reflect.apply(target, canvas, [kind, ...more])),
    });`);
    await other.goto(`${browser.baseUrl}/map`);
    await other
      .getByRole('alert')
      .getByText(/WebGL 2/)
      .waitFor();
    await rowOf('Truck 12', other).click();
    await panelOf('Truck 12', other).getByText('KL07CD1234').waitFor();
    await waitForAssertion(async () => expect(await other.locator('canvas').count()).toBe(0));
    await other.close();
  });
});

describe('a lost connection', () => {
  it('is shown with its time, and current positions and one alarm arrive afterwards without a reload', async () => {
    await open('/map');
    await rowOf('Truck 12').click();
    await page.getByRole('status').getByText('Live').waitFor();
    await page.evaluate('window.isSamePage = true');
    const disconnected = page.getByRole('status').getByText(/^Disconnected since /);
    proxy.cut();
    await disconnected.waitFor();
    terminal.raiseAlarm('emergency');
    track.set({ speedKmh: 71 });
    await page.locator('.fleet-map[data-stale="true"]').waitFor({ timeout: stateTimeoutMs });
    await waitForAssertion(async () =>
      expect(await page.getByRole('button', { name: /^Alarm/ }).isVisible()).toBe(false),
    );
    // The page may reconnect by itself before the pointer reaches the button.
    const retry = await page.getByRole('button', { name: 'Retry now' }).elementHandle();
    proxy.restore();
    await retry?.evaluate((button) => (button as unknown as { click(): void }).click());
    await page.getByRole('button', { name: /^Alarm 1/ }).waitFor();
    await panelOf('Truck 12').getByText('Moving 71 km/h').waitFor();
    await page.getByRole('status').getByText('Live').waitFor();
    const alarms = panelOf('Truck 12').getByRole('link', { name: /SOS/ });
    await alarms.first().waitFor();
    await waitForAssertion(async () => expect(await alarms.count()).toBe(1));
    terminal.clearAlarm('emergency');
    expect(await page.evaluate('window.isSamePage')).toBe(true);
  });

  it('comes back by itself after a restart of the server', async () => {
    browser.expectStatus(502);
    browser.expectStatus(503);
    await page.getByRole('status').getByText('Live').waitFor();
    const pid = killProcess(harness, 'platform-api');
    await page
      .getByRole('status')
      .getByText(/^Disconnected since /)
      .waitFor();
    await waitForRestart(harness, 'platform-api', pid, stateTimeoutMs);
    track.set({ speedKmh: 33 });
    await panelOf('Truck 12').getByText('Moving 33 km/h').waitFor();
    await page.getByRole('status').getByText('Live').waitFor();
    expect(await page.evaluate('window.isSamePage')).toBe(true);
  });
});
