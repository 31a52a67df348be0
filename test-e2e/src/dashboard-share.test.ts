import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { MongoClient } from 'mongodb';
import type { Page } from 'playwright-core';
import { CuttableProxy } from './testing/cuttable-proxy.ts';
import { DashboardBrowser, findAccessibilityFaults, pageTimeoutMs } from './testing/dashboard-browser.ts';
import { takePictures } from './testing/dashboard-pictures.ts';
import { type Dashcam, Dashcams } from './testing/dashcams.ts';
import { type ProductHarness, shortWaitSettings, startHarness } from './testing/harness.ts';
import { ManualTrack } from './testing/manual-track.ts';
import { waitForPlaying } from './testing/video-probe.ts';

// A browser with software rendering on a busy machine.
jest.setTimeout(600_000);

const phone = { width: 390, height: 844 };
/** Small pictures: the browser decodes them without hardware. */
const smallVideo = { video: { width: 320, height: 240, fps: 10, gop: 10 } };
const twoCameras = [
  { channel_id: 1, has_audio: true },
  { channel_id: 2, has_audio: true },
];

/** The websocket passes through a proxy that a test cuts. */
let proxy: CuttableProxy;
let harness: ProductHarness;
let dashcams: Dashcams;
let browser: DashboardBrowser;
let page: Page;
let truck: Dashcam;
const track = new ManualTrack(10.01, 76.6);

beforeAll(async () => {
  proxy = await CuttableProxy.open();
  harness = await startHarness({
    ...shortWaitSettings,
    FIRST_PACKET_WAIT_MS: '15000',
    RATE_LIMIT_SHARE_LINK_PER_MINUTE: '1000',
    WS_URL: `ws://127.0.0.1:${proxy.port}/ws`,
  });
  proxy.targetPort = Number(new URL(harness.product.runtime.base_url).port);
  dashcams = await Dashcams.open(harness);
  const vehicle = { vehicle_no: 'KL07CD1234', name: 'Truck 12', channels: twoCameras };
  truck = await dashcams.create(vehicle, { ...smallVideo, reportIntervalMs: 1_000, track });
  browser = await DashboardBrowser.open(harness);
  // The first page has no link.
  browser.expectStatus(404);
  page = await browser.newPage('/share/A1b2C3d4E5f6G7h8I9j0K1');
  await page.setViewportSize(phone);
}, 240_000);

afterAll(async () => {
  await browser?.close();
  await harness?.stop();
  proxy?.close();
}, 90_000);

/** Fails a test whose page had an error, even if the test saw what it waited for. */
afterEach(() => expect(browser.faults.splice(0)).toEqual([]));

interface Link {
  readonly id: number;
  readonly path: string;
}

async function createLink(more: object = {}, vehicleId = truck.vehicleId): Promise<Link> {
  const link = { vehicle_id: vehicleId, expires_in_hours: 4, ...more };
  const { id, slug } = await dashcams.client.requestData('/share-links', link);
  return { id: Number(id), path: `/share/${String(slug)}` };
}

const readViews = async ({ id }: Link): Promise<number> => {
  const links = await dashcams.client.listAll('/share-links?active=true');
  return Number(links.find((link) => link['id'] === id)?.['view_count']);
};
const revoke = ({ id }: Link): Promise<unknown> => dashcams.client.remove(`/share-links/${id}`);
const open = ({ path }: Pick<Link, 'path'>) => page.goto(`${browser.baseUrl}${path}`);
const video = () => page.locator('video');
const watch = (name = 'Watch live video') => page.getByRole('button', { name }).click();

