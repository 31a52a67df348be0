import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor, waitForAssertion } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Page } from 'playwright-core';
import { DashboardBrowser, findAccessibilityFaults, logIn, openDashboard } from './testing/dashboard-browser.ts';
import { takePictures } from './testing/dashboard-pictures.ts';
import { joinSharedHarness, type ProductHarness, uniquePhone } from './testing/harness.ts';
import { ManualTrack } from './testing/manual-track.ts';
import { MapPointer, type MapPosition } from './testing/map-pointer.ts';
import { PlatformClient, type PlatformRecord, type RegisteredAccount } from './testing/platform-client.ts';

// A browser with software rendering on a busy machine.
jest.setTimeout(600_000);

const settledMs = 3_000;
const syncMs = 240_000;
/** The sample roads are around this position. */
const center: MapPosition = [22.535, 114.055];
const zoom = 14;
const at = `at=${MapPointer.place(center, zoom)}`;
/** Degrees of about two pixels of the map at this zoom. */
const pixelDeg = 1e-4;

let harness: ProductHarness;
let account: RegisteredAccount;
let client: PlatformClient;
let browser: DashboardBrowser;
let page: Page;
let pointer: MapPointer;
let terminal: SimulatedTerminal;
let vehicleId: number;
const outside: MapPosition = [22.55, 114.06];
const track = new ManualTrack(...outside);

beforeAll(async () => {
  harness = await joinSharedHarness();
  account = await PlatformClient.register(harness, 'places');
  client = account.client;
  const imei = uniquePhone();
  vehicleId = Number((await client.requestData('/vehicles', { vehicle_no: 'PLACE 1', imei }))['id']);
  terminal = await harness.startTerminal({ phone: imei, reportIntervalMs: 500, track });
  ({ browser, page } = await openDashboard(harness, account));
  pointer = new MapPointer(page, center, zoom);
}, 240_000);

afterAll(async () => {
  await browser?.close();
  await terminal?.stop();
  await harness?.stop();
}, 90_000);

afterEach(() => expect(browser.faults.splice(0)).toEqual([]));

const open = (path: string) => page.goto(`${browser.baseUrl}${path}`);
const idOfPage = (): number => Number(/\/(\d+)$/.exec(new URL(page.url()).pathname)?.[1]);

/** Saves the form and returns the stored record of the page that opens. */
async function create(folder: 'geofences' | 'routes'): Promise<PlatformRecord> {
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.waitForURL(new RegExp(`/${folder}/\\d+`));
  return client.requestData(`/${folder}/${idOfPage()}`);
}

/** Saves the changed form and waits for the confirmation. */
async function save(): Promise<void> {
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved', { exact: true }).waitFor();
}

/** Moves the vehicle, and waits until its terminal has reported the position for some seconds. */
async function driveTo([latitudeDeg, longitudeDeg]: MapPosition, speedKmh = 40): Promise<void> {
  track.set({ latitudeDeg, longitudeDeg, speedKmh, isIgnitionOn: true });
  let firstMs: number | null = null;
  await waitFor(async () => {
    const { location } = await client.requestData(`/vehicles/${vehicleId}`);
    const { latitude, longitude, timestamp } = location as Readonly<Record<string, number>>;
    const distance = Math.abs((latitude ?? 0) - latitudeDeg) + Math.abs((longitude ?? 0) - longitudeDeg);
    if (distance > 1e-5) return false;
    firstMs ??= timestamp ?? 0;
    // A crossing counts after two positions, and terminals report whole seconds.
    return (timestamp ?? 0) - firstMs >= settledMs;
  }, 'the terminal reports the position');
}

const positionsOf = (record: PlatformRecord): MapPosition[] => record['coordinates'] as MapPosition[];

const expectPositions = (actual: readonly MapPosition[], expected: readonly MapPosition[]): void => {
  const distances = expected.map(([latitude, longitude], index) => {
    const found = actual[index] ?? [Number.NaN, Number.NaN];
    return Math.max(Math.abs(found[0] - latitude), Math.abs(found[1] - longitude));
  });
  const isNear = actual.length === expected.length && distances.every((degrees) => degrees < pixelDeg);
  expect({ actual, isNear }).toEqual({ actual: isNear ? actual : expected, isNear: true });
};

const metresPerDegree = 111_195;

