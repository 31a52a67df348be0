import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Page } from 'playwright-core';
import {
  type DashboardBrowser,
  findAccessibilityFaults,
  openDashboard,
  pageTimeoutMs,
  readSidewaysScroll,
} from './testing/dashboard-browser.ts';
import { takePictures } from './testing/dashboard-pictures.ts';
import { type Dashcam, Dashcams } from './testing/dashcams.ts';
import { type ProductHarness, startHarness } from './testing/harness.ts';
import { sendPastDrive } from './testing/past-drive.ts';

// A browser with software rendering on a busy machine.
jest.setTimeout(600_000);

const desktop = { width: 1280, height: 800 };
const phone = { width: 390, height: 844 };
const dayMs = 86_400_000;
const zone = { timezone: 'Asia/Kolkata', camera_utc_offset: '+08:00' };
const yesterday = new Date(Date.now() + 19_800_000 - dayMs).toISOString().slice(0, 10);
const atClock = (time: string): number => Date.parse(`${yesterday}T${time}+05:30`);
const place = { latitude: 9.93, longitude: 76.26 };

let harness: ProductHarness;
let truck: Dashcam;
let browser: DashboardBrowser;
let page: Page;
/** Ids in the addresses of pages. */
const ids = { driver: 0, group: 0, route: 0, slug: '' };

beforeAll(async () => {
  // Unassigned terminals are listed for the owner of the only account.
  harness = await startHarness({ SIGNUP_ENABLED: 'true' });
  const dashcams = await Dashcams.open(harness);
  const { client } = dashcams;
  const drives = { reportIntervalMs: 1_000 };
  truck = await dashcams.create({ vehicle_no: 'KL07AB1001', name: 'Truck 12', speed_limit_kmh: 60, ...zone }, drives);
  const van = await dashcams.create({ vehicle_no: 'KL07AB2002', name: 'Van 3', vehicle_type: 'van', ...zone }, drives);
  const vehicles = [truck.vehicleId, van.vehicleId];
  const create = async (path: string, record: object) => Number((await client.requestData(path, record)).id);
  ids.driver = await create('/drivers', {
    name: 'Asha Verma',
    license_number: 'KL-0712',
    license_expiry_date: '2031-06-30',
    vehicle_ids: [truck.vehicleId],
  });
  await create('/drivers', { name: 'Daniel Okafor', license_number: 'KL-0713', license_expiry_date: '2020-01-31' });
  ids.group = await create('/vehicle-groups', { name: 'Harbour fleet', color: '#1976D2', vehicles });
  const coordinates = [[place.latitude, place.longitude]];
  await create('/geofences', { name: 'Harbour', type: 'circle', coordinates, radius_m: 800, vehicles });
  const waypoints = [
    { lat: 9.93, lng: 76.26 },
    { lat: 9.98, lng: 76.29 },
  ];
  ids.route = await create('/routes', { name: 'Harbour run', waypoints });
  const link = await client.requestData('/share-links', {
    vehicle_id: truck.vehicleId,
    expires_in_hours: 24,
    label: 'Delivery 7',
  });
  ids.slug = String(link['slug']);
  await client.requestData('/support-tickets', { subject: 'A camera is dark', message: 'Camera 2 of Truck 12.' });
  await client.requestData('/users', {
    name: 'Vera Viewer',
    email: `vera-pages-${process.pid}@fleet.example`,
    password: 'correct horse battery',
    role: 'viewer',
  });
  await client.requestData(`/vehicles/${truck.vehicleId}/dashcam-media-capture?wait=60`, {});
  truck.terminal.raiseAlarm('emergency');
  const noon = { ...place, driveMinutes: 40, standMinutes: 20 };
  const count =
    sendPastDrive(truck.terminal, { ...noon, startMs: atClock('09:00:00') }) +
    sendPastDrive(truck.terminal, { ...noon, startMs: atClock('13:00:00') });
  const day = `/vehicles/${truck.vehicleId}/locations?from=${atClock('00:00:00')}&to=${atClock('23:59:59')}`;
  await waitFor(
    async () => ((await client.request(day))['data'] as unknown[]).length === count,
    'the reports of yesterday',
    pageTimeoutMs,
  );
  ({ browser, page } = await openDashboard(harness));
}, 300_000);

afterAll(async () => {
  await browser?.close();
  await harness?.stop();
}, 90_000);

/** Fails a test whose page had an error, even if the test saw what it waited for. */
const expectNoFaults = (): void => expect(browser.faults.splice(0)).toEqual([]);
afterEach(expectNoFaults);

