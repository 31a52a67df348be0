import { waitForAssertion } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Page } from 'playwright-core';
import {
  type DashboardBrowser,
  findAccessibilityFaults,
  openDashboard,
  pageTimeoutMs,
} from './testing/dashboard-browser.ts';
import { type StartedHarness, startHarness } from './testing/harness.ts';
import { MapServer, mapColors } from './testing/map-server.ts';
import { type Color, readPixels } from './testing/read-pixels.ts';

jest.setTimeout(600_000);

// A position in Shenzhen and the same one in GCJ-02, whose tiles are there 0.0049 degrees further east.
const zoom = 16;
const latitude = 22.543847;
const [wgs84Longitude, gcj02Longitude] = [113.912316, 113.9171764808363];
/** MapLibre draws tiles of 256 pixels one level further in. */
const columns = 2 ** (zoom + 1);
/** The colours of the offline map. */
const waterColor = [0xdc, 0xe6, 0xee] as const;
const landColor = [0xf5, 0xf7, 0xf9] as const;
/** The column of the tile that begins just east of the position in GCJ-02, and its first longitude. */
const eastColumn = Math.ceil(((gcj02Longitude + 180) / 360) * columns);
const eastLongitude = (eastColumn / columns) * 360 - 180;
/** The same line in WGS 84: the shift is constant within a few hundred metres. */
const lineLongitude = eastLongitude - (gcj02Longitude - wgs84Longitude);

let maps: MapServer;
let harness: StartedHarness;
let browser: DashboardBrowser;
let page: Page;

beforeAll(async () => {
  maps = await MapServer.open();
  const sources = [
    { name: 'Streets', type: 'raster', url: `${maps.url}/raster/{z}/{x}/{y}.png`, attribution: 'Streets of Example' },
    { name: 'Two halves', type: 'raster', url: `${maps.url}/halves-${eastColumn}/{z}/{x}/{y}.png` },
    {
      name: 'Two halves of China',
      type: 'raster',
      url: `${maps.url}/halves-${eastColumn}/{z}/{x}/{y}.png`,
      coordinate_system: 'gcj02',
    },
    { name: 'Vectors', type: 'vector', url: `${maps.url}/vector/{z}/{x}/{y}.mvt` },
    { name: 'Archive', type: 'pmtiles', url: `${maps.url}/world.pmtiles` },
    { name: 'Style', type: 'style', url: `${maps.url}/style.json` },
    { name: 'Missing', type: 'style', url: `${maps.url}/nothing.json` },
    { name: 'Missing tiles', type: 'raster', url: `${maps.url}/nothing/{z}/{x}/{y}.png` },
  ];
  harness = await startHarness({ MAP_SOURCES: JSON.stringify(sources) });
  ({ browser, page } = await openDashboard(harness, harness.product.runtime.demo, { pixelRatio: 1 }));
}, 240_000);

afterAll(async () => {
  await browser?.close();
  await harness?.stop();
  maps?.close();
}, 90_000);

/** Fails a test whose page had an error, even if the test saw what it waited for. */
afterEach(() => expect(browser.faults.splice(0)).toEqual([]));

const openAt = (east: number, at = zoom, north = latitude) =>
  page.goto(`${browser.baseUrl}/map?at=${north.toFixed(5)},${east.toFixed(5)},${at}`);
const choose = (name: string) => page.getByLabel('Base map').selectOption(name);

/** Returns the colour of the map this far east of its middle, and 60 pixels north of it. */
async function readColor(eastPx = 0): Promise<Color | undefined> {
  const box = await page.locator('.maplibregl-canvas').boundingBox();
  if (box === null) throw new Error('The map has no size.');
  const [x, y] = [box.x + box.width / 2 + eastPx, box.y + box.height / 2 - 60];
  return (await readPixels(page, { x, y, width: 1, height: 1 }))[0];
}

/** Matches a colour that differs by a few steps. */
const near = (color: Color) => color.map((value) => expect.closeTo(value, -1));

