import { joinSamples } from '@fleet/terminal-simulator';
import { waitFor, waitForAssertion } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { DashboardBrowser, findAccessibilityFaults, logIn, pageTimeoutMs } from './testing/dashboard-browser.ts';
import { takePictures } from './testing/dashboard-pictures.ts';
import { type Dashcam, Dashcams } from './testing/dashcams.ts';
import { type ProductHarness, shortWaitSettings, startHarness, uniquePhone } from './testing/harness.ts';
import { Talker } from './testing/talker.ts';

// A browser with software rendering on a busy machine.
jest.setTimeout(600_000);

/** A microphone that beeps, without a question to the user. */
const fakeMicrophone = ['--use-fake-device-for-media-stream', '--use-fake-ui-for-media-stream'];
/** Small pictures: the browser decodes them without hardware. */
const smallVideo = { video: { width: 320, height: 240, fps: 10, gop: 10 } };

let harness: ProductHarness;
let dashcams: Dashcams;
let browser: DashboardBrowser;
let page: Page;
let camera: Dashcam;

beforeAll(async () => {
  harness = await startHarness({ ...shortWaitSettings, FIRST_PACKET_WAIT_MS: '15000' });
  dashcams = await Dashcams.open(harness);
  camera = await dashcams.create({ name: 'Van 1', channels: twoCameras }, smallVideo);
  browser = await DashboardBrowser.open(harness, { args: fakeMicrophone });
  page = await browser.newPage('/');
  await logIn(page, harness.product.runtime.demo);
}, 240_000);

afterAll(async () => {
  await browser?.close();
  await harness?.stop();
}, 90_000);

/** Fails a test whose page had an error, even if the test saw what it waited for. */
const expectNoFaults = (): void => expect(browser.faults.splice(0)).toEqual([]);
afterEach(expectNoFaults);

const twoCameras = [
  { channel_id: 1, name: 'Front', has_audio: true },
  { channel_id: 2, name: 'Driver', has_audio: true },
];

/** Script that makes the browser refuse one audio track, as Chromium does once it has got pictures. */
const refuseOneAudioBuffer = `(() => {
  globalThis.refusedAudioBuffers = 0;
  const { addSourceBuffer } = MediaSource.prototype;
  MediaSource.prototype.addSourceBuffer = function (type) {
    if (!type.startsWith('audio')) return addSourceBuffer.call(this, type);
    MediaSource.prototype.addSourceBuffer = addSourceBuffer;
    globalThis.refusedAudioBuffers += 1;
    throw new DOMException('There are pictures already.', 'QuotaExceededError');
  };
})()`;

/** Control and part of 0x9102 (JT/T 1078-2016 table 18): closes the audio. */
const [close, audioOnly] = [0, 1];

/** Opens the wall with cameras such as `7.1`. */
const openWall = (tiles: string, more = ''): Promise<unknown> =>
  page.goto(`${browser.baseUrl}/video?tiles=${tiles}${more}`);
const tileOf = (name: string): Locator => page.getByRole('region', { name });

interface Played {
  readonly time: number;
  readonly pictures: number;
  readonly width: number;
}

const readVideo = (tile: Locator): Promise<Played> =>
  tile.locator('> video').evaluate((element) => {
    const video = element as unknown as {
      currentTime: number;
      videoWidth: number;
      getVideoPlaybackQuality(): { totalVideoFrames: number };
    };
    const pictures = video.getVideoPlaybackQuality().totalVideoFrames;
    return { time: video.currentTime, pictures, width: video.videoWidth };
  });

/** Waits until the video advances by a second with new pictures. */
async function expectPlaying(tile: Locator): Promise<Played> {
  await tile.getByText(/stream · H264/).waitFor();
  const before = await readVideo(tile);
  return waitFor(
    async () => {
      const now = await readVideo(tile);
      return now.time > before.time + 1 && now.pictures > before.pictures ? now : undefined;
    },
    'a second of video',
    pageTimeoutMs,
  );
}

