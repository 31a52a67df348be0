import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  decodePictureHashes,
  decodeSound,
  findSentPart,
  hashSentPictures,
  measureToneShare,
  readSizes,
} from './testing/decode.ts';
import { type ProductHarness, startHarness } from './testing/harness.ts';
import { Viewer } from './testing/viewer.ts';

const idleStopMs = 2_000;
const success = { response_id: '0x9101', result: 'success' };

let harness: ProductHarness;

beforeAll(async () => {
  harness = await startHarness({ MEDIA_IDLE_STOP_MS: String(idleStopMs) });
}, 180_000);

afterAll(() => harness.stop(), 60_000);

const query = (terminal: SimulatedTerminal, more = ''): string => `imei=${terminal.phone}&channel=1${more}`;

const watch = (terminal: SimulatedTerminal, options?: { paused?: boolean; more?: string }): Viewer =>
  new Viewer(
    `${harness.product.runtime.base_url}/api/v1/realtime/stream.flv?${query(terminal, options?.more)}`,
    options,
  );

const startLive = async (terminal: SimulatedTerminal, more = ''): Promise<void> => {
  const response = await harness.get(`/realtime/start-stream?${query(terminal, more)}`);
  expect(response).toMatchObject({ status: 200, body: success });
};

describe('live video', () => {
  it('delivers the pictures that the camera encoded and its sound, from the response of start-stream on', async () => {
    const terminal = await harness.startTerminal();
    await startLive(terminal);
    const viewer = watch(terminal);
    await waitFor(() => viewer.pictures.length >= 60, 'four seconds of video');
    viewer.leave();
    expect(viewer.response?.headers['content-type']).toBe('video/x-flv');
    expect(viewer.header).toEqual({ video: true, audio: true });

    const clip = await terminal.options.clips?.(1, 'main');
    if (clip === undefined) throw new Error('the terminal has no camera');
    const pictures = await decodePictureHashes(viewer.bytes);
    expect(pictures.length).toBeGreaterThanOrEqual(60);
    expect(new Set(pictures).size).toBeGreaterThan(50);
    expect(pictures).toEqual(findSentPart(pictures, await hashSentPictures(terminal, clip)));

    const sound = await decodeSound(viewer.bytes);
    expect(sound.length).toBeGreaterThan(2 * 8000);
    expect(measureToneShare(sound, clip.spec.toneHz)).toBeGreaterThan(0.8);
    expect(measureToneShare(sound, clip.spec.toneHz * 2)).toBeLessThan(0.1);
  }, 60_000);

  it('plays AAC without ADTS at the rate and channels that the terminal reports', async () => {
    const terminal = await harness.startTerminal({
      video: { audio: 'aac-raw' },
      camera: { video: 'h264', audio: 'aac-raw' },
    });
    const clip = await terminal.options.clips?.(1, 'main');
    if (clip === undefined) throw new Error('the terminal has no camera');
    await startLive(terminal);
    const viewer = watch(terminal);
    await waitFor(() => viewer.pictures.length >= 45, 'three seconds of video');
    viewer.leave();
    expect(viewer.header).toEqual({ video: true, audio: true });
    const sound = await decodeSound(viewer.bytes);
    expect(sound.length).toBeGreaterThan(2 * 8000);
    expect(measureToneShare(sound, clip.spec.toneHz)).toBeGreaterThan(0.8);
    expect(terminal.receivedFrames(0x9003)).toHaveLength(1);
  }, 60_000);

  it('returns "already streaming" without a command to the camera', async () => {
    const terminal = await harness.startTerminal();
    await startLive(terminal);
    const viewer = watch(terminal);
    await waitFor(() => viewer.pictures.length > 0, 'a picture');
    await startLive(terminal);
    await Promise.all([startLive(terminal), startLive(terminal)]);
    expect(terminal.receivedFrames(0x9101)).toHaveLength(1);
    expect(terminal.cameras.records).toHaveLength(1);
    viewer.leave();
  }, 30_000);

  it('sends one command to the camera for ten parallel requests', async () => {
    const terminal = await harness.startTerminal();
    terminal.setBehaviour({ kind: 'slow', delayMs: 500 }, 0x9101);
    await Promise.all(Array.from({ length: 10 }, () => startLive(terminal)));
    expect(terminal.receivedFrames(0x9101)).toHaveLength(1);
  }, 30_000);

  it('serves three viewers from one stream, and a slow viewer does not delay the others', async () => {
    const terminal = await harness.startTerminal({ video: { bitrateKbps: 4_000, fps: 25, gop: 25 } });
    await startLive(terminal);
    const [first, second] = [watch(terminal), watch(terminal)];
    const slow = watch(terminal, { paused: true });
    await waitFor(() => first.pictures.length >= 250 && second.pictures.length >= 250, 'ten seconds of video for both');
    const getTimestamps = (viewer: Viewer): number[] => viewer.pictures.slice(50, 250).map((tag) => tag.timestampMs);
    for (const viewer of [first, second]) {
      const steps = getTimestamps(viewer).map((at, n, all) => (n === 0 ? 40 : at - (all[n - 1] ?? 0)));
      // No picture is missing: at 25 per second each follows the previous one after 40 ms.
      expect(Math.max(...steps)).toBeLessThanOrEqual(60);
    }
    const getBodies = (viewer: Viewer): string[] => viewer.pictures.map((tag) => tag.body.toString('base64'));
    const [one, other] = [getBodies(first), new Set(getBodies(second))];
    expect(one.slice(25, 250).every((body) => other.has(body))).toBe(true);
    // The slow viewer starts to read: its data begins with a key frame and is complete.
    slow.resume();
    await waitFor(() => slow.pictures.length > 0 || slow.ended !== undefined, 'a picture for the slow viewer');
    expect(slow.status).toBe(200);
    for (const viewer of [first, second, slow]) viewer.leave();
  }, 90_000);

  it('sends a late joiner a picture immediately, long before the next key frame', async () => {
    const terminal = await harness.startTerminal({ video: { gop: 150, seconds: 20 } });
    await startLive(terminal);
    const first = watch(terminal);
    await waitFor(() => first.pictures.length >= 30, 'two seconds of video');
    const [stream] = terminal.cameras.records;
    const keyFramesSent = (): number => stream?.sentVideoFrames.filter((frame) => frame.isKeyFrame).length ?? 0;
    const before = keyFramesSent();
    const late = watch(terminal);
    await waitFor(() => late.pictures.length > 0, 'a picture for the late joiner');
    expect(keyFramesSent()).toBe(before);
    expect(late.pictures[0]?.isKeyFrame).toBe(true);
    expect(late.pictures[0]?.timestampMs).toBeLessThan(1_000);
    first.leave();
    late.leave();
  }, 60_000);

  it('stops the camera when the last viewer disconnects', async () => {
    const terminal = await harness.startTerminal();
    await startLive(terminal);
    const viewer = watch(terminal);
    await waitFor(() => viewer.pictures.length > 0, 'a picture');
    expect(await harness.get(`/health/camera?${query(terminal)}`)).toMatchObject({
      status: 200,
      body: { healthy: true },
    });
    expect(terminal.receivedFrames(0x9102)).toHaveLength(0);
    viewer.leave();
    const stop = await terminal.waitForCommand(0x9102, () => true, idleStopMs + 10_000);
    // Channel 1, control 0 (stop), close type 0 (all), stream type 0: JT/T 1078-2016 table 18.
    expect(stop.body.toString('hex')).toBe('01000000');
    await waitFor(
      async () => (await harness.get(`/health/camera?${query(terminal)}`)).status === 503,
      'the channel to be free',
    );
    expect((await harness.get(`/realtime/stream.flv?${query(terminal)}`)).status).toBe(404);
    await waitFor(() => terminal.cameras.records[0]?.state === 'ended', 'the camera to have stopped');
  }, 60_000);

  it('closes the viewers and releases the channel when a client stops the stream', async () => {
    const terminal = await harness.startTerminal();
    await startLive(terminal);
    const viewer = watch(terminal);
    await waitFor(() => viewer.pictures.length > 0, 'a picture');
    const response = await harness.get(`/realtime/control-stream?${query(terminal, '&ctrl_instruction=0')}`);
    expect(response).toMatchObject({ status: 200, body: { response_id: '0x9102', result: 'success' } });
    await waitFor(() => viewer.ended !== undefined, 'the end of the response');
    // The viewers are closed before Redis is updated.
    await waitFor(
      async () => (await harness.get(`/health/camera?${query(terminal)}`)).status === 503,
      'the channel to be free',
    );
    expect((await harness.get(`/realtime/stream.flv?${query(terminal)}`)).status).toBe(404);
    // The stream can be started again immediately.
    await startLive(terminal);
    const again = watch(terminal);
    await waitFor(() => again.pictures.length > 0, 'a picture of the second stream');
    again.leave();
  }, 60_000);

  it('switches to the sub stream: the same viewer receives the new size', async () => {
    const terminal = await harness.startTerminal();
    await startLive(terminal);
    const viewer = watch(terminal);
    await waitFor(() => viewer.pictures.length > 0, 'a picture');
    await harness.get(`/realtime/control-stream?${query(terminal, '&ctrl_instruction=1&stream_type=1')}`);
    const headers = (): number => viewer.tags.filter((tag) => tag.type === 9 && tag.body[1] === 0).length;
    await waitFor(() => headers() >= 2, 'a second sequence header');
    viewer.leave();
    expect(terminal.receivedFrames(0x9102)).toHaveLength(1);
    expect(readSizes(viewer.tags)).toEqual(['640x360', '352x288']);
  }, 60_000);

  it('accepts a stream over UDP', async () => {
    const terminal = await harness.startTerminal();
    const udpPort = harness.product.runtime.jt1078.live_port;
    await startLive(terminal, `&tcp_port=0&udp_port=${udpPort}`);
    const viewer = watch(terminal);
    await waitFor(() => viewer.pictures.length >= 30, 'pictures');
    viewer.leave();
    expect(terminal.cameras.records[0]?.protocol).toBe('udp');
    const clip = await terminal.options.clips?.(1, 'main');
    if (clip === undefined) throw new Error('the terminal has no camera');
    const pictures = await decodePictureHashes(viewer.bytes);
    expect(pictures).toEqual(findSentPart(pictures, await hashSentPictures(terminal, clip)));
  }, 60_000);

  it.each([
    ['2011', 12, 'g711u'],
    ['2013', 12, 'adpcm'],
    ['2019', 20, 'g726'],
    ['2019', 20, 'aac'],
  ] as const)(
    'plays a terminal of edition %s with %d digits and %s sound',
    async (edition, digits, audio) => {
      const phone = digits === 20 ? `00000000${String(Date.now()).slice(-12)}` : undefined;
      const terminal = await harness.startTerminal({
        edition,
        video: { audio },
        ...(phone === undefined ? {} : { phone }),
      });
      await startLive(terminal);
      const viewer = watch(terminal);
      await waitFor(() => viewer.pictures.length >= 30 && viewer.sounds.length >= 20, 'pictures and sound');
      viewer.leave();
      const clip = await terminal.options.clips?.(1, 'main');
      expect(measureToneShare(await decodeSound(viewer.bytes), clip?.spec.toneHz ?? 0)).toBeGreaterThan(0.6);
    },
    60_000,
  );

  it('finds a device by both spellings of its number', async () => {
    const terminal = await harness.startTerminal({ edition: '2013' });
    const long = terminal.phone.padStart(20, '0');
    expect(await harness.get(`/health/device?imei=${long}`)).toMatchObject({ status: 200, body: { healthy: true } });
    expect(await harness.get(`/wakeup?imei=${long}`)).toMatchObject({ status: 200, body: { result: 'success' } });
  }, 30_000);

  it('reports a stream to another media server as streaming; its viewer gets 502, then 404 after 30 seconds', async () => {
    const terminal = await harness.startTerminal({ media: 'neverConnect' });
    await startLive(terminal, '&host=media.example&tcp_port=1078');
    expect(terminal.receivedFrames(0x9101)[0]?.body.includes(Buffer.from('media.example'))).toBe(true);
    expect((await harness.get(`/realtime/stream.flv?${query(terminal)}`)).status).toBe(502);
    await terminal.waitForCommand(0x9102, () => true, 45_000);
    expect((await harness.get(`/realtime/stream.flv?${query(terminal)}`)).status).toBe(404);
  }, 90_000);
});
