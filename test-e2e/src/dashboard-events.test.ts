import { type AlarmName, runFfmpeg, type SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor, waitForAssertion } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import {
  DashboardBrowser,
  findAccessibilityFaults,
  logIn,
  openDashboard,
  pageTimeoutMs,
} from './testing/dashboard-browser.ts';
import { takePictures } from './testing/dashboard-pictures.ts';
import { leaseHarness, type ProductHarness, uniquePhone } from './testing/harness.ts';
import { PlatformClient, type RegisteredAccount } from './testing/platform-client.ts';

// Two browsers with software rendering on a busy machine.
jest.setTimeout(600_000);

let harness: ProductHarness;
let account: RegisteredAccount;
let browser: DashboardBrowser;
let page: Page;
/** A second user of the account, who watches. */
let watcher: DashboardBrowser;
let watching: Page;
let terminal: SimulatedTerminal;

const manager = { email: `manager-${process.pid}@fleet.example`, password: 'correct horse battery' };
/** Alarms of one report, each of another type. */
const manyAlarms: readonly AlarmName[] = [
  ...(['overspeed', 'fatigueDriving', 'gnssFault', 'antennaOpen', 'antennaShort', 'mainPowerLow'] as const),
  ...(['displayFault', 'ttsFault', 'cameraFault', 'icCardFault', 'overspeedWarning', 'fatigueWarning'] as const),
  ...(['forbiddenDriving', 'tyrePressureWarning', 'blindSpot', 'dailyDrivingOvertime', 'parkingOvertime'] as const),
  ...(['area', 'route', 'sectionTime', 'offRoute', 'vssFault', 'fuelAbnormal', 'illegalDoorOpening'] as const),
  'dangerWarning',
];

async function addVehicle(name: string): Promise<{ id: number; terminal: SimulatedTerminal }> {
  const imei = uniquePhone();
  const { id } = await account.client.requestData('/vehicles', { vehicle_no: name, imei });
  return { id: Number(id), terminal: await harness.startTerminal({ phone: imei, reportIntervalMs: 1_000 }) };
}

beforeAll(async () => {
  harness = await leaseHarness();
  account = await PlatformClient.register(harness, 'events');
  await account.client.requestData('/users', { name: 'Asha Nair', role: 'manager', ...manager });
  ({ terminal } = await addVehicle('KL07EV0001'));
  ({ browser, page } = await openDashboard(harness, account));
  watcher = await DashboardBrowser.open(harness);
  watching = await watcher.newPage('/');
  await logIn(watching, manager);
}, 240_000);

afterAll(async () => {
  await browser?.close();
  await watcher?.close();
  await harness?.stop();
}, 90_000);

const expectNoFaults = (): void => expect([...browser.faults, ...watcher.faults]).toEqual([]);
afterEach(expectNoFaults);

const open = (path: string, target = page) => target.goto(`${browser.baseUrl}${path}`);
const rows = (target = page): Locator => target.getByRole('list', { name: 'List of events' }).getByRole('listitem');
const row = (title: string | RegExp, target = page): Locator => rows(target).filter({ hasText: title }).first();
const details = (target = page): Locator => target.getByRole('article', { name: 'Event' });

async function listOpen(): Promise<number> {
  return (await account.client.listAll('/notifications?acknowledged=false')).length;
}

describe('an event with a picture and a clip', () => {
  it('appears for two users; its clip plays, and an acknowledgement with a note changes both', async () => {
    await open('/events');
    await open('/events', watching);
    const { ffmpeg } = harness.product.runtime.backends;
    const source = ['-f', 'lavfi', '-i', 'testsrc2=size=320x240:rate=15'];
    const picture = await runFfmpeg(ffmpeg, [...source, '-frames:v', '1', '-f', 'mjpeg', '-']);
    const encoding = ['-c:v', 'libx264', '-pix_fmt', 'yuv420p', '-movflags', 'frag_keyframe+empty_moov', '-f', 'mp4'];
    const film = await runFfmpeg(ffmpeg, [...source, '-t', '3', ...encoding, '-']);
    terminal.raiseSafetyAlarm({
      kind: 'dsm',
      type: 2,
      level: 2,
      files: [
        { content: picture, type: 0, channel: 65 },
        { content: film, type: 2, channel: 1 },
      ],
    });
    const title = /phone/i;
    await row(title)
      .or(page.getByRole('button', { name: /new event/ }))
      .first()
      .click();
    await row(title).getByRole('button').click();
    const link = page.url();
    await waitFor(
      async () => {
        const [stored] = await account.client.listAll('/notifications?type=dsm_phone');
        return (stored?.['media'] as unknown[] | undefined)?.length === 2;
      },
      'two files of the alarm',
      pageTimeoutMs,
    );
    await details()
      .getByRole('img', { name: /^Picture of the event/ })
      .waitFor();
    const clip = details().getByLabel(/^Clip of the event/);
    await clip.waitFor();
    await clip.evaluate((video) => (video as unknown as { play(): Promise<void> }).play());
    await waitFor(
      async () => (await clip.evaluate((video) => (video as unknown as { currentTime: number }).currentTime)) > 1,
      'a second of the clip',
      pageTimeoutMs,
    );
    // A new event is read again every few seconds, which must not start the clip again.
    const clipUrl = await clip.getAttribute('src');
    for (let count = 0; count < 2; count += 1) await page.waitForResponse(/\/api\/notifications\/\d+$/);
    expect(await clip.getAttribute('src')).toBe(clipUrl);
    await details().locator('canvas.maplibregl-canvas').waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await takePictures(page, 'event');
    // The other user opens the same event by its address.
    await watching.goto(link);
    await details(watching)
      .getByRole('button', { name: /^Acknowledge/ })
      .waitFor();
    await details().getByLabel('Note').fill('called the driver, all well');
    await details()
      .getByRole('button', { name: /^Acknowledge/ })
      .click();
    await details()
      .getByText(/^Acknowledged by Owner, /)
      .waitFor();
    await details(watching)
      .getByText(/^Acknowledged by Owner, /)
      .waitFor();
    await details(watching).getByText('called the driver, all well').waitFor();
  });
});