describe('a live tile', () => {
  it('plays with sound after a click, less than three seconds behind', async () => {
    await openWall(`${camera.vehicleId}.1`);
    const tile = tileOf('Van 1 · Front');
    await expectPlaying(tile);
    await tile.getByRole('button', { name: 'Turn sound on' }).click();
    await waitFor(
      () =>
        page.evaluate<boolean>(
          '(() => { const video = document.querySelector("video"); return !video.muted && video.webkitAudioDecodedByteCount > 0; })()',
        ),
      'sound',
    );
    await waitFor(
      async () => Number(/([\d.]+) s behind/.exec(await tile.innerText())?.[1] ?? Number.POSITIVE_INFINITY) < 3,
      'a delay below three seconds',
      pageTimeoutMs,
    );
    await page
      .getByRole('status', { name: 'Data use' })
      .getByText(/[1-9].*kB\/s/)
      .waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
  });

  it('takes a picture and records a clip, which appear in the tile', async () => {
    await openWall(`${camera.vehicleId}.1`);
    const tile = tileOf('Van 1 · Front');
    await expectPlaying(tile);
    await tile.getByRole('button', { name: 'Take a picture' }).click();
    const picture = page.getByRole('img', { name: 'The picture that was taken' });
    await picture.waitFor();
    await page.getByRole('dialog').getByRole('button', { name: 'Close' }).click();
    await tile.getByRole('button', { name: 'Record a clip' }).click();
    await page.getByLabel('Seconds, 1 to 30').fill('2');
    await page.getByRole('button', { name: 'Record', exact: true }).click();
    await page.getByLabel('The clip that was recorded').waitFor();
    const [newest] = await dashcams.client.listAll(`/vehicles/${camera.vehicleId}/list-dashcam-media?kind=video`);
    expect(newest).toMatchObject({ channel_id: 1, kind: 'video' });
  });

  it('keeps pictures and clips in the activity tray, on every page and after a reload', async () => {
    const tray = page.getByRole('dialog', { name: 'Activity' });
    const openTray = () => page.getByRole('button', { name: /^Activity/ }).click();
    await page.goto(`${browser.baseUrl}/vehicles`);
    await openTray();
    const captures = tray.getByRole('region', { name: 'Pictures and clips' });
    const picture = captures.getByRole('listitem').filter({ hasText: 'Picture, ' });
    await picture.getByText('Stored', { exact: true }).waitFor();
    await captures.getByRole('listitem').filter({ hasText: 'Clip, ' }).getByText('Stored', { exact: true }).waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await takePictures(page, 'activity');
    await captures.getByRole('button', { name: 'Clear pictures and clips' }).click();
    await tray.getByText('Nothing runs', { exact: false }).waitFor();
  });

  it('takes a refused picture again from the activity tray', async () => {
    browser.expectStatus(502);
    await openWall(`${camera.vehicleId}.1`);
    const tile = tileOf('Van 1 · Front');
    await expectPlaying(tile);
    const body = JSON.stringify({ status: 502, error: 'The camera refused.', code: 'upstream_error', request_id: 'r' });
    await page.route('**/dashcam-media-capture?*', (route) =>
      route.fulfill({ status: 502, contentType: 'application/json', body }),
    );
    await tile.getByRole('button', { name: 'Take a picture' }).click();
    await page.getByText('The camera refused.').first().waitFor();
    await page.unroute('**/dashcam-media-capture?*');
    await page.goto(`${browser.baseUrl}/vehicles`);
    await page.getByRole('button', { name: /^Activity/ }).click();
    const captures = page.getByRole('dialog', { name: 'Activity' }).getByRole('region', { name: 'Pictures and clips' });
    const picture = captures.getByRole('listitem').filter({ hasText: 'Picture, ' });
    await picture.getByText('Failed: The camera refused.').waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await picture.getByRole('button', { name: 'Retry' }).click();
    await picture.getByText('Stored', { exact: true }).waitFor();
    // The retry takes the place of the failure.
    expect(await captures.getByRole('listitem').count()).toBe(1);
    await captures.getByRole('button', { name: 'Clear pictures and clips' }).click();
  });

  it('switches to the main stream in focus, and back', async () => {
    await openWall(`${camera.vehicleId}.1,${camera.vehicleId}.2`);
    const tile = tileOf('Van 1 · Front');
    await expectPlaying(tile);
    await tile.getByRole('button', { name: 'Focus' }).click();
    await tile.getByText(/^Main stream/).waitFor();
    await expectPlaying(tile);
    await waitForAssertion(() =>
      expect(new URL(page.url()).searchParams.get('focus')).toContain(`${camera.vehicleId}.1`),
    );
    await takePictures(page, 'video-focus');
    await tile.getByRole('button', { name: 'Focus' }).click();
    await tile.getByText(/^Sub stream/).waitFor();
    await expectPlaying(tile);
  });

  it('connects again after the browser refused a part of the stream', async () => {
    await openWall(`${camera.vehicleId}.1,${camera.vehicleId}.2`);
    const tile = tileOf('Van 1 · Front');
    await expectPlaying(tile);
    await page.evaluate(refuseOneAudioBuffer);
    await tile.getByRole('button', { name: 'Focus' }).click();
    await tile.getByText(/^Main stream/).waitFor();
    await expectPlaying(tile);
    expect(await page.evaluate('refusedAudioBuffers')).toBe(1);
  });

  it('plays on when the camera stops sending sound, also for the next viewer', async () => {
    const opened = await dashcams.create({ name: 'Mute' }, smallVideo);
    await openWall(`${opened.vehicleId}.1`);
    const tile = tileOf('Mute · 1');
    const { time } = await expectPlaying(tile);
    await waitFor(() => opened.terminal.cameras.controlLive(1, close, audioOnly, 0), 'the end of the sound');
    // Longer than the browser's buffer.
    await waitFor(async () => (await readVideo(tile)).time > time + 8, 'eight seconds of video', pageTimeoutMs);
    await page.reload();
    expect((await expectPlaying(tile)).pictures).toBeGreaterThan(0);
  });

  it('says that a user stopped the stream, and resumes it', async () => {
    await openWall(`${camera.vehicleId}.1`);
    const tile = tileOf('Van 1 · Front');
    await expectPlaying(tile);
    const body = { channel_id: 1, force: true };
    await dashcams.client.requestData(`/vehicles/stop-dashcam-stream/${camera.vehicleId}`, body);
    await tile.getByText('A user stopped this stream').waitFor();
    await tile.getByRole('button', { name: 'Resume' }).click();
    expect((await expectPlaying(tile)).pictures).toBeGreaterThan(0);
  });
});

