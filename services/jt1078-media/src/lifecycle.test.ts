import { mediaControl, mediaControlSubject, publish } from '@fleet/bus';
import { type AccessUnit } from '@fleet/jt1078/testing';
import type { StreamId, StreamRequest } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestCard, startStreaming, TcpCamera, TestCamera } from './testing/camera.ts';
import { fakeGateway, type MediaHarness, startHarness } from './testing/harness.ts';
import { fetchStatus, Player } from './testing/player.ts';

jest.setTimeout(60_000);

let harness: MediaHarness;
let card: AccessUnit[];
beforeAll(async () => {
  card = await createTestCard();
  // Longer than the stalls of a busy machine.
  harness = await startHarness({ MEDIA_IDLE_STOP_MS: '6000', MEDIA_DATA_TIMEOUT_MS: '5000' });
});
afterAll(() => harness.stop());

const publishControl = (id: StreamId, change: 'ended' | 'paused' | 'resumed' | 'restarted'): void =>
  publish(harness.bus, mediaControl, { ...id, change }, mediaControlSubject(harness.podId));

const readClaim = (id: StreamId) => harness.redis.get(`stream:${id.kind}:{${id.imei}}:${id.channel}`);

async function running(kind: 'live' | 'history' = 'live') {
  const id = await harness.requestStream({ kind, dataType: kind === 'live' ? 1 : 2 });
  const port = kind === 'live' ? harness.service.livePort : harness.service.historyPort;
  const camera = new TcpCamera(port);
  const testCamera = new TestCamera(id);
  const feed = startStreaming(camera, testCamera, card);
  await waitFor(() => harness.findStream(id), 'the stream');
  const close = (): void => {
    feed.stop();
    camera.close();
  };
  return { id, camera, voice: testCamera, feed, close };
}

describe('idle stop', () => {
  it('sends 0x9102 after the last viewer has left, closes the connection and releases the claim', async () => {
    const { id, camera, feed } = await running();
    const gateway = fakeGateway(harness.bus, id.imei);
    await harness.bus.nc.flush();
    const player = await Player.open(harness.streamUrl(id));
    // Longer than the idle timeout: a watched stream continues.
    const joinedAtMs = performance.now();
    await waitFor(() => performance.now() - joinedAtMs > 7_000, 'the idle timeout');
    const videoCountBefore = player.video.length;
    await waitFor(() => player.video.length > videoCountBefore + 20, 'pictures');
    expect(gateway.commands).toEqual([]);
    player.close();
    const leftAtMs = performance.now();
    await waitFor(() => gateway.commands.length > 0, 'the command');
    expect(performance.now() - leftAtMs).toBeGreaterThan(5_900);
    expect(gateway.commands[0]?.command).toEqual({
      kind: 'controlLive',
      channel: 1,
      control: 0,
      closeType: 0,
      streamType: 0,
    });
    await waitFor(async () => (await readClaim(id)) === null, 'the claim to be released');
    // The terminal gets time to close the connection by itself.
    expect(camera.isClosed).toBe(false);
    await waitFor(() => camera.isClosed, 'the connection to close');
    expect(await fetchStatus(harness.streamUrl(id))).toMatchObject({ status: 404 });
    expect(gateway.commands).toHaveLength(1);
    feed.stop();
    await gateway.stop();
  });

  it('is cancelled when a viewer joins in time', async () => {
    const { id, close } = await running();
    const gateway = fakeGateway(harness.bus, id.imei);
    await harness.bus.nc.flush();
    const beganAtMs = performance.now();
    // Longer than the idle timeout in total, but with shorter gaps between viewers.
    while (performance.now() - beganAtMs < 8_000) {
      const player = await Player.open(harness.streamUrl(id));
      await waitFor(() => player.video.length > 20, 'pictures');
      player.close();
      const leftAtMs = performance.now();
      await waitFor(() => performance.now() - leftAtMs > 1_500, 'the time between viewers');
    }
    expect(gateway.commands).toEqual([]);
    close();
    await gateway.stop();
  });

  it('ends a stream that was never watched, and a recording by 0x9202', async () => {
    const live = await running();
    const recording = await running('history');
    const gateways = [live, recording].map(({ id }) => fakeGateway(harness.bus, id.imei));
    await waitFor(() => gateways.every(({ commands }) => commands.length === 1), 'both commands');
    expect(gateways[0]?.commands[0]?.command).toMatchObject({ kind: 'controlLive', control: 0 });
    expect(gateways[1]?.commands[0]?.command).toMatchObject({ kind: 'controlPlayback', control: 2, channel: 1 });
    for (const each of [live, recording]) each.feed.stop();
    for (const gateway of gateways) await gateway.stop();
  });
});

