import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { type DashboardBrowser, openDashboard, pageTimeoutMs } from './testing/dashboard-browser.ts';
import { takePictures } from './testing/dashboard-pictures.ts';
import { Dashcams } from './testing/dashcams.ts';
import { DownloadCamera } from './testing/download-camera.ts';
import { type ProductHarness, startHarness } from './testing/harness.ts';
import { waitForPlaying } from './testing/video-probe.ts';

// A browser with software rendering on a busy machine.
jest.setTimeout(600_000);

const phone = { width: 390, height: 844 };
const desktop = { width: 1280, height: 800 };
const smallVideo = { video: { width: 320, height: 240, fps: 10, gop: 10 } };
/** More elements than any page has before its content. */
const maxTabs = 90;

let harness: ProductHarness;
let dashcams: Dashcams;
let browser: DashboardBrowser;
let page: Page;
let vehicleId: number;
let receiver: Server;
let receivedCount = 0;
let receiverStatus = 200;
let terminal: SimulatedTerminal;

beforeAll(async () => {
  receiver = createServer((_request, response) => {
    receivedCount += 1;
    response.writeHead(receiverStatus).end('ok');
  }).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  harness = await startHarness({
    WEBHOOK_ALLOW_HTTP: 'true',
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
    WEBHOOK_RETRY_WAITS_MS: '200,300',
    WEBHOOK_SWEEP_MS: '200',
  });
  dashcams = await Dashcams.open(harness);
  const channels = [{ channel_id: 1, name: 'Front', has_audio: true }];
  const vehicle = { vehicle_no: 'KL07HA0001', name: 'Handy', channels };
  ({ vehicleId, terminal } = await dashcams.create(vehicle, { ...smallVideo, reportIntervalMs: 1_000 }));
  ({ browser, page } = await openDashboard(harness));
}, 240_000);

afterAll(async () => {
  await browser?.close();
  await harness?.stop();
  receiver?.close();
}, 90_000);

/** Fails a test whose page had an error, even if the test saw what it waited for. */
afterEach(() => expect(browser.faults.splice(0)).toEqual([]));

const open = (path: string) => page.goto(`${browser.baseUrl}${path}`);
const region = (name: string): Locator => page.getByRole('region', { name, exact: true });
const isFocused = (target: Locator): Promise<boolean> =>
  target.evaluate((element) => {
    const { document } = globalThis as unknown as { document: { activeElement: unknown } };
    return element === document.activeElement;
  });
/** Returns whether a person sees that an element has the focus. */
const hasVisibleFocus = (target: Locator): Promise<boolean> =>
  target.evaluate((element) => {
    const browserPage = globalThis as unknown as { getComputedStyle(of: unknown): { outlineStyle: string } };
    const focused = element as unknown as { matches(selector: string): boolean };
    if (focused.matches('input, select, textarea')) return true;
    return focused.matches(':focus-visible') && browserPage.getComputedStyle(element).outlineStyle !== 'none';
  });

/** Moves the focus to an element by the Tab key, and checks that a person sees where it is. */
async function tabTo(target: Locator, key = 'Tab'): Promise<void> {
  await target.waitFor();
  for (let count = 0; count < maxTabs; count += 1) {
    if (await isFocused(target)) {
      if (!(await hasVisibleFocus(target))) throw new Error(`The focus of ${String(target)} is not visible.`);
      return;
    }
    await page.keyboard.press(key);
  }
  throw new Error(`The Tab key does not reach ${String(target)}.`);
}

async function press(target: Locator, key = 'Enter'): Promise<void> {
  await tabTo(target);
  await page.keyboard.press(key);
}