describe('the geofences of an account', () => {
  const first: MapPosition = [22.54, 114.05];
  /** Counterclockwise, as the API returns rings. */
  const corners: MapPosition[] = [first, [22.532, 114.05], [22.532, 114.06], [22.54, 114.06]];

  it('begin with an explanation and one action', async () => {
    await open(`/geofences?${at}`);
    await page.getByText('There are no geofences yet').waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Add a geofence' }).click();
    await page.waitForURL(/\/geofences\/new/);
  });

  it('are drawn as a polygon, which is stored as it was drawn', async () => {
    await open(`/geofences/new?${at}`);
    await pointer.waitUntilDrawing();
    await page.getByText('Click the corners on the map', { exact: false }).waitFor();
    for (const corner of [...corners, first]) await pointer.click(corner);
    await page.getByRole('button', { name: /^Corner 4/ }).waitFor();
    await page.getByLabel('Name').fill('Yard');
    await page.getByRole('checkbox', { name: 'Also store in the terminals' }).click();
    const stored = await create('geofences');
    expect(stored).toMatchObject({ name: 'Yard', type: 'polygon', push_to_terminal: true });
    expectPositions(positionsOf(stored), corners);
    expect(await findAccessibilityFaults(page)).toEqual([]);
  });

  it('move a corner by mouse and by keyboard', async () => {
    const id = idOfPage();
    await open(`/geofences/${id}?${at}`);
    await page.getByRole('button', { name: /^Corner 1/ }).waitFor();
    const moved: MapPosition = [22.543, 114.047];
    await pointer.waitUntilHandle(first);
    await pointer.drag(first, moved);
    await save();
    expectPositions(positionsOf(await client.requestData(`/geofences/${id}`)), [moved, ...corners.slice(1)]);
    const before = positionsOf(await client.requestData(`/geofences/${id}`));
    await page.getByRole('button', { name: /^Corner 2/ }).focus();
    for (let count = 0; count < 3; count += 1) await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Shift+ArrowRight');
    await save();
    const after = positionsOf(await client.requestData(`/geofences/${id}`));
    expect(((after[1]?.[0] ?? 0) - (before[1]?.[0] ?? 0)) * metresPerDegree).toBeCloseTo(30, 0);
    expect(((after[1]?.[1] ?? 0) - (before[1]?.[1] ?? 0)) * metresPerDegree).toBeCloseTo(1.08, 0);
    expectPositions(
      [after[0], after[2], after[3]] as MapPosition[],
      [before[0], before[2], before[3]] as MapPosition[],
    );
  });

  it('show a vehicle that enters and leaves, and the state in its terminal', async () => {
    const crossings = page.getByRole('region', { name: 'Crossings' });
    await crossings.getByText('No events yet.').waitFor();
    await driveTo(outside);
    await driveTo([22.5365, 114.055]);
    await crossings.getByText(/entered/).waitFor();
    await page.getByText('Vehicles inside').locator('..').getByText('1', { exact: true }).waitFor();
    await driveTo(outside);
    await crossings.getByText(/left/).waitFor();
    const events = await client.listAll(`/notifications?type=geofence&vehicle_id=${vehicleId}`);
    expect(events.map(({ attributes }) => (attributes as PlatformRecord)['event'])).toEqual(
      expect.arrayContaining(['enter', 'exit']),
    );
    const terminals = page.getByRole('region', { name: 'Stored in terminals' });
    const syncOf = async () => (await client.requestData(`/geofences/${idOfPage()}`))['terminal_sync'];
    // A job sends areas to connected terminals about once a minute.
    await waitFor(
      async () => JSON.stringify(await syncOf()) === JSON.stringify({ [terminal.phone]: 'synced' }),
      'the terminal has the area',
      syncMs,
    ).catch(async (error: unknown) => {
      throw new Error(`The state is ${JSON.stringify(await syncOf())}.`, { cause: error });
    });
    await terminals.getByText('Stored', { exact: true }).waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await takePictures(page, 'geofence');
  });

  it('are drawn as a circle and as a corridor', async () => {
    await open(`/geofences/new?${at}`);
    await page.getByRole('radiogroup', { name: 'Kind' }).getByText('Circle').click();
    await page.waitForURL(/type=circle/);
    await pointer.waitUntilDrawing();
    await pointer.click([22.535, 114.065]);
    await pointer.click([22.535, 114.07]);
    await page.getByRole('button', { name: /^Centre/ }).waitFor();
    await page.getByLabel('Name').fill('Port');
    const circle = await create('geofences');
    expectPositions(positionsOf(circle), [[22.535, 114.065]]);
    const radiusM = 0.005 * metresPerDegree * Math.cos((22.535 * Math.PI) / 180);
    expect(Math.abs(Number(circle['radius_m']) - radiusM)).toBeLessThan(12);

    await open(`/geofences/new?type=corridor&${at}`);
    await pointer.waitUntilDrawing();
    const end: MapPosition = [22.541, 114.0662];
    const line: MapPosition[] = [[22.5409, 114.045], [22.541, 114.0547], end];
    for (const point of [...line, end]) await pointer.click(point);
    await page.getByLabel('Width').fill('80');
    await page.getByLabel('Name').fill('Shennan Road');
    const corridor = await create('geofences');
    expect(corridor).toMatchObject({ type: 'corridor', width_m: 80 });
    expectPositions(positionsOf(corridor), line);
  });

  it('are saved after a refused shape was drawn again', async () => {
    browser.expectStatus(400);
    const [, second, third, fourth] = corners as [MapPosition, MapPosition, MapPosition, MapPosition];
    await open(`/geofences/new?${at}`);
    await pointer.waitUntilDrawing();
    for (const corner of [first, third, second, fourth, first]) await pointer.click(corner);
    await page.getByRole('button', { name: /^Corner 4/ }).waitFor();
    await page.getByLabel('Name').fill('Crossed');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByText('must not cross or touch itself').waitFor();
    await page.getByRole('button', { name: 'Draw again' }).click();
    await pointer.waitUntilDrawing();
    for (const corner of [...corners, first]) await pointer.click(corner);
    await page.getByRole('button', { name: /^Corner 4/ }).waitFor();
    const stored = await create('geofences');
    expect(stored).toMatchObject({ name: 'Crossed', type: 'polygon' });
    expectPositions(positionsOf(stored), corners);
  });

  it('are placed and named by keyboard alone', async () => {
    await open(`/geofences/new?type=circle&${at}`);
    const place = page.getByRole('button', { name: 'Put into the middle of the map', disabled: false });
    await place.waitFor();
    await place.focus();
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: /^Centre/ }).waitFor();
    await page.getByRole('button', { name: 'Save', exact: true }).focus();
    await page.keyboard.press('Enter');
    await page
      .getByText('This value has the wrong form.')
      .or(page.getByText(/at least 1/))
      .first()
      .waitFor();
    await page.getByLabel('Name').fill('Keyboard');
    await page.keyboard.press('Enter');
    await page.waitForURL(/\/geofences\/\d+/);
    const stored = await client.requestData(`/geofences/${idOfPage()}`);
    expectPositions(positionsOf(stored), [center]);
    expect(stored['name']).toBe('Keyboard');
  });

  it('offer both versions when somebody else has changed the geofence', async () => {
    browser.expectStatus(412);
    const id = idOfPage();
    await page.getByLabel('Name').fill('Mine');
    await client.update(`/geofences/${id}`, { name: 'Theirs', radius_m: 500 });
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    const row = page.getByRole('row', { name: /Name/ });
    await row.waitFor();
    await waitForAssertion(async () => expect(await row.innerText()).toMatch(/Mine\s+Theirs/));
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Keep mine' }).click();
    await page.getByText('Saved', { exact: true }).waitFor();
    expect(await client.requestData(`/geofences/${id}`)).toMatchObject({ name: 'Mine', radius_m: 500 });
  });

  it('are found by name and deleted after a confirmation', async () => {
    const id = idOfPage();
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Delete', exact: true }).click();
    const list = page.getByRole('list', { name: 'Geofences' });
    await list.getByText('Yard').waitFor();
    await takePictures(page, 'geofences');
    await waitForAssertion(async () => expect(await list.getByText('Mine').count()).toBe(0));
    expect((await client.listAll('/geofences')).map((geofence) => geofence['id'])).not.toContain(id);
    await page.getByRole('searchbox', { name: 'Find by name' }).fill('shennan');
    await list.getByText('Yard').waitFor({ state: 'detached' });
    await waitForAssertion(() => expect(new URL(page.url()).searchParams.get('q')).toBe('shennan'));
    await list.getByText('Shennan Road').click();
    await page.getByRole('heading', { name: 'Shennan Road' }).waitFor();
  });
});