describe('a camera that does not play', () => {
  it('is woken first, with the steps of its start', async () => {
    const sleeper = await dashcams.create({ name: 'Sleeper' }, smallVideo);
    sleeper.terminal.setBehaviour({ kind: 'sleeping', wakeAfterMs: 3_000, catchesUp: true });
    await openWall(`${sleeper.vehicleId}.1`);
    const tile = tileOf('Sleeper · 1');
    await tile.getByText(/^Waking the camera 0:0\d, step 1 of 3/).waitFor();
    expect((await expectPlaying(tile)).pictures).toBeGreaterThan(0);
  });

  it('names the failed wake-up, and queues a command', async () => {
    browser.expectStatus(504);
    const sleeper = await dashcams.create({ name: 'Deep sleeper' }, smallVideo);
    sleeper.terminal.setBehaviour({ kind: 'sleeping' });
    await openWall(`${sleeper.vehicleId}.1`);
    const tile = tileOf('Deep sleeper · 1');
    await tile.getByText('No response to the wake-up').waitFor();
    await tile.getByRole('button', { name: 'Last picture' }).click();
    await tile.getByText('There is no stored picture of this camera.').waitFor();
    await takePictures(page, 'video-asleep');
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await tile.getByRole('link', { name: 'Queue a command' }).click();
    await page.waitForURL(/\/commands$/);
  });

  it('is refused with a reason, and plays after a retry', async () => {
    browser.expectStatus(502);
    const refusing = await dashcams.create({ name: 'Refusing' }, smallVideo);
    refusing.terminal.setBehaviour({ kind: 'refusing', result: 3 }, 0x9101);
    await openWall(`${refusing.vehicleId}.1`);
    const tile = tileOf('Refusing · 1');
    await tile.getByText('The camera refused', { exact: true }).waitFor();
    await tile.getByText(/unsupported/).waitFor();
    refusing.terminal.resetBehaviour(0x9101);
    await tile.getByRole('button', { name: 'Retry' }).click();
    expect((await expectPlaying(tile)).pictures).toBeGreaterThan(0);
  });

  it('is offline without a terminal, and while its terminal is gone', async () => {
    browser.expectStatus(404);
    const dying = await dashcams.create({ name: 'Dying' }, smallVideo);
    await openWall(`${dying.vehicleId}.1`);
    const tile = tileOf('Dying · 1');
    await expectPlaying(tile);
    await dying.terminal.stop();
    await tile.getByText(/Weak connection|Reconnecting/).waitFor();
    await tile.getByText(/The vehicle is offline|Offline since/).waitFor({ timeout: 2 * pageTimeoutMs });
    await waitForAssertion(async () =>
      expect(await tile.getByRole('button', { name: 'Retry' }).isVisible()).toBe(true),
    );
  });

  it('is not decoded if it sends H.265, and other browsers are named', async () => {
    const modern = await dashcams.create({ name: 'Modern' }, { video: { ...smallVideo.video, codec: 'h265' } });
    await openWall(`${modern.vehicleId}.1`);
    const tile = tileOf('Modern · 1');
    await tile.getByText('This browser cannot decode the video').waitFor();
    await tile.getByText(/^H\.265 plays in/).waitFor();
    await waitForAssertion(async () => expect(await tile.getByRole('button', { name: 'Retry' }).count()).toBe(0));
  });
});