describe('on a phone', () => {
  it('a vehicle is watched, and shared by a link with live video', async () => {
    await page.setViewportSize(phone);
    await open(`/vehicles/${vehicleId}`);
    await page.getByRole('button', { name: /Front/ }).click();
    await waitForPlaying(page.locator('.tile > video'));
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    await takePictures(page, 'phone-watch');
    await page.setViewportSize(phone);
    await open(`/vehicles/${vehicleId}/sharing`);
    await page.getByLabel('Label').fill('On the way');
    await page.getByRole('checkbox', { name: /video/i }).last().click();
    await page.getByLabel('Destination', { exact: true }).fill('harbour');
    await page.getByRole('button', { name: 'Create the link' }).click();
    await page.getByText('Enter latitude and longitude, such as').waitFor();
    await page.getByLabel('Destination', { exact: true }).fill('10.2, 76.5');
    await page.getByLabel('Name of the destination').fill('Harbour');
    await page.getByRole('button', { name: 'Create the link' }).click();
    await page.getByRole('row', { name: /On the way/ }).waitFor();
    const [link] = await dashcams.client.listAll(`/share-links?vehicle_id=${vehicleId}`);
    await page.goto(String(link?.['url']));
    await page.getByRole('heading', { level: 1, name: 'On the way' }).waitFor();
    await page.getByText(/^Arrives about /).waitFor();
    await page.getByText('Harbour', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Watch live video' }).click();
    expect((await waitForPlaying(page.locator('video'))).pictures).toBeGreaterThan(0);
    await page.setViewportSize(desktop);
  });
});

describe('the map of a vehicle', () => {
  it('keeps its place when the theme changes, and never shows the whole world', async () => {
    await open(`/vehicles/${vehicleId}`);
    const scale = page.locator('.maplibregl-ctrl-scale');
    await page.locator('.maplibregl-canvas').waitFor();
    await waitFor(async () => /^[1-9]00\sm$/.test(await scale.innerText()), 'the vehicle on the map', pageTimeoutMs);
    const before = await scale.innerText();
    // Records what each new map shows, from its first picture on.
    await page.evaluate(`(() => {
      document.querySelector('.maplibregl-canvas').dataset.isFirst = '';
      window.scales = new Set();
      new MutationObserver(() => {
        const text = document.querySelector('.maplibregl-ctrl-scale')?.textContent;
        if (text) window.scales.add(text);
      }).observe(document.body, { subtree: true, childList: true, characterData: true });
    })()`);
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.locator('.maplibregl-canvas:not([data-is-first])').waitFor();
    await waitFor(() => page.evaluate<boolean>('window.scales.size > 0'), 'a scale of the new map', pageTimeoutMs);
    expect(await page.evaluate('[...window.scales]')).toEqual([before]);
    await page.emulateMedia({ colorScheme: 'light' });
  });
});

describe('with the keyboard alone', () => {
  it('a vehicle is found, filtered, selected, followed and watched', async () => {
    await open('/map');
    const search = page.getByRole('textbox', { name: 'Find a vehicle' });
    await page.getByRole('list', { name: 'Vehicles' }).getByRole('button', { name: /Handy/ }).waitFor();
    await page.keyboard.press('/');
    await waitFor(() => isFocused(search), 'the focus in the search');
    await page.keyboard.type('handy');
    await press(page.getByRole('group', { name: 'Filter by state' }).getByRole('button').first());
    await page.locator('[aria-label="Filter by state"] [aria-pressed="true"]').waitFor();
    await press(page.getByRole('list', { name: 'Vehicles' }).getByRole('button', { name: /Handy/ }));
    await region('Handy').waitFor();
    await page.keyboard.press('o');
    await waitFor(() => new URL(page.url()).searchParams.has('follow'), 'the vehicle is followed', pageTimeoutMs);
    const second = await browser.newPage(new URL(page.url()).pathname + new URL(page.url()).search);
    await second.getByRole('region', { name: 'Handy', exact: true }).waitFor();
    expect(await second.getByRole('textbox', { name: 'Find a vehicle' }).inputValue()).toBe('handy');
    await second.close();

    await page.keyboard.press('l');
    const tile = region('Handy · Front');
    await tabTo(tile);
    await waitForPlaying(tile.locator('> video'));
    await page.keyboard.press('m');
    await waitFor(
      () => page.evaluate<boolean>('!document.querySelector("video").muted'),
      'sound after a key',
      pageTimeoutMs,
    );
    expect(await isFocused(tile)).toBe(true);
  });

  it('a clip is requested, paused and resumed', async () => {
    const camera = await DownloadCamera.create(harness, dashcams.client, { uploadBytesPerSecond: 40_000 });
    const { startMs } = camera.camera.getClip(2, { count: 2 });
    await open(`/vehicles/${camera.vehicleId}/day/clip?t=${startMs / 1_000}`);
    const clips = region('Clips');
    const slider = page.getByRole('slider', { name: 'Time of the replay' });
    await press(clips.getByRole('button', { name: 'Start at the playhead' }));
    await tabTo(slider, 'Shift+Tab');
    await page.keyboard.press('ArrowRight');
    await press(clips.getByRole('button', { name: 'End at the playhead' }));
    await press(clips.getByRole('button', { name: 'Request clip' }));
    const row = clips.getByRole('listitem');
    await press(row.getByRole('button', { name: 'Pause upload' }));
    await row.getByText(/^Paused/).waitFor();
    await press(row.getByRole('button', { name: 'Resume upload' }));
    await row.getByText(/^Completed/).waitFor();
    expect((await camera.list()).map(({ status }) => status)).toEqual(['completed']);
    await press(row.getByRole('button', { name: 'Make MP4' }));
    await row.getByRole('link', { name: 'Download MP4' }).waitFor();
  });

  it('an upload is canceled', async () => {
    const camera = await DownloadCamera.create(harness, dashcams.client, { uploadBytesPerSecond: 20_000 });
    const clip = camera.camera.getClip(4, { count: 2 });
    await dashcams.client.requestData('/dashcam-downloads', {
      vehicle_id: camera.vehicleId,
      channel_id: 1,
      from: new Date(clip.startMs).toISOString(),
      to: new Date(clip.endMs).toISOString(),
    });
    await open(`/media?vehicle=${camera.vehicleId}`);
    const row = page.getByRole('list', { name: 'Requested clips' }).getByRole('listitem');
    await press(row.getByRole('button', { name: 'Cancel upload' }));
    await row.getByText(/^Canceled/).waitFor();
    expect((await camera.list()).map(({ status }) => status)).toEqual(['cancelled']);
  });

  it('a group is created inside another', async () => {
    await open('/groups');
    for (const name of ['South depot', 'Kochi']) {
      await press(page.getByRole('button', { name: 'Add a group' }));
      await page.locator('[role=dialog] :focus').waitFor();
      await page.keyboard.type(name);
      await page.keyboard.press('Enter');
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await page.getByRole('heading', { name, exact: true }).waitFor();
    }
    const [south, kochi] = await dashcams.client.listAll('/vehicle-groups?sort=id');
    expect([south?.['name'], kochi?.['name'], kochi?.['parent_group']]).toEqual([
      'South depot',
      'Kochi',
      south?.['id'],
    ]);
  });

  /** Raises an alarm whose delivery fails, and waits for the end of its attempts. */
  async function failDelivery(alarm: Parameters<SimulatedTerminal['raiseAlarm']>[0], name: RegExp): Promise<void> {
    receiverStatus = 500;
    terminal.raiseAlarm(alarm);
    const delivery = page.getByRole('dialog').last().getByRole('button', { name });
    await delivery.getByText(/Failed, 3 attempts/).waitFor();
    receiverStatus = 200;
  }

  it('a webhook is added, tested, repaired, given a new secret and deleted', async () => {
    await open('/profile/webhooks');
    const dialog = page.getByRole('dialog').last();
    await press(page.getByRole('button', { name: 'Add webhook' }));
    await page.locator('input[type=url]:focus').waitFor();
    await page.keyboard.type(`http://127.0.0.1:${(receiver.address() as AddressInfo).port}/hook`);
    await press(dialog.getByRole('button', { name: 'Save' }));
    await page.getByText(/^whsec_/).waitFor();
    await press(dialog.getByRole('button', { name: 'Send', exact: true }));
    await dialog.getByText(/Attempt: 200 in \d+ ms/).waitFor();
    expect(receivedCount).toBe(1);
    await press(dialog.getByRole('button', { name: 'I have saved the secret' }));
    await dialog.waitFor({ state: 'detached' });
    await press(page.getByRole('button', { name: 'Deliveries' }));
    await page.getByText('There are no deliveries for these filters').waitFor();
    await failDelivery('emergency', /SOS/);
    await press(dialog.getByRole('button', { name: /SOS/ }));
    await press(dialog.getByRole('button', { name: 'Retry' }));
    await dialog.getByRole('button', { name: /SOS/ }).getByText('Succeeded').waitFor();
    await failDelivery('rollover', /rollover/i);
    await press(dialog.getByRole('button', { name: /^Replay what failed/ }));
    await dialog
      .getByRole('button', { name: /rollover/i })
      .getByText('Succeeded')
      .waitFor();
    await open('/profile/webhooks');
    await press(page.getByRole('button', { name: 'New secret' }));
    await press(dialog.getByRole('button', { name: 'Save' }));
    await page.getByText(/^whsec_/).waitFor();
    await press(dialog.getByRole('button', { name: 'I have saved the secret' }));
    await dialog.waitFor({ state: 'detached' });
    await press(page.getByRole('button', { name: 'Delete', exact: true }));
    await press(dialog.getByRole('button', { name: 'Delete', exact: true }));
    await page.getByText('There are no webhooks yet').waitFor();
    expect(await dashcams.client.listAll('/user-webhooks')).toEqual([]);
  });
});