describe('the navigation', () => {
  it.each(['/geofences', '/routes', '/groups'])('marks the entry "Places" as current on %s', async (path) => {
    await open(path);
    const current = page.locator('.shell-nav a[aria-current="page"]');
    await current.getByText('Places', { exact: true }).waitFor();
    expect(await current.count()).toBe(1);
  });

  it('does not mark the entry "Places" on other pages', async () => {
    await open('/vehicles');
    const current = page.locator('.shell-nav a[aria-current="page"]');
    await current.getByText('Vehicles', { exact: true }).waitFor();
    expect(await current.count()).toBe(1);
  });
});

describe('the routes of an account', () => {
  const end: MapPosition = [22.5385, 114.068];
  const waypoints: MapPosition[] = [[22.541, 114.0506], [22.5407, 114.0597], end];

  it('are drawn by waypoints and snapped to roads', async () => {
    await open(`/routes?${at}`);
    await page.getByText('There are no routes yet').waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Add a route' }).click();
    await pointer.waitUntilDrawing();
    for (const waypoint of [...waypoints, end]) await pointer.click(waypoint);
    await page.getByRole('button', { name: /^Corner 3/ }).waitFor();
    await page.getByRole('button', { name: 'Snap to roads' }).click();
    await page.getByText('3 of 3 waypoints are on a road.').waitFor();
    await page.getByRole('region', { name: 'Route', exact: true }).getByLabel('Name').fill('Harbour run');
    const stored = await create('routes');
    expect(stored).toMatchObject({ name: 'Harbour run', path_source: 'client' });
    const placed = (stored['waypoints'] as { lat: number; lng: number }[]).map(({ lat, lng }) => [lat, lng] as const);
    expectPositions(placed, waypoints);
    // The path has the bend of the road between two waypoints.
    expect((stored['path'] as MapPosition[]).length).toBeGreaterThan(waypoints.length);
    await page.getByRole('region', { name: 'Toll gates' }).getByText('Sample gate Shennan').waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
  });

  it('have progress, a time of arrival and a deviation of a linked vehicle', async () => {
    const vehicles = page.getByRole('region', { name: 'Vehicles on the route' });
    await vehicles.getByLabel('Another vehicle').selectOption({ label: 'PLACE1' });
    await vehicles.getByRole('button', { name: 'Link', exact: true }).click();
    await vehicles.getByRole('link', { name: 'PLACE1' }).waitFor();
    await driveTo([22.5407, 114.0597]);
    await vehicles.getByText('On the route').waitFor();
    await vehicles.getByText(/left .*arrives/).waitFor();
    await takePictures(page, 'route');
    await driveTo(outside);
    await vehicles.getByText('Off the route').waitFor();
    await page.getByRole('list', { name: 'Newest events' }).getByText('left the route').first().waitFor();
    const events = await client.listAll(`/notifications?type=route_deviation&vehicle_id=${vehicleId}`);
    expect(events.length).toBeGreaterThan(0);
  });

  it('are changed, and deleted after a confirmation', async () => {
    const id = idOfPage();
    await page.getByRole('region', { name: 'Route', exact: true }).getByLabel('Name').fill('Night run');
    await save();
    expect(await client.requestData(`/routes/${id}`)).toMatchObject({ name: 'Night run' });
    await page.getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click();
    await page.getByText('There are no routes yet').waitFor();
    expect(await client.listAll('/routes')).toEqual([]);
  });
});

describe('a user without the permission', () => {
  it('reads geofences and is not offered to change them', async () => {
    const email = `viewer-${process.pid}@fleet.example`;
    const password = 'correct horse battery';
    await client.requestData('/users', { name: 'Viewer', email, role: 'viewer', password });
    const other = await DashboardBrowser.open(harness);
    try {
      const window = await other.newPage('/');
      await logIn(window, { email, password });
      await window.goto(`${other.baseUrl}/geofences`);
      await window.getByRole('list', { name: 'Geofences' }).getByText('Yard').click();
      await window.getByText('Vehicles inside').waitFor();
      await waitForAssertion(async () =>
        expect(await window.getByRole('button', { name: 'Save', exact: true }).count()).toBe(0),
      );
      await window.goto(`${other.baseUrl}/geofences/new`);
      await window.getByText('Your role cannot open this page').waitFor();
      expect(other.faults).toEqual([]);
    } finally {
      await other.close();
    }
  });
});
