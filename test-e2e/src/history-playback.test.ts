import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ProductHarness, startHarness } from './testing/harness.ts';
import { editions, expectSmooth, formatTimeParameter, getSteps, Playback } from './testing/playback.ts';
import { Viewer } from './testing/viewer.ts';

const success = { status: 200, body: { response_id: '0x9201', result: 'success' } };
const controlled = { status: 200, body: { response_id: '0x9202', result: 'success' } };
/** A recording over UDP ends after this time without data. */
const dataTimeoutMs = 4_000;
/** The clock of the stream follows the arrival of pictures, which a busy machine delays. */
const busyMs = 4_000;

let harness: ProductHarness;

beforeAll(async () => {
  harness = await startHarness({ MEDIA_DATA_TIMEOUT_MS: String(dataTimeoutMs), FIRST_PACKET_WAIT_MS: '3000' });
}, 180_000);

afterAll(() => harness.stop(), 60_000);

const waitForPictures = (viewer: Viewer, count: number): Promise<unknown> =>
  waitFor(() => viewer.pictures.length >= count, `${count} pictures`);

describe('playback of a recording', () => {
  it.each(editions.flatMap((edition) => (['list', 'general', 'both'] as const).map((by) => [...edition, by] as const)))(
    'of a terminal of edition %s with %i digits that replies by %s plays to its end, picture by picture',
    async (edition, digits, playbackResponse) => {
      const playback = await Playback.create(harness, 3, { edition, digits, playbackResponse });
      expect(await playback.fetchFlvStatus()).toBe(404);
      expect(await playback.start()).toMatchObject(success);
      const viewer = playback.watch();
      await waitForPictures(viewer, 5);
      // A second start changes nothing, whatever its parameters.
      expect(await playback.start('&playback_mode=2&fast_forward_rewind_times=5')).toMatchObject(success);
      expect(playback.terminal.receivedFrames(0x9201)).toHaveLength(1);
      await playback.expectEnd(viewer);
      expect(playback.stream.sentVideoFrames).toHaveLength(45);
      expect(playback.stream.endReason).toBe('endOfRecording');
      await playback.expectAllPictures(viewer);
      expectSmooth(viewer, 100);
      // The recording can be started again immediately.
      expect(await playback.start()).toMatchObject(success);
      expect(playback.terminal.receivedFrames(0x9201)).toHaveLength(2);
      await playback.expectEnd(playback.watch());
    },
    90_000,
  );

  it('contains the sound', async () => {
    const playback = await Playback.create(harness, 4);
    await playback.start();
    const viewer = playback.watch('');
    await playback.expectEnd(viewer);
    expect(viewer.header).toEqual({ video: true, audio: true });
    expect(viewer.sounds.length).toBeGreaterThan(15);
    await playback.expectAllPictures(viewer);
  }, 60_000);

  it('runs alongside live video of the same channel, and each ends independently', async () => {
    const playback = await Playback.create(harness, 120);
    const query = `imei=${playback.terminal.phone}&channel=1`;
    expect((await harness.get(`/realtime/start-stream?${query}`)).body).toEqual({
      response_id: '0x9101',
      result: 'success',
    });
    const live = new Viewer(`${harness.product.runtime.base_url}/api/v1/realtime/stream.flv?${query}&audio=none`);
    await waitForPictures(live, 10);
    await playback.start();
    const viewer = playback.watch();
    await waitForPictures(viewer, 10);
    const liveBefore = live.pictures.length;
    await waitForPictures(live, liveBefore + 10);
    expect(await playback.control(2)).toMatchObject(controlled);
    await playback.expectEnd(viewer);
    await waitForPictures(live, live.pictures.length + 10);
    expect(live.ended).toBeUndefined();
    await playback.start();
    const again = playback.watch();
    await waitForPictures(again, 5);
    await harness.get(`/realtime/control-stream?${query}&ctrl_instruction=0`);
    await waitFor(() => live.ended !== undefined, 'the end of live video');
    await waitForPictures(again, again.pictures.length + 10);
    await playback.control(2);
    await playback.expectEnd(again);
  }, 90_000);

  it('over UDP ends when the camera has sent nothing for a while', async () => {
    const playback = await Playback.create(harness, 3);
    const udpPort = harness.product.runtime.jt1078.history_port;
    expect(await playback.start(`&tcp_port=0&udp_port=${udpPort}`)).toMatchObject(success);
    const viewer = playback.watch();
    await playback.expectEnd(viewer);
    expect(playback.stream.protocol).toBe('udp');
    await playback.expectAllPictures(viewer);
  }, 60_000);

  it('to another media server counts as streaming and cannot be watched here', async () => {
    const playback = await Playback.create(harness, 3, { media: 'neverConnect' });
    expect(await playback.start('&host=media.example&tcp_port=1078')).toMatchObject(success);
    expect(playback.terminal.receivedFrames(0x9201)[0]?.body.includes(Buffer.from('media.example'))).toBe(true);
    expect(await playback.start()).toMatchObject(success);
    expect(playback.terminal.receivedFrames(0x9201)).toHaveLength(1);
    const viewer = playback.watch();
    await waitFor(() => viewer.status !== undefined, 'a response');
    expect(viewer.status).toBe(502);
    viewer.leave();
  }, 60_000);
});

