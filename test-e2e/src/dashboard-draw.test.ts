import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { DashboardBrowser, findAccessibilityFaults, logIn, openDashboard } from './testing/dashboard-browser.ts';
import { takePictures } from './testing/dashboard-pictures.ts';
import { joinSharedHarness, type ProductHarness } from './testing/harness.ts';
import { MapPointer, type MapPosition } from './testing/map-pointer.ts';
import { PlatformClient, type PlatformRecord, type RegisteredAccount } from './testing/platform-client.ts';

// A browser with software rendering on a busy machine.
jest.setTimeout(600_000);

/** The sample roads are around this position. */
const center: MapPosition = [22.535, 114.055];
const zoom = 14;
const at = `at=${MapPointer.place(center, zoom)}`;
/** Degrees of about two pixels of the map at this zoom. */
const pixelDeg = 1e-4;
const metresPerDegree = 111_195;

let harness: ProductHarness;
let account: RegisteredAccount;
let client: PlatformClient;
let browser: DashboardBrowser;
let page: Page;
let pointer: MapPointer;

beforeAll(async () => {
  harness = await joinSharedHarness();
  account = await PlatformClient.register(harness, 'draw');
  client = account.client;
  ({ browser, page } = await openDashboard(harness, account));
  pointer = new MapPointer(page, center, zoom);
  await page.goto(`${browser.baseUrl}/map?${at}`);
  await page.locator('.maplibregl-canvas').waitFor();
}, 240_000);

afterAll(async () => {
  await browser?.close();
  await harness?.stop();
}, 90_000);

afterEach(() => expect(browser.faults.splice(0)).toEqual([]));

const panel = (kind: 'Geofence' | 'Route'): Locator => page.getByRole('region', { name: `${kind} on the map` });
const idOfEdit = (): number => Number(/\.(\d+)$/.exec(new URL(page.url()).searchParams.get('edit') ?? '')?.[1]);
const chooseInMenu = async (item: string): Promise<void> => {
  await page.getByRole('button', { name: 'Draw', exact: true }).click();
  await page.getByRole('menuitem', { name: item, exact: true }).click();
};

/** Saves the new place of the panel and returns the stored record. */
async function save(kind: 'Geofence' | 'Route'): Promise<PlatformRecord> {
  const { pathname } = new URL(page.url());
  await panel(kind).getByRole('button', { name: 'Save', exact: true }).click();
  await page.waitForURL(/edit=(geofence|route)\.\d+/);
  // The live map stays open.
  expect(new URL(page.url()).pathname).toBe(pathname);
  return client.requestData(`/${kind.toLowerCase()}s/${idOfEdit()}`);
}

const close = (kind: 'Geofence' | 'Route') => panel(kind).getByRole('button', { name: 'Close' }).click();

const expectNear = ([latitude, longitude]: MapPosition, expected: MapPosition): void => {
  expect(Math.abs(latitude - expected[0])).toBeLessThan(pixelDeg);
  expect(Math.abs(longitude - expected[1])).toBeLessThan(pixelDeg);
};

