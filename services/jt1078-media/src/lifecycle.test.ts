import { mediaControl, mediaControlSubject, publish } from '@fleet/bus';
import type { AccessUnit } from '@fleet/jt1078';
import type { StreamId } from '@fleet/storage';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestCard, startStreaming, TcpCamera, TestCamera } from './testing/camera.ts';
import { fakeGateway, type MediaHarness, startHarness, waitFor } from './testing/harness.ts';
import { fetchStatus, Player } from './testing/player.ts';

jest.setTimeout(60_000);

let harness: MediaHarness;
let card: AccessUnit[];
beforeAll(async () => {
  card = await createTestCard();
  // Longer than a busy machine pauses.
  harness = await startHarness({ MEDIA_IDLE_STOP_MS: '6000', MEDIA_DATA_TIMEOUT_MS: '5000' });
});
afterAll(() => harness.stop());

const publishControl = (id: StreamId, change: 'ended' | 'paused' | 'resumed' | 'restarted'): void =>
  publish(harness.bus, mediaControl, { ...id, change }, mediaControlSubject(harness.podId));

const readClaim = (id: StreamId) => harness.redis.get(`stream:${id.kind}:${id.imei}:${id.channel}`);

async function running(kind: 'live' | 'history' = 'live') {
  const id = await harness.requestStream({ kind, dataType: kind === 'live' ? 1 : 2 });
  const port = kind === 'live' ? harness.service.livePort : harness.service.historyPort;
  const camera = new TcpCamera(port);
  const testCamera = new TestCamera(id);
  const feed = startStreaming(camera, testCamera, card);
  await waitFor('the stream', () => harness.findStream(id));
  const close = (): void => {
    feed.stop();
    camera.close();
  };
  return { id, camera, voice: testCamera, feed, close };
}

describe('the idle stop', () => {
  it('tells the camera 0x9102 after the last viewer has left, closes it and gives up the claim', async () => {
    const { id, camera, feed } = await running();
    const gateway = fakeGateway(harness.bus, id.imei);
    await harness.bus.nc.flush();
    const player = await Player.open(harness.streamUrl(id));
    // Longer than the idle time: a watched stream goes on.
    const joinedAtMs = performance.now();
    await waitFor('a while', () => performance.now() - joinedAtMs > 7_000);
    const videoCountBefore = player.video.length;
    await waitFor('pictures', () => player.video.length > videoCountBefore + 20);
    expect(gateway.commands).toEqual([]);
    player.close();
    const leftAtMs = performance.now();
    await waitFor('the command', () => gateway.commands.length > 0);
    expect(performance.now() - leftAtMs).toBeGreaterThan(5_900);
    expect(gateway.commands[0]?.command).toEqual({
      kind: 'controlLive',
      channel: 1,
      control: 0,
      closeType: 0,
      streamType: 0,
    });
    await waitFor('the claim to be given up', async () => (await readClaim(id)) === null);
    // The terminal may close the connection by itself: it gets the time for it.
    expect(camera.isClosed).toBe(false);
    await waitFor('the connection to be closed', () => camera.isClosed);
    expect(await fetchStatus(harness.streamUrl(id))).toMatchObject({ status: 404 });
    expect(gateway.commands).toHaveLength(1);
    feed.stop();
    await gateway.stop();
  });

  it('does not come when a viewer joins again in time', async () => {
    const { id, close } = await running();
    const gateway = fakeGateway(harness.bus, id.imei);
    await harness.bus.nc.flush();
    const beganAtMs = performance.now();
    // Longer than the idle time, but never for as long without a viewer.
    while (performance.now() - beganAtMs < 8_000) {
      const player = await Player.open(harness.streamUrl(id));
      await waitFor('pictures', () => player.video.length > 20);
      player.close();
      const leftAtMs = performance.now();
      await waitFor('a moment', () => performance.now() - leftAtMs > 1_500);
    }
    expect(gateway.commands).toEqual([]);
    close();
    await gateway.stop();
  });

  it('ends a stream that nobody ever watched, and a recording by 0x9202', async () => {
    const live = await running();
    const recording = await running('history');
    const gateways = [live, recording].map(({ id }) => fakeGateway(harness.bus, id.imei));
    await waitFor('both commands', () => gateways.every(({ commands }) => commands.length === 1));
    expect(gateways[0]?.commands[0]?.command).toMatchObject({ kind: 'controlLive', control: 0 });
    expect(gateways[1]?.commands[0]?.command).toMatchObject({ kind: 'controlPlayback', control: 2, channel: 1 });
    for (const each of [live, recording]) each.feed.stop();
    for (const gateway of gateways) await gateway.stop();
  });
});

