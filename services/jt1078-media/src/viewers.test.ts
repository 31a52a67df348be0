import { connect } from 'node:net';
import { type AccessUnit } from '@fleet/jt1078/testing';
import { signMediaPath } from '@fleet/service-kit';
import type { StreamId } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestCard, startStreaming, TcpCamera, TestCamera } from './testing/camera.ts';
import { type MediaHarness, randomImei, signingSecret, startHarness } from './testing/harness.ts';
import { decodeErrors, fetchStatus, isKeyFrame, Player } from './testing/player.ts';

jest.setTimeout(60_000);

let harness: MediaHarness;
let card: AccessUnit[];
beforeAll(async () => {
  card = await createTestCard();
  harness = await startHarness({
    MEDIA_LIVE_DROP_AFTER_MS: '600',
    MEDIA_LIVE_CLOSE_AFTER_MS: '20000',
    MEDIA_CORS_ORIGIN: 'https://dashboard.example',
  });
});
afterAll(() => harness.stop());

/** Starts a camera that streams the test card until it is closed. */
async function running(
  options: { dataType?: number; units?: AccessUnit[]; intervalMs?: number; sound?: boolean } = {},
) {
  const id = await harness.requestStream({ dataType: options.dataType ?? 0 });
  const camera = new TcpCamera(harness.service.livePort);
  const testCamera = new TestCamera(id);
  const feed = startStreaming(camera, testCamera, options.units ?? card, options);
  const close = (): void => {
    feed.stop();
    camera.close();
  };
  return { id, camera, voice: testCamera, feed, close };
}

describe('stream request', () => {
  it('requires an unexpired signature of that stream', async () => {
    const { id, close } = await running();
    const good = await Player.open(harness.streamUrl(id));
    good.close();
    const base = `http://127.0.0.1:${harness.service.httpPort}`;
    const plain = `${base}/live/${id.imei}_1.flv`;
    const foreign = new URL(harness.streamUrl({ ...id, channel: 2 })).search;
    const expired = signMediaPath(signingSecret, { ...id, baseUrl: base, lifetimeMs: -2_000 });
    expect(await fetchStatus(plain)).toMatchObject({ status: 401, body: { status: 401, error: expect.any(String) } });
    expect(await fetchStatus(plain + foreign)).toMatchObject({ status: 403, body: { status: 403 } });
    expect(await fetchStatus(expired)).toMatchObject({ status: 403, body: { error: 'The URL has expired.' } });
    expect(await fetchStatus(`${harness.streamUrl(id)}0`)).toMatchObject({ status: 403 });
    expect(await fetchStatus(`${base}/live/000_1.flv`)).toMatchObject({ status: 404 });
    expect(await fetchStatus(`${base}/live/abc_999.flv`)).toMatchObject({ status: 400 });
    expect(await fetchStatus(harness.streamUrl(id, { audio: 'loud' }))).toMatchObject({ status: 400 });
    close();
  });

  it('returns 404 for a channel that is not streaming', async () => {
    const id: StreamId = { kind: 'live', imei: randomImei(), channel: 1 };
    expect(await fetchStatus(harness.streamUrl(id))).toEqual({
      status: 404,
      body: { status: 404, error: 'The channel is not streaming here.' },
    });
  });

  it('returns 502 when the camera sends nothing to play', async () => {
    const hasty = await startHarness({ MEDIA_FIRST_FRAME_WAIT_MS: '1500' });
    const id = await hasty.requestStream();
    const camera = new TcpCamera(hasty.service.livePort);
    const testCamera = new TestCamera(id);
    // Pictures that depend on a missing key frame.
    for (const unit of card.slice(1, 20)) await camera.send(...testCamera.createVideoPackets(unit));
    expect(await fetchStatus(hasty.streamUrl(id))).toMatchObject({ status: 502, body: { status: 502 } });
    camera.close();
    await hasty.stop();
  });
});

describe('stream response', () => {
  it('has the headers of section 10 of the reference and stays open', async () => {
    const { id, close } = await running();
    const player = await Player.open(harness.streamUrl(id));
    expect(player.response.headers).toMatchObject({
      'content-type': 'video/x-flv',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'transfer-encoding': 'chunked',
      'access-control-allow-origin': 'https://dashboard.example',
    });
    player.close();
    close();
  });

  it('is unchunked for HTTP/1.0, and only a head for HEAD', async () => {
    const { id, close } = await running({ dataType: 1 });
    const { pathname, search } = new URL(harness.streamUrl(id));
    const socket = connect(harness.service.httpPort, '127.0.0.1');
    let text = '';
    socket.setEncoding('latin1').on('data', (part: string) => {
      text += part;
    });
    socket.write(`GET ${pathname}${search} HTTP/1.0\r\n\r\n`);
    await waitFor(() => text.length > 5_000, 'FLV');
    socket.destroy();
    expect(text).not.toMatch(/transfer-encoding/i);
    expect(text.slice(text.indexOf('\r\n\r\n') + 4)).toMatch(/^FLV/);
    const head = await fetch(harness.streamUrl(id), { method: 'HEAD' });
    expect(head.status).toBe(200);
    await waitFor(async () => (await harness.findStream(id))?.viewers === 0, 'both viewers to leave');
    close();
  });

  it('declares the requested tracks, and audio only once it has arrived', async () => {
    const pictures = await running({ dataType: 1, sound: true });
    const listening = await running({ dataType: 3, sound: true });
    const silent = await running();
    const [a, b, c] = await Promise.all(
      [pictures, listening, silent].map(({ id }) => Player.open(harness.streamUrl(id, { audio: 'copy' }))),
    );
    await waitFor(() => [a, b, c].every((player) => (player?.tags.length ?? 0) > 20), 'tags');
    expect(a?.header).toEqual({ video: true, audio: false });
    expect(a?.audio).toEqual([]);
    expect(b?.header).toEqual({ video: false, audio: true });
    expect(b?.video).toEqual([]);
    expect(c?.header).toEqual({ video: true, audio: false });
    for (const player of [a, b, c]) player?.close();
    for (const camera of [pictures, listening, silent]) camera.close();
  });
});