describe('playback modes', () => {
  it.each([
    ['fast forward, 1x', '&playback_mode=1&fast_forward_rewind_times=1', 4, 60],
    ['fast forward, 2x', '&playback_mode=1&fast_forward_rewind_times=2', 6, 90],
    ['fast forward, 4x', '&playback_mode=1&fast_forward_rewind_times=3', 12, 180],
    ['fast forward, 8x', '&playback_mode=1&fast_forward_rewind_times=4', 20, 300],
    ['fast forward, 16x', '&playback_mode=1&fast_forward_rewind_times=5', 30, 450],
    ['keyframe rewind, 1x', '&playback_mode=2&fast_forward_rewind_times=1', 5, 5],
    ['keyframe rewind, 16x', '&playback_mode=2&fast_forward_rewind_times=5', 30, 30],
    ['keyframes', '&playback_mode=3', 5, 5],
    ['a single frame', '&playback_mode=4', 5, 1],
  ])(
    '%s: delivers every picture that the camera sends, in order, to a clean end',
    async (_what, mode, seconds, count) => {
      const playback = await Playback.create(harness, seconds);
      expect(await playback.start(mode)).toMatchObject(success);
      const viewer = playback.watch();
      await playback.expectEnd(viewer);
      expect(playback.stream.sentVideoFrames).toHaveLength(count);
      await playback.expectAllPictures(viewer);
      expect(getSteps(viewer).every((step) => step > 0 && step <= busyMs)).toBe(true);
    },
    90_000,
  );
});

describe('pausing a playback', () => {
  it('stops the pictures for longer than the data timeout, and continues without a gap', async () => {
    const playback = await Playback.create(harness, 10);
    await playback.start();
    const viewer = playback.watch();
    await waitForPictures(viewer, 20);
    expect(await playback.control(1)).toMatchObject(controlled);
    expect(playback.stream.state).toBe('paused');
    const pausedAtMs = performance.now();
    await waitFor(() => performance.now() - pausedAtMs > dataTimeoutMs + 2_000, 'a long silence');
    const before = viewer.pictures.length;
    expect(viewer.ended).toBeUndefined();
    expect(await playback.fetchFlvStatus()).toBe(200);
    expect(await playback.control(0)).toMatchObject(controlled);
    await waitForPictures(viewer, before + 10);
    await playback.expectEnd(viewer);
    await playback.expectAllPictures(viewer);
    expectSmooth(viewer, 150);
  }, 90_000);
});