describe('the base maps of an installation', () => {
  it('begin with the first one, with its attribution', async () => {
    await openAt(wgs84Longitude);
    await waitForAssertion(async () => expect(await readColor()).toEqual(near(mapColors.west)), pageTimeoutMs);
    await page.getByText('Streets of Example').waitFor();
    expect(await page.getByLabel('Base map').inputValue()).toBe('Streets');
    expect(await findAccessibilityFaults(page)).toEqual([]);
  });

  it('are drawn where their tiles are', async () => {
    await openAt(eastLongitude);
    await choose('Two halves');
    await waitForAssertion(async () => expect(await readColor(-6)).toEqual(near(mapColors.west)), pageTimeoutMs);
    await waitForAssertion(async () => expect(await readColor(6)).toEqual(near(mapColors.east)), pageTimeoutMs);
  });

  it('are moved to their place if their tiles have GCJ-02 coordinates', async () => {
    await openAt(lineLongitude);
    await choose('Two halves of China');
    await waitForAssertion(async () => expect(await readColor(-6)).toEqual(near(mapColors.west)), pageTimeoutMs);
    await waitForAssertion(async () => expect(await readColor(6)).toEqual(near(mapColors.east)), pageTimeoutMs);
  });

  it('can be vector tiles in the colours of the theme', async () => {
    await choose('Vectors');
    await waitForAssertion(async () => expect(await readColor()).toEqual(near([0xe2, 0xdf, 0xda])), pageTimeoutMs);
  });

  it('can be a PMTiles archive', async () => {
    await choose('Archive');
    await waitForAssertion(async () => expect(await readColor()).toEqual(near(mapColors.archive)), pageTimeoutMs);
  });

  it('can be a style, which is kept after a reload', async () => {
    await choose('Style');
    await waitForAssertion(async () => expect(await readColor()).toEqual(near(mapColors.style)), pageTimeoutMs);
    await page.reload();
    await waitForAssertion(async () => expect(await readColor()).toEqual(near(mapColors.style)), pageTimeoutMs);
    expect(await page.getByLabel('Base map').inputValue()).toBe('Style');
  });

  it.each(['Missing', 'Missing tiles'])('leave the offline map where one cannot be loaded: %s', async (name) => {
    browser.expectStatus(500);
    await choose('Offline map');
    await waitForAssertion(async () => expect(await readColor()).toEqual(near(landColor)), pageTimeoutMs);
    await choose(name);
    await page.getByText('This map cannot be loaded.').waitFor();
    await waitForAssertion(async () => expect(await readColor()).toEqual(near(landColor)), pageTimeoutMs);
  });

  it.each([
    { place: 'Hong Kong', north: 22.3, east: 114.17, color: landColor },
    { place: 'Victoria Harbour', north: 22.29, east: 114.165, color: waterColor },
    { place: 'Manhattan', north: 40.75, east: -73.98, color: landColor },
    { place: 'the open sea', north: 0, east: -30, color: waterColor },
  ])('include the offline map, whose coasts are fine in a close view: $place', async ({ north, east, color }) => {
    await openAt(east, 14, north);
    await choose('Offline map');
    await waitForAssertion(async () => expect(await readColor()).toEqual(near(color)), pageTimeoutMs);
    await page.getByText('Natural Earth').first().waitFor();
  });

  it('include the offline map with its coarse coasts where the fine ones cannot be loaded', async () => {
    await page.route('**/assets/coasts-*.bin', (route) => route.abort());
    await openAt(114.17, 14, 22.3);
    await choose('Offline map');
    await page.getByText('Natural Earth').first().waitFor();
    // Hong Kong, which only the fine coasts have.
    await waitForAssertion(async () => expect(await readColor()).toEqual(near(waterColor)), pageTimeoutMs);
    await page.unroute('**/assets/coasts-*.bin');
  });

  it('load no fonts and nothing else from other hosts', async () => {
    const hosts = await page.evaluate<string[]>(
      "[...new Set(performance.getEntriesByType('resource').map(({ name }) => new URL(name).host))]",
    );
    const known = [browser.baseUrl, maps.url].map((url) => new URL(url).host);
    expect(hosts.filter((host) => !known.includes(host))).toEqual([]);
    expect(maps.paths.length).toBeGreaterThan(0);
  });
});