describe('many events', () => {
  it('are acknowledged at once with one note; the list changes for both users, and the count falls', async () => {
    const other = await addVehicle('KL07EV0002');
    for (const alarm of manyAlarms) {
      terminal.raiseAlarm(alarm);
      other.terminal.raiseAlarm(alarm);
    }
    await waitFor(async () => (await listOpen()) >= 2 * manyAlarms.length, 'the events', pageTimeoutMs);
    await open('/events');
    await open('/events', watching);
    await page.getByRole('checkbox', { name: /^Select all/ }).check();
    await takePictures(page, 'events');
    expect(await findAccessibilityFaults(page)).toEqual([]);
    const selected = page.getByRole('form', { name: 'Selected events' });
    const count = Number(/\d+/.exec(await selected.innerText())?.[0]);
    expect(count).toBeGreaterThanOrEqual(50);
    await row('Speed sensor', watching).waitFor();
    await selected.getByLabel('Note for all selected events').fill('test of the workshop');
    await selected.getByRole('button', { name: 'Acknowledge selected' }).click();
    await page.getByText('All handled').waitFor();
    // The rows of the other user change, and once all are handled the list is empty.
    await watching.getByText('All handled').waitFor();
    await page.getByRole('radio', { name: 'Open 0' }).waitFor({ state: 'attached' });
    expect(await listOpen()).toBe(0);
    await open('/events?status=acknowledged&type=speed_sensor_fault');
    await row('Speed sensor').getByRole('button').click();
    await details().getByText('test of the workshop').waitFor();
  });
});

describe('the filters of the inbox', () => {
  it('are in the address, and a second window shows the same', async () => {
    await open('/events?status=all');
    await page.getByLabel('Vehicle', { exact: true }).selectOption({ label: 'KL07EV0002' });
    await page.getByLabel('Severity', { exact: true }).selectOption('warning');
    await page.getByRole('searchbox', { name: 'Title, vehicle or address' }).fill('sensor');
    await waitFor(
      async () => (await rows().count()) === 1 && page.url().includes('q=sensor'),
      'one row',
      pageTimeoutMs,
    );
    await waitForAssertion(async () => expect(await row('Speed sensor').innerText()).toContain('KL07EV0002'));
    const { pathname, search } = new URL(page.url());
    const second = await browser.newPage(pathname + search);
    await row('Speed sensor', second).waitFor();
    await waitForAssertion(async () => expect(await rows(second).count()).toBe(1));
    await second.close();
  });

  it('that match nothing offer to clear them', async () => {
    await open('/events?q=nothing-like-it');
    await page.getByText('No event matches the filters').waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await page.getByText('All handled').waitFor();
  });

  it('select an event that does not exist with a sentence', async () => {
    browser.expectStatus(404);
    await open('/events/999999999');
    await details()
      .getByText(/There is no notification/)
      .waitFor();
    await waitForAssertion(() => expect(new URL(page.url()).pathname).toBe('/events/999999999'));
  });
});

describe('the inbox by keyboard', () => {
  it('steps through events, comments and acknowledges without a pointer', async () => {
    const other = await addVehicle('KL07EV0003');
    await open('/events');
    await page.getByText('All handled').waitFor();
    other.terminal.raiseAlarm('collision');
    await row('ollision').waitFor();
    await page.keyboard.press('j');
    await details().getByLabel('Note').waitFor();
    await page.keyboard.press('c');
    await page.locator('textarea:focus').waitFor();
    await page.keyboard.type('airbag test');
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await details().getByText('airbag test').waitFor();
    await page.keyboard.press('Escape');
    await page.getByText('Choose an event').waitFor();
    expect(await listOpen()).toBe(0);
  });
});

/** Counts sounds and notifications of the browser, which no page can show. */
const recorder = `
  window.recorded = { sounds: 0, notifications: [] };
  const create = AudioContext.prototype.createOscillator;
  AudioContext.prototype.createOscillator = function () {
    window.recorded.sounds += 1;
    return create.call(this);
  };
  window.Notification = class {
    static permission = localStorage.getItem('test-permission') ?? 'default';
    static async requestPermission() {
      localStorage.setItem('test-permission', 'granted');
      return (Notification.permission = 'granted');
    }
    constructor(title) { window.recorded.notifications.push(title); }
    close() {}
  };`;