describe('a share page', () => {
  it('shows a guest one vehicle with an arrival that follows it, and counts one view', async () => {
    const bodies: string[] = [];
    page.on('response', (response) => {
      if (response.url().includes('/public/share-links'))
        void response.text().then(
          (text) => bodies.push(text),
          () => undefined,
        );
    });
    const destination = { latitude: 10.01, longitude: 76.7, name: 'Harbour' };
    const link = await createLink({ label: 'Delivery 7', destination });
    track.set({ speedKmh: 52, isIgnitionOn: true, directionDeg: 90 });
    await open(link);
    await page.getByRole('heading', { level: 1, name: 'Delivery 7' }).waitFor();
    await page.getByText('Moving 52 km/h').waitFor();
    await page.getByRole('region', { name: 'Map, 1 vehicle' }).locator('canvas').waitFor();
    await page.getByText(/^Arrives about /).waitFor();
    await page.getByText('14 km left').waitFor();
    track.set({ longitudeDeg: 76.68, speedKmh: 48 });
    await page.getByText('Moving 48 km/h').waitFor();
    await page.getByText('2.8 km left').waitFor();
    await page.getByText(/^Updated \d+ sec\. ago$/).waitFor();
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await takePictures(page, 'share');
    await page.setViewportSize(phone);
    track.set({ longitudeDeg: 76.7, speedKmh: 0 });
    await page.getByText('The vehicle has arrived.').waitFor();
    expect(await readViews(link)).toBe(1);
    expect(bodies.join('')).not.toMatch(/"(imei|vehicle_id|account_id)"/);
    expect(bodies.join('')).not.toContain(truck.imei);
    expect(await page.evaluate('JSON.stringify([localStorage, sessionStorage, document.cookie])')).toBe('[{},{},""]');
    track.set({ longitudeDeg: 76.6 });
  });

  it('says since when it is disconnected, and continues by itself without a further view', async () => {
    const link = await createLink({ max_views: 1 });
    await open(link);
    await page.getByText(/^Updated/).waitFor();
    browser.expectConsole(/^WebSocket connection to /);
    proxy.cut();
    await page
      .getByRole('status')
      .getByText(/^Disconnected since /)
      .waitFor();
    await takePictures(page, 'share-disconnected');
    await page.setViewportSize(phone);
    track.set({ speedKmh: 61, isIgnitionOn: true });
    proxy.restore();
    await page.getByText('Moving 61 km/h').waitFor();
    await page.getByText(/^Disconnected since /).waitFor({ state: 'detached' });
    const links = await dashcams.client.listAll('/share-links?active=false');
    expect(links.find(({ id }) => id === link.id)).toMatchObject({ view_count: 1 });
  });

  it('keeps its place on the map when the theme of the device changes', async () => {
    await open(await createLink());
    await page.locator('.maplibregl-canvas').waitFor();
    const readScale = () => page.locator('.maplibregl-ctrl-scale').innerText();
    const before = await readScale();
    expect(before).toMatch(/\d+\sk?m$/);
    await page.locator('.maplibregl-canvas').evaluate((canvas) => {
      (canvas as unknown as { dataset: Record<string, string> }).dataset['isFirst'] = '';
    });
    // Records what each new map shows, from its first picture on.
    await page.evaluate(`(() => {
      window.scales = new Set();
      new MutationObserver(() => {
        const scale = document.querySelector('.maplibregl-ctrl-scale')?.textContent;
        if (scale) window.scales.add(scale);
      }).observe(document.body, { subtree: true, childList: true, characterData: true });
    })()`);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.locator('.maplibregl-canvas:not([data-is-first])').waitFor();
    await waitFor(() => page.evaluate<boolean>('window.scales.size > 0'), 'a scale of the new map', pageTimeoutMs);
    expect(await findAccessibilityFaults(page)).toEqual([]);
    expect(await page.evaluate('[...window.scales]')).toEqual([before]);
    await page.emulateMedia({ colorScheme: 'light' });
  });

  it.each([
    ['zh', /更新$/, '观看摄像头 1'],
    ['es', /^Actualizado /, 'Ver la cámara 1'],
  ])('speaks the language of the browser: %s', async (language, updated, watchText) => {
    const link = await createLink({ permissions: ['location', 'live_video'] });
    const guest = await browser.newPage('/share/A1b2C3d4E5f6G7h8I9j0K1');
    await guest.addInitScript(`Object.defineProperty(navigator, 'languages', { value: ['${language}'] })`);
    await guest.goto(`${browser.baseUrl}${link.path}`);
    await guest.getByText('KL07CD1234').waitFor();
    await guest.getByText(updated).waitFor();
    expect(await guest.locator('html').getAttribute('lang')).toBe(language);
    expect(await guest.locator('main').innerText()).not.toMatch(/Updated|Ends|Moving|Camera|\w+\.\w+\.\w+/);
    expect(await guest.getByRole('button', { name: watchText }).isVisible()).toBe(true);
    await guest.close();
  });
});