const vehiclePath = (tab: string) => (): string => `/vehicles/${truck.vehicleId}${tab}`;

/** Every page by the name of its picture, with its address and a text that shows that it is loaded. */
const pages: readonly (readonly [name: string, path: () => string, text: string])[] = [
  ['map', () => '/map', 'Truck 12'],
  ['video', () => `/video?layout=4&tiles=${truck.vehicleId}.1,${truck.vehicleId}.2`, 'Truck 12'],
  ['events', () => '/events', 'SOS'],
  ['vehicles', () => '/vehicles', 'KL07AB1001'],
  ['vehicle', vehiclePath(''), 'Odometer'],
  ['vehicle-commands', vehiclePath('/commands'), 'No command has been sent'],
  ['vehicle-notifications', vehiclePath('/notifications'), 'Overspeed'],
  ['vehicle-sharing', vehiclePath('/sharing'), 'Delivery 7'],
  ['vehicle-routes', vehiclePath('/routes'), 'No route is linked'],
  ['vehicle-settings', vehiclePath('/settings'), 'Clock of the cameras'],
  ['vehicle-media', vehiclePath('/media?kind=pictures'), 'Camera 1'],
  ['day', vehiclePath(`/day/${yesterday}`), '2 trips'],
  ['media', () => '/media?kind=pictures', 'Choose a vehicle to see its files'],
  ['drivers', () => '/drivers', 'Asha Verma'],
  ['driver', () => `/drivers/${ids.driver}`, 'KL-0712'],
  ['groups', () => `/groups/${ids.group}`, 'KL07AB2002'],
  ['geofences', () => '/geofences', 'Circle'],
  ['route', () => `/routes/${ids.route}`, 'Waypoints'],
  ['sharing', () => '/sharing', 'Delivery 7'],
  ['devices', () => '/devices', 'No terminal is waiting'],
  ['mining', () => '/devices/mining', 'There are no mining devices'],
  ['partners', () => '/devices/partners', 'There are no partners'],
  ['messages', () => '/messages', 'There are no messages'],
  ['support', () => '/support', 'A camera is dark'],
  ['users', () => '/account', 'Vera Viewer'],
  ['configuration', () => '/account/configuration', 'Retention in days'],
  ['audit', () => '/account/audit', 'drivers.create'],
  ['billing', () => '/account/billing', 'There are no orders yet'],
  ['profile', () => '/profile', 'Owner'],
  ['preferences', () => '/profile/preferences', 'Time zone'],
  ['security', () => '/profile/security', 'Sessions'],
  ['notifications', () => '/profile/notifications', 'Quiet hours'],
  ['webhooks', () => '/profile/webhooks', 'There are no webhooks yet'],
  ['share', () => `/share/${ids.slug}`, 'Delivery 7'],
];

/** What a person notices on a page: serious violations of accessibility rules in both themes, and sideways scrolling. */
interface Inspection {
  readonly faults: readonly string[];
  readonly sidewaysPixels: number;
}

const withoutFaults: Inspection = { faults: [], sidewaysPixels: 0 };

/** Opens a page and inspects it in light, in dark and on a phone. */
async function inspect(name: string, path: string, text: string): Promise<Inspection> {
  await page.goto(`${browser.baseUrl}${path}`);
  await page.getByText(text).and(page.locator(':visible')).first().waitFor();
  await page.locator('.mantine-Loader-root').first().waitFor({ state: 'detached' });
  const faults: string[] = [];
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme });
    faults.push(...(await findAccessibilityFaults(page)).map((fault) => `${colorScheme}: ${fault}`));
  }
  await page.setViewportSize(phone);
  const sidewaysPixels = await readSidewaysScroll(page);
  await page.setViewportSize(desktop);
  await takePictures(page, name);
  return { faults, sidewaysPixels };
}

describe('in light and dark, and on a phone', () => {
  it.each(pages)('the page "%s" is accessible and does not scroll sideways', async (name, path, text) => {
    expect(await inspect(name, path(), text)).toEqual(withoutFaults);
  });

  it.each([
    ['login', '/login', 'Forgot password'],
    ['register', '/register', 'Company'],
    ['reset-password', '/reset-password#token=pr_spent', 'This link was used already'],
  ])('the page "%s" of a visitor is accessible and does not scroll sideways', async (name, path, text) => {
    browser.expectStatus(401);
    await page.context().clearCookies();
    expect(await inspect(name, path, text)).toEqual(withoutFaults);
  });
});