describe('the live map', () => {
  const middle: MapPosition = [22.535, 114.045];

  it('draws a geofence with the mouse, which stays open on the map', async () => {
    await chooseInMenu('Geofence: circle');
    await pointer.waitUntilDrawing();
    await pointer.click(middle);
    await pointer.click([22.535, 114.049]);
    await panel('Geofence')
      .getByRole('button', { name: /^Centre/ })
      .waitFor();
    await panel('Geofence').getByLabel('Name').fill('Yard');
    const stored = await save('Geofence');
    expect(stored).toMatchObject({ name: 'Yard', type: 'circle' });
    expectNear((stored['coordinates'] as MapPosition[])[0] ?? [0, 0], middle);
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await takePictures(page, 'map-draw');
    await close('Geofence');
    await panel('Geofence').waitFor({ state: 'detached' });
  });

  it('opens a geofence at a click, and changes it', async () => {
    await pointer.clickUntil(middle, () => panel('Geofence').isVisible());
    await panel('Geofence').getByRole('heading', { name: 'Yard' }).waitFor();
    const id = idOfEdit();
    await panel('Geofence').getByLabel('Radius').fill('600');
    await panel('Geofence').getByRole('button', { name: 'Save', exact: true }).click();
    await panel('Geofence').getByText('Saved', { exact: true }).waitFor();
    expect(await client.requestData(`/geofences/${id}`)).toMatchObject({ radius_m: 600 });
    await close('Geofence');
  });

  it('draws a geofence by keyboard alone', async () => {
    await page.getByRole('button', { name: 'Draw', exact: true }).focus();
    await page.keyboard.press('Enter');
    // The menu moves the focus to its first entry.
    await page.locator('[role=menu] :focus').filter({ hasText: 'Geofence: polygon' }).waitFor();
    await page.keyboard.press('Enter');
    const place = panel('Geofence').getByRole('button', { name: 'Put into the middle of the map', disabled: false });
    await place.waitFor();
    await place.focus();
    await page.keyboard.press('Enter');
    const corner = panel('Geofence').getByRole('button', { name: /^Corner 1/ });
    const before = /Corner 1: ([-\d.]+)/.exec((await corner.getAttribute('aria-label')) ?? '')?.[1];
    await corner.focus();
    await page.keyboard.press('ArrowUp');
    await panel('Geofence').getByLabel('Name').fill('Keyboard');
    await page.keyboard.press('Enter');
    await page.waitForURL(/edit=geofence\.\d+/);
    const stored = await client.requestData(`/geofences/${idOfEdit()}`);
    expect(stored).toMatchObject({ name: 'Keyboard', type: 'polygon' });
    const latitudes = (stored['coordinates'] as MapPosition[]).map(([latitude]) => latitude);
    const movedM = latitudes.map(
      (latitude) => Math.abs(latitude - Number(before) - 10 / metresPerDegree) * metresPerDegree,
    );
    expect(Math.min(...movedM)).toBeLessThan(1);
    await close('Geofence');
  });

  it('draws a route, and opens it again from the menu', async () => {
    await chooseInMenu('Route');
    await pointer.waitUntilDrawing();
    const end: MapPosition = [22.531, 114.051];
    for (const waypoint of [[22.541, 114.04], [22.536, 114.05], end, end] as MapPosition[])
      await pointer.click(waypoint);
    await panel('Route')
      .getByRole('button', { name: /^Corner 3/ })
      .waitFor();
    await panel('Route').getByRole('region', { name: 'Route', exact: true }).getByLabel('Name').fill('Harbour run');
    const stored = await save('Route');
    expect(stored['name']).toBe('Harbour run');
    expect(stored['waypoints']).toHaveLength(3);
    await close('Route');
    await chooseInMenu('Route Harbour run');
    await panel('Route').getByRole('heading', { name: 'Harbour run' }).waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
    expect(idOfEdit()).toBe(stored['id']);
    // The panel reads the progress of its route every few seconds, and may do so during the deletion.
    browser.expectStatus(404);
    await panel('Route').getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await panel('Route').waitFor({ state: 'detached' });
    expect(await client.listAll('/routes')).toEqual([]);
  });
});

describe('a user without the permission', () => {
  it('opens the facts of a geofence on the map and is not offered to draw', async () => {
    const email = `draw-viewer-${process.pid}@fleet.example`;
    const password = 'correct horse battery';
    await client.requestData('/users', { name: 'Viewer', email, role: 'viewer', password });
    const other = await DashboardBrowser.open(harness);
    try {
      const window = await other.newPage('/');
      await logIn(window, { email, password });
      await window.goto(`${other.baseUrl}/map?${at}&edit=geofence.circle`);
      await window.getByRole('button', { name: 'Places', exact: true }).click();
      expect(await window.getByRole('menuitem', { name: 'Geofence: circle' }).count()).toBe(0);
      await window.getByRole('menuitem', { name: 'Geofence Yard' }).click();
      const facts = window.getByRole('region', { name: 'Geofence on the map' });
      await facts.getByText('Vehicles inside').waitFor();
      expect(await facts.getByRole('button', { name: 'Save', exact: true }).count()).toBe(0);
      expect(other.faults).toEqual([]);
    } finally {
      await other.close();
    }
  });
});