describe('live video of a share page', () => {
  it('plays each camera that the link includes, silent at first, without the number of the terminal', async () => {
    const requested: string[] = [];
    page.on('request', (request) => requested.push(request.url()));
    const destination = { latitude: 10.01, longitude: 76.7, name: 'Harbour' };
    const link = await createLink({ label: 'Delivery 7', permissions: ['location', 'live_video'], destination });
    await open(link);
    await watch('Watch camera 2');
    await waitForPlaying(video());
    expect(await video().evaluate((element) => (element as unknown as { muted: boolean }).muted)).toBe(true);
    await page.getByRole('button', { name: 'Turn sound on' }).click();
    await waitFor(
      () =>
        page.evaluate<boolean>(
          '(() => { const video = document.querySelector("video"); return !video.muted && video.webkitAudioDecodedByteCount > 0; })()',
        ),
      'sound',
      pageTimeoutMs,
    );
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await takePictures(page, 'share-video');
    await page.setViewportSize(phone);
    await watch('Watch camera 1');
    await waitForPlaying(video());
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    expect(requested.filter((url) => url.includes(truck.imei))).toEqual([]);
    expect(await readViews(link)).toBe(1);
    await page.getByRole('button', { name: 'Close the video' }).click();
    expect(await video().count()).toBe(0);
  });

  it('is not offered by a link without it', async () => {
    await open(await createLink());
    await page.getByText(/^Updated/).waitFor();
    expect(await page.getByRole('button', { name: /Watch/ }).count()).toBe(0);
  });

  it('names a camera that refuses, and plays after a retry', async () => {
    browser.expectStatus(502);
    const refusing = await dashcams.create({ name: 'Refusing' }, smallVideo);
    refusing.terminal.setBehaviour({ kind: 'refusing', result: 3 }, 0x9101);
    await open(await createLink({ permissions: ['live_video'] }, refusing.vehicleId));
    await page.getByText('This link shows live video only.').waitFor();
    await watch();
    await page.getByText('The camera refused to send video.').waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await takePictures(page, 'share-refused');
    await page.setViewportSize(phone);
    refusing.terminal.resetBehaviour(0x9101);
    await page.getByRole('button', { name: 'Retry' }).click();
    expect((await waitForPlaying(video())).pictures).toBeGreaterThan(0);
    // The terminal leaves while its camera is watched.
    await refusing.terminal.stop();
    await page.getByText(/^Reconnecting, attempt|^Weak connection|The vehicle is offline/).waitFor();
    await page.getByText('The vehicle is offline.', { exact: true }).waitFor({ timeout: 2 * pageTimeoutMs });
  });

  it('says that a sleeping camera does not respond', async () => {
    browser.expectStatus(504);
    const sleeper = await dashcams.create({ name: 'Sleeper' }, smallVideo);
    sleeper.terminal.setBehaviour({ kind: 'sleeping' });
    await open(await createLink({ permissions: ['live_video'] }, sleeper.vehicleId));
    await watch();
    await page.getByText(/^Connecting to the camera 0:\d\d/).waitFor();
    await page.getByText('The camera does not respond. It may be asleep.').waitFor();
    expect(await page.getByRole('button', { name: 'Retry' }).isVisible()).toBe(true);
  });

  it('plays HLS in a browser without Media Source Extensions', async () => {
    const requested: string[] = [];
    const guest = await browser.newPage('/share/A1b2C3d4E5f6G7h8I9j0K1');
    guest.on('request', (request) => requested.push(new URL(request.url()).pathname));
    await guest.addInitScript('delete globalThis.MediaSource; delete globalThis.ManagedMediaSource;');
    await guest.goto(`${browser.baseUrl}${(await createLink({ permissions: ['live_video'] })).path}`);
    await guest.getByRole('button', { name: 'Watch camera 1' }).click();
    // The pictures come from another origin, so the test cannot read them.
    const readPlayed = () =>
      guest.evaluate<number>('document.querySelector("video")?.getVideoPlaybackQuality().totalVideoFrames ?? 0');
    await waitFor(async () => (await readPlayed()) > 20, 'pictures', pageTimeoutMs);
    expect(requested.filter((path) => path.endsWith('.flv'))).toEqual([]);
    expect(requested.some((path) => path.endsWith('.m3u8'))).toBe(true);
    await guest.close();
  });

  it('ends when the data budget of the vehicle is spent, and is refused after a retry', async () => {
    browser.expectStatus(429);
    const { vehicleId } = await dashcams.create({ name: 'Small budget' });
    const budget = { vehicle_id: vehicleId, data_budget_mb: 1, over_budget: 'refuse' };
    await dashcams.client.update('/user-preferences/me', { video: { vehicle_data_budgets: [budget] } });
    await open(await createLink({ permissions: ['live_video'] }, vehicleId));
    await watch();
    await waitForPlaying(video());
    const spent = page.getByText('The vehicle has used its mobile data of this month.');
    await spent.waitFor({ timeout: 2 * pageTimeoutMs });
    const refused = page.waitForResponse((response) => response.status() === 429);
    await page.getByRole('button', { name: 'Retry' }).click();
    expect((await refused).request().method()).toBe('POST');
    await spent.waitFor();
  });

  const stopStream = () =>
    dashcams.client.requestData(`/vehicles/stop-dashcam-stream/${truck.vehicleId}`, { channel_id: 1, force: true });

  it('ends when the owner stops the stream, and starts again after a click', async () => {
    await open(await createLink({ permissions: ['location', 'live_video'] }));
    await watch('Watch camera 1');
    await waitForPlaying(video());
    await stopStream();
    await page.getByText('The owner stopped the video.').waitFor();
    await page.getByRole('button', { name: 'Retry' }).click();
    expect((await waitForPlaying(video())).pictures).toBeGreaterThan(0);
  });

  it('ends when the owner stops the stream before the page has checked its progress', async () => {
    const link = await createLink({ permissions: ['location', 'live_video'] });
    const guest = await browser.newPage('/share/A1b2C3d4E5f6G7h8I9j0K1');
    await guest.addInitScript(`{
      const setAnyInterval = setInterval;
      globalThis.setInterval = (run, ms, ...more) => setAnyInterval(run, ms === 1_000 ? 3_600_000 : ms, ...more);
    }`);
    await guest.goto(`${browser.baseUrl}${link.path}`);
    await guest.getByRole('button', { name: 'Watch camera 1' }).click();
    await waitForPlaying(guest.locator('video'));
    await stopStream();
    await guest.getByText('The owner stopped the video.').waitFor();
    expect(await guest.getByRole('button', { name: 'Retry' }).isVisible()).toBe(true);
    await guest.close();
  });
});