const tonesPerSound = 2;

describe('alerts', () => {
  let alerted: Page;
  let car: { id: number; terminal: SimulatedTerminal };
  const readRecorded = () => alerted.evaluate<{ sounds: number; notifications: string[] }>('window.recorded');
  const card = (title: string): Locator => alerted.getByRole('link', { name: `${title}, KL07EV0004` });

  /** Events before the first connection are in the list, and are not announced. */
  const waitUntilLive = () => alerted.getByRole('status').getByText('Live', { exact: true }).waitFor();

  beforeAll(async () => {
    car = await addVehicle('KL07EV0004');
    // Only one tab of a browser plays the sound.
    await page.goto('about:blank');
    alerted = await browser.newPage('/events');
    await alerted.addInitScript(recorder);
  });

  it('are requested by a click, and the sound is a setting', async () => {
    await open('/profile/notifications', alerted);
    expect(await findAccessibilityFaults(alerted)).toEqual([]);
    await alerted.getByLabel('Show notifications of this browser for critical events and warnings').check();
    await alerted.getByLabel('Sound in this page for critical events').check();
    await takePictures(alerted, 'notifications');
    await alerted.getByRole('button', { name: 'Play the sound' }).click();
    await waitFor(async () => (await readRecorded()).sounds === tonesPerSound, 'the sound', pageTimeoutMs);
    expect(await alerted.evaluate('Notification.permission')).toBe('granted');
  });

  it('of a burst of critical events make one sound', async () => {
    await open('/events', alerted);
    await alerted.getByText('All handled').waitFor();
    await waitUntilLive();
    await alerted.getByRole('heading', { name: 'Events', exact: true }).click();
    car.terminal.raiseAlarm('rollover');
    car.terminal.raiseAlarm('illegalMovement');
    await card('Illegal movement').waitFor();
    await waitFor(async () => (await readRecorded()).sounds > 0, 'the sound of the burst', pageTimeoutMs);
    expect((await readRecorded()).sounds).toBe(tonesPerSound);
  });

  it('pass in quiet hours if they are critical; warnings and muted types do not', async () => {
    await account.client.update('/user-preferences/me', {
      notifications: { quiet_hours: { from: '00:00', to: '23:59' } },
    });
    await open(`/vehicles/${car.id}/notifications`, alerted);
    await alerted.getByRole('checkbox', { name: 'Overspeed', exact: true }).uncheck();
    await alerted.getByRole('button', { name: 'Save' }).click();
    await alerted.getByText('Saved').waitFor();
    await open('/events', alerted);
    await alerted.getByRole('list', { name: 'List of events' }).waitFor();
    await waitUntilLive();
    car.terminal.raiseAlarm('overspeed');
    car.terminal.raiseAlarm('fatigueDriving');
    car.terminal.raiseAlarm('collision');
    await card('Collision').waitFor();
    const { notifications } = await readRecorded();
    expect(notifications.filter((title) => title.includes('KL07EV0004'))).toEqual(['Collision, KL07EV0004']);
    const stored = await account.client.listAll(`/notifications?vehicle_id=${car.id}&type=overspeed,fatigue_driving`);
    expect(stored.map(({ notification_type: type }) => String(type)).toSorted()).toEqual([
      'fatigue_driving',
      'overspeed',
    ]);
    // The muted type is in the history.
    await open(`/events?vehicle=${car.id}&type=overspeed`, alerted);
    await row('Overspeed', alerted).waitFor();
    await alerted.close();
  });
});

describe('the activity tray', () => {
  it('shows a queued command on every page and after a reload, and its end', async () => {
    const imei = uniquePhone();
    const { id } = await account.client.requestData('/vehicles', { vehicle_no: 'KL07EV0005', imei });
    await open(`/vehicles/${String(id)}/commands`);
    await page.getByLabel('Text', { exact: true }).fill('Call the depot');
    await page.getByRole('region', { name: 'New command' }).getByRole('button', { name: 'Send' }).click();
    const tray = page.getByRole('button', { name: /^Activity/ });
    await tray.getByText('1').waitFor();
    await page.getByRole('link', { name: 'Map', exact: true }).click();
    await tray.getByText('1').waitFor();
    await page.reload();
    await tray.click();
    const panel = page.getByRole('dialog', { name: 'Activity' });
    await panel.getByText('Queued').waitFor();
    await panel.getByRole('link', { name: 'Text to the driver, KL07EV0005' }).waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await takePictures(page, 'activity');
    await harness.startTerminal({ phone: imei, reportIntervalMs: 1_000 });
    await panel.getByText(/^Acknowledged/).waitFor();
    await page.keyboard.press('Escape');
    await panel.waitFor({ state: 'detached' });
    await waitForAssertion(async () => expect(await tray.innerText()).not.toContain('1'));
  });
});