describe('camera that acknowledged a request but did not connect', () => {
  it('receives a stop command once its first packet is overdue', async () => {
    const id = await harness.requestStream({ channel: 3 });
    const gateway = fakeGateway(harness.bus, id.imei);
    await harness.bus.nc.flush();
    // Simulates the end of the 30 seconds.
    const key = `stream-request:live:{${id.imei}}:3`;
    const request = JSON.parse((await harness.redis.get(key)) ?? '{}') as StreamRequest;
    await harness.redis.set(key, JSON.stringify({ ...request, firstPacketDueMs: Date.now() - 1 }));
    await harness.redis.zAdd('stream-requests:due', { score: Date.now() - 1, value: `live:${id.imei}:3` });
    await waitFor(() => gateway.commands.length > 0, 'the command');
    expect(gateway.commands[0]?.command).toMatchObject({ kind: 'controlLive', channel: 3, control: 0 });
    expect(await harness.redis.exists(key)).toBe(0);
    await gateway.stop();
  });
});

describe('media control event', () => {
  it('ended finishes the responses, releases the claim and closes the connection without a command', async () => {
    const { id, camera, feed } = await running();
    const gateway = fakeGateway(harness.bus, id.imei);
    const player = await Player.open(harness.streamUrl(id));
    await waitFor(() => player.video.length > 5, 'pictures');
    publishControl(id, 'ended');
    await waitFor(() => player.ending === 'complete', 'the end of the response');
    await waitFor(() => camera.isClosed, 'the connection to close');
    expect(await readClaim(id)).toBeNull();
    expect(gateway.commands).toEqual([]);
    feed.stop();
    await gateway.stop();
  });

  it('paused suspends the data timeout until resumed', async () => {
    const { id, feed, camera } = await running();
    const player = await Player.open(harness.streamUrl(id));
    publishControl(id, 'paused');
    await waitFor(async () => (await harness.findStream(id))?.isPaused, 'the pause');
    feed.stop();
    const pausedAtMs = performance.now();
    // Twice the data timeout.
    await waitFor(() => performance.now() - pausedAtMs > 10_000, 'twice the data timeout');
    expect(player.ending).toBeNull();
    publishControl(id, 'resumed');
    await waitFor(() => player.ending === 'complete', 'the end after the data timeout');
    expect(await readClaim(id)).toBeNull();
    camera.close();
  });

  it('restarted continues the clock after a seek', async () => {
    const { id, voice: testCamera, close } = await running('history');
    const player = await Player.open(harness.streamUrl(id));
    await waitFor(() => player.video.length > 30, 'pictures');
    publishControl(id, 'restarted');
    testCamera.timestampMs -= 500_000;
    const videoCountBefore = player.video.length;
    await waitFor(() => player.video.length > videoCountBefore + 50, 'pictures after the seek');
    const times = player.video.map((tag) => tag.timestampMs);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(times.at(-1)).toBeLessThan(60_000);
    player.close();
    close();
  });
});

describe('service shutdown', () => {
  it('ends the responses, releases the claims, stops the cameras and frees the ports', async () => {
    const ownHarness = await startHarness();
    const streamId = await ownHarness.requestStream();
    const gateway = fakeGateway(harness.bus, streamId.imei);
    await harness.bus.nc.flush();
    const camera = new TcpCamera(ownHarness.service.livePort);
    const feed = startStreaming(camera, new TestCamera(streamId), card, { sound: true });
    const player = await Player.open(ownHarness.streamUrl(streamId));
    await waitFor(() => player.audio.length > 2, 'audio');
    const { httpPort, livePort } = ownHarness.service;
    const { redis } = harness;
    await ownHarness.stop();
    await waitFor(() => player.ending === 'complete', 'the end of the response');
    await waitFor(() => camera.isClosed, 'the camera connection to close');
    expect(await redis.exists(`stream:live:{${streamId.imei}}:1`)).toBe(0);
    await waitFor(() => gateway.commands.length > 0, 'the stop command');
    expect(gateway.commands[0]?.command).toMatchObject({ kind: 'controlLive', control: 0 });
    for (const port of [httpPort, livePort])
      await expect(fetch(`http://127.0.0.1:${port}/livez`)).rejects.toThrow('fetch failed');
    feed.stop();
    await gateway.stop();
  });
});