describe('seeking in a playback', () => {
  it('moves forward and back without a gap or a lost picture', async () => {
    const playback = await Playback.create(harness, 3_600);
    await playback.start();
    const viewer = playback.watch();
    await waitForPictures(viewer, 20);
    for (const [seconds, tag] of [
      [1_800, 'far on'],
      [1_803, 'a little on'],
      [1_802, 'a little back'],
      [10, 'far back'],
    ] as const) {
      const before = viewer.pictures.length;
      expect(await playback.control(5, `&drag_playback_time=${formatTimeParameter(seconds)}`)).toMatchObject(
        controlled,
      );
      await waitFor(() => Math.abs(playback.position - seconds) < 8, `the position: ${tag}`);
      await waitForPictures(viewer, before + 25);
    }
    expect(await playback.control(2)).toMatchObject(controlled);
    await playback.expectEnd(viewer);
    await playback.expectAllPictures(viewer);
    expectSmooth(viewer, 250);
  }, 120_000);

  it('beyond the end stops the playback', async () => {
    const playback = await Playback.create(harness, 60);
    await playback.start();
    const viewer = playback.watch();
    await waitForPictures(viewer, 10);
    expect(await playback.control(5, `&drag_playback_time=${formatTimeParameter(3_600)}`)).toMatchObject(controlled);
    await playback.expectEnd(viewer);
  }, 60_000);

  it('without a time returns 400 and sends no command', async () => {
    const playback = await Playback.create(harness, 60);
    expect(await playback.control(5)).toMatchObject({
      status: 400,
      body: { status: 400, error: expect.stringContaining('drag_playback_time') },
    });
    expect(playback.terminal.receivedFrames(0x9202)).toEqual([]);
  }, 60_000);
});

describe('changing the playback speed', () => {
  it.each([
    ['fast forward', 3, '&fast_forward_rewind_times=4', 1],
    ['keyframe rewind', 4, '&fast_forward_rewind_times=4', -1],
    ['keyframes', 6, '', 1],
  ])(
    'by %s delivers the pictures as they arrive, and play restores the normal speed',
    async (_what, how, times, direction) => {
      const playback = await Playback.create(harness, 7_200);
      await playback.start();
      const viewer = playback.watch();
      await waitForPictures(viewer, 20);
      await playback.control(5, `&drag_playback_time=${formatTimeParameter(3_600)}`);
      await waitFor(() => Math.abs(playback.position - 3_600) < 5, 'the middle');
      expect(await playback.control(how, times)).toMatchObject(controlled);
      const from = viewer.pictures.length;
      const [startedMs, startedAt] = [performance.now(), playback.position];
      await waitFor(() => performance.now() - startedMs > 6_000, 'six seconds');
      const [tookMs, playedPictures] = [performance.now() - startedMs, viewer.pictures.slice(from)];
      expect((playback.position - startedAt) * direction).toBeGreaterThan(how === 6 ? 3 : 20);
      const spanMs = (playedPictures.at(-1)?.timestampMs ?? 0) - (playedPictures[0]?.timestampMs ?? 0);
      // The viewer's clock runs at real-time speed, not eight times as fast.
      expect(spanMs).toBeGreaterThan(0.5 * tookMs);
      expect(spanMs).toBeLessThan(1.5 * tookMs);

      expect(await playback.control(0)).toMatchObject(controlled);
      const normalFrom = viewer.pictures.length;
      await waitForPictures(viewer, normalFrom + 60);
      const normal = viewer.pictures.slice(-40);
      const normalMs = (normal.at(-1)?.timestampMs ?? 0) - (normal[0]?.timestampMs ?? 0);
      expect(normalMs).toBeGreaterThan(39 * 60);
      expect(normalMs).toBeLessThan(39 * 75);
      await playback.control(2);
      await playback.expectEnd(viewer);
      await playback.expectAllPictures(viewer);
      expectSmooth(viewer, busyMs);
    },
    120_000,
  );
});