describe('a share link that has ended', () => {
  it('ends the open page by its time, with a sentence', async () => {
    browser.expectStatus(410);
    const link = await createLink();
    // The shortest link lasts an hour.
    const mongo = await MongoClient.connect(harness.product.runtime.backends.mongodb_url);
    const { matchedCount } = await mongo
      .db()
      .collection<{ _id: number }>('share_links')
      .updateOne({ _id: link.id }, { $set: { expiresAt: new Date(Date.now() + 20_000) } });
    await mongo.close();
    expect(matchedCount).toBe(1);
    await open(link);
    await page.getByText(/^Updated/).waitFor();
    await page.getByRole('heading', { name: 'This link has ended: its time is over.' }).waitFor();
    expect(await page.locator('canvas, video').count()).toBe(0);
  });

  it('ends the page and its video with a sentence when it is revoked', async () => {
    browser.expectStatus(410);
    const link = await createLink({ permissions: ['location', 'live_video'] });
    await open(link);
    await watch('Watch camera 1');
    await waitForPlaying(video());
    await revoke(link);
    await page.getByRole('heading', { name: 'This link has ended: it was revoked.' }).waitFor();
    expect(await video().count()).toBe(0);
    await page.getByText('Ask the person who sent it for a new one.').waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await takePictures(page, 'share-revoked');
    await page.setViewportSize(phone);
    // A second visit shows the same.
    await open(link);
    await page.getByRole('heading', { name: 'This link has ended: it was revoked.' }).waitFor();
  });

  it('says that its views are used, or that it does not exist', async () => {
    browser.expectStatus(410);
    const link = await createLink({ max_views: 1 });
    await open(link);
    await page.getByText(/^Updated/).waitFor();
    await open(link);
    await page.getByRole('heading', { name: 'This link has ended: all its views are used.' }).waitFor();
    await open({ path: '/share/A1b2C3d4E5f6G7h8I9j0K1' });
    await page.getByRole('heading', { name: 'This link does not exist. Check its address.' }).waitFor();
    expect(await page.locator('canvas, video').count()).toBe(0);
  });

  it('requires its password by keyboard alone, and counts no view for a wrong one', async () => {
    browser.expectStatus(401);
    const link = await createLink({ password: 'harbour ñ', max_views: 3 });
    await open(link);
    await page.getByRole('textbox', { name: 'Password' }).and(page.locator(':focus')).waitFor();
    await page.keyboard.type('wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('The password is wrong.').waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await takePictures(page, 'share-password');
    await page.setViewportSize(phone);
    await page.keyboard.press('Control+a');
    await page.keyboard.type('harbour ñ');
    await page.keyboard.press('Enter');
    await page.getByText(/^Updated/).waitFor();
    expect(await readViews(link)).toBe(1);
  });
});