describe('joining viewer', () => {
  it('waits for a requested camera and misses nothing', async () => {
    const id = await harness.requestStream({ dataType: 1 });
    const opening = Player.open(harness.streamUrl(id));
    const camera = new TcpCamera(harness.service.livePort);
    const testCamera = new TestCamera(id);
    for (const unit of card.slice(0, 3)) await camera.send(...testCamera.createVideoPackets(unit));
    const player = await opening;
    await waitFor(() => player.video.length === 3, 'the first pictures');
    expect(player.video.map(isKeyFrame)).toEqual([true, false, false]);
    player.close();
    camera.close();
  });

  it('receives the cached pictures immediately, from the last key frame on, near time 0', async () => {
    const id = await harness.requestStream({ dataType: 1 });
    const camera = new TcpCamera(harness.service.livePort);
    const testCamera = new TestCamera(id);
    for (const unit of card.slice(0, 60)) {
      await camera.send(...testCamera.createVideoPackets(unit));
      testCamera.timestampMs += 40;
    }
    const early = await Player.open(harness.streamUrl(id));
    await waitFor(async () => (await harness.findStream(id))?.videoFrames === 60, 'all pictures');
    // The camera sends nothing more.
    const tookMs: number[] = [];
    const open = async (): Promise<Player> => {
      const requestedAtMs = performance.now();
      const player = await Player.open(harness.streamUrl(id));
      await waitFor(() => player.video.length === 10, 'the cached pictures');
      tookMs.push((player.arrivals[0] ?? Number.POSITIVE_INFINITY) - requestedAtMs);
      return player;
    };
    const [late, ...later] = [await open(), await open(), await open()] as const;
    // Best of three attempts, as a busy machine may delay any of them.
    expect(Math.min(...tookMs)).toBeLessThan(2_000);
    expect(late.video[0] !== undefined && isKeyFrame(late.video[0])).toBe(true);
    expect(late.tags.slice(0, 3).map((tag) => tag.timestampMs)).toEqual([0, 0, 0]);
    expect(late.video.map((tag) => tag.timestampMs)).toEqual([0, 40, 80, 120, 160, 200, 240, 280, 320, 360]);
    expect(await decodeErrors(late.flv)).toBe('');
    for (const player of [early, late, ...later]) player.close();
    camera.close();
  });
});

describe('slow viewer', () => {
  it('loses pictures up to a key frame, while other viewers receive all', async () => {
    const heavy = await createTestCard({ seconds: 2, size: '640x360', kbps: 16_000 });
    const { id, feed, close } = await running({ dataType: 1, units: heavy, intervalMs: 10 });
    const slow = await Player.open(harness.streamUrl(id));
    await waitFor(() => slow.video.length > 5, 'its first pictures');
    slow.response.pause();
    const fast = await Player.open(harness.streamUrl(id));
    await waitFor(async () => ((await harness.findStream(id))?.droppedTags ?? 0) > 60, 'dropped pictures');
    const fromMs = fast.video.at(-1)?.timestampMs ?? 0;
    slow.response.resume();
    await waitFor(() => hasGap(slow) && slow.video.length > 20, 'the slow viewer to continue');
    feed.stop();
    const timestamps = fast.video.map((tag) => tag.timestampMs);
    expect(timestamps.every((time, i) => i === 0 || time - (timestamps[i - 1] ?? 0) <= 41)).toBe(true);
    expect(timestamps.at(-1)).toBeGreaterThanOrEqual(fromMs);
    const gapAt = slow.video.findIndex(
      (tag, i) => i > 0 && tag.timestampMs - (slow.video[i - 1]?.timestampMs ?? 0) > 41,
    );
    const after = slow.video[gapAt];
    expect(after !== undefined && isKeyFrame(after)).toBe(true);
    for (const player of [slow, fast]) player.close();
    close();
  });
});

function hasGap(player: Player): boolean {
  const times = player.video.map((tag) => tag.timestampMs);
  return times.some((time, i) => i > 0 && time - (times[i - 1] ?? 0) > 41);
}