describe('a saved wall', () => {
  it('is opened by its name, changed, renamed and deleted', async () => {
    await openWall(`${camera.vehicleId}.1`, '&layout=9');
    await page.getByRole('button', { name: 'Wall: not saved' }).click();
    await page.getByRole('menuitem', { name: 'Save as new wall' }).click();
    await page.locator('input:focus').fill('Morning');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('button', { name: 'Wall: Morning' }).waitFor();
    await page.goto(`${browser.baseUrl}/video?wall=Morning`);
    await expectPlaying(tileOf('Van 1 · Front'));
    await waitForAssertion(async () => expect(await page.getByRole('radio', { name: '9' }).isChecked()).toBe(true));
    await page.getByRole('button', { name: 'Van 1, camera 2 Driver' }).click();
    await page.getByRole('button', { name: 'Wall: Morning *' }).click();
    await page.getByRole('menuitem', { name: 'Save “Morning”' }).click();
    await page.getByRole('button', { name: 'Wall: Morning', exact: true }).click();
    await page.getByRole('menuitem', { name: 'Rename the wall' }).click();
    await page.locator('input:focus').fill('Evening');
    await page.getByRole('button', { name: 'Save', exact: true }).click();
    await page.getByRole('button', { name: 'Wall: Evening' }).waitFor();
    const { dashboard } = await dashcams.client.requestData('/user-preferences/me');
    const tiles = `${camera.vehicleId}.1,${camera.vehicleId}.2`;
    expect(dashboard).toMatchObject({ walls: [{ name: 'Evening', layout: 9, tiles }] });
    await page.getByRole('button', { name: 'Wall: Evening' }).click();
    await page.getByRole('menuitem', { name: 'Delete the wall' }).click();
    await page.getByRole('button', { name: 'Wall: not saved' }).waitFor();
    expect((await dashcams.client.requestData('/user-preferences/me'))['dashboard']).toMatchObject({ walls: [] });
  });
});

describe('talk', () => {
  const findTalk = () => camera.terminal.cameras.records.findLast(({ kind }) => kind === 'talk');
  const receivedVoice = (): Int16Array => joinSamples(findTalk()?.receivedFrames.map(({ pcm }) => pcm) ?? []);

  it('carries the microphone while the button is held', async () => {
    await openWall(`${camera.vehicleId}.1`);
    const tile = tileOf('Van 1 · Front');
    await expectPlaying(tile);
    await tile.hover();
    const button = tile.getByRole('button', { name: 'Hold to talk' });
    await button.hover();
    await page.mouse.down();
    await tile.getByText(/^Talking 0:/).waitFor();
    // The beep of the fake microphone is loud for a part of each second.
    await waitFor(() => receivedVoice().some((sample) => Math.abs(sample) > 2_000), 'the beep', pageTimeoutMs);
    await takePictures(page, 'video-talk');
    await page.mouse.up();
    await tile.getByText(/^Listening/).waitFor();
    await tile.getByRole('button', { name: 'End the talk' }).click();
    await waitFor(() => findTalk()?.state === 'ended', 'the end of the talk');
    expect(findTalk()?.state).toBe('ended');
  });

  it('is busy while another user talks, whom a manager replaces', async () => {
    browser.expectStatus(409);
    const talkUrl = `${harness.product.runtime.video_url.replace(/^http/, 'ws')}/${camera.imei}/1/talk`;
    const talker = await Talker.open(talkUrl);
    await openWall(`${camera.vehicleId}.1`);
    const tile = tileOf('Van 1 · Front');
    await expectPlaying(tile);
    // The console reports the refused websocket.
    const before = browser.faults.length;
    await tile.getByRole('button', { name: 'Hold to talk' }).click({ delay: 300 });
    await tile.getByText('Another user talks to this driver').waitFor();
    const refusals = browser.faults.splice(before);
    expect(refusals.every((fault) => /WebSocket.*409/.test(fault))).toBe(true);
    await tile.getByRole('button', { name: 'Take over' }).click();
    await tile.getByText(/^Listening/).waitFor();
    await waitFor(() => talker.closeCode !== null, 'the end of the other talk');
    expect(talker.closeCode).toBe(4409);
    await tile.getByRole('button', { name: 'End the talk' }).click();
  });
});

describe('the video wall of a viewer', () => {
  it('is not shown without the right to see video', async () => {
    const email = `viewer-${uniquePhone()}@example.com`;
    const password = 'a long password 1';
    await dashcams.client.requestData('/users', { email, password, name: 'Viewer', role: 'viewer' });
    const other = await DashboardBrowser.open(harness);
    const visitor = await other.newPage('/');
    await logIn(visitor, { email, password });
    await visitor.goto(`${other.baseUrl}/video`);
    await visitor.getByText('Your role cannot open this page').waitFor();
    expect(other.faults).toEqual([]);
    await other.close();
  });
});