describe('a camera that said yes and did not come', () => {
  it('is told to stop once its first packet is overdue', async () => {
    const id = await harness.requestStream({ channel: 3 });
    const gateway = fakeGateway(harness.bus, id.imei);
    await harness.bus.nc.flush();
    // 30 seconds have passed.
    await harness.redis.zAdd('stream-requests:due', { score: Date.now() - 1, value: `live:${id.imei}:3` });
    await waitFor('the command', () => gateway.commands.length > 0);
    expect(gateway.commands[0]?.command).toMatchObject({ kind: 'controlLive', channel: 3, control: 0 });
    expect(await harness.redis.exists(`stream-request:live:${id.imei}:3`)).toBe(0);
    await gateway.stop();
  });
});

describe('what a partner does to a camera', () => {
  it('ended: finishes the responses, gives up the claim, closes the camera without telling it again', async () => {
    const { id, camera, feed } = await running();
    const gateway = fakeGateway(harness.bus, id.imei);
    const player = await Player.open(harness.streamUrl(id));
    await waitFor('pictures', () => player.video.length > 5);
    publishControl(id, 'ended');
    await waitFor('the end of the response', () => player.ending === 'complete');
    await waitFor('the connection to be closed', () => camera.isClosed);
    expect(await readClaim(id)).toBeNull();
    expect(gateway.commands).toEqual([]);
    feed.stop();
    await gateway.stop();
  });

  it('paused: no data is no fault, until it goes on', async () => {
    const { id, feed, camera } = await running();
    const player = await Player.open(harness.streamUrl(id));
    publishControl(id, 'paused');
    await waitFor('the pause', async () => (await harness.findStream(id))?.isPaused);
    feed.stop();
    const pausedAtMs = performance.now();
    // Twice the data time.
    await waitFor('a while', () => performance.now() - pausedAtMs > 10_000);
    expect(player.ending).toBeNull();
    publishControl(id, 'resumed');
    await waitFor('the end, as still nothing comes', () => player.ending === 'complete');
    expect(await readClaim(id)).toBeNull();
    camera.close();
  });

  it('restarted: a seek lets the clock go on', async () => {
    const { id, voice: testCamera, close } = await running('history');
    const player = await Player.open(harness.streamUrl(id));
    await waitFor('pictures', () => player.video.length > 30);
    publishControl(id, 'restarted');
    testCamera.timestampMs -= 500_000;
    const videoCountBefore = player.video.length;
    await waitFor('pictures after the seek', () => player.video.length > videoCountBefore + 50);
    const times = player.video.map((tag) => tag.timestampMs);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(times.at(-1)).toBeLessThan(60_000);
    player.close();
    close();
  });
});

describe('a stop of the service', () => {
  it('ends the responses, gives up the claims, tells the cameras and frees the ports', async () => {
    const ownHarness = await startHarness();
    const streamId = await ownHarness.requestStream();
    const gateway = fakeGateway(harness.bus, streamId.imei);
    await harness.bus.nc.flush();
    const camera = new TcpCamera(ownHarness.service.livePort);
    const feed = startStreaming(camera, new TestCamera(streamId), card, { sound: true });
    const player = await Player.open(ownHarness.streamUrl(streamId));
    await waitFor('sound', () => player.audio.length > 2);
    const { httpPort, livePort } = ownHarness.service;
    const { redis } = harness;
    await ownHarness.stop();
    await waitFor('the end of the response', () => player.ending === 'complete');
    await waitFor('the camera to be closed', () => camera.isClosed);
    expect(await redis.exists(`stream:live:${streamId.imei}:1`)).toBe(0);
    await waitFor('the stop command', () => gateway.commands.length > 0);
    expect(gateway.commands[0]?.command).toMatchObject({ kind: 'controlLive', control: 0 });
    for (const port of [httpPort, livePort])
      await expect(fetch(`http://127.0.0.1:${port}/livez`)).rejects.toThrow('fetch failed');
    feed.stop();
    await gateway.stop();
  });
});
