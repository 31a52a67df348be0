import { publish, type StreamChanged, streamChanged, streamStatusEvent, subscribe } from '@fleet/bus';
import type { AccessUnit } from '@fleet/jt1078';
import { claimStream, readStream, type StreamId } from '@fleet/storage';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestCard, startStreaming, TcpCamera, TestCamera } from '../testing/camera.ts';
import { fakeGateway, type MediaHarness, randomImei, startHarness, waitFor } from '../testing/harness.ts';
import { Player } from '../testing/player.ts';

jest.setTimeout(60_000);

describe('what is told of streams', () => {
  let harness: MediaHarness;
  let card: AccessUnit[];
  let subscription: { stop(): void };
  const published: StreamChanged[] = [];

  beforeAll(async () => {
    card = await createTestCard();
    harness = await startHarness({ MEDIA_IDLE_STOP_MS: '5000' });
    const onError = (error: unknown) => {
      throw error;
    };
    subscription = subscribe(harness.bus, streamChanged, onError, (change) => published.push(change));
    await harness.bus.nc.flush();
  });
  afterAll(async () => {
    subscription.stop();
    await harness.stop();
  });

  const eventsOf = ({ imei }: StreamId): StreamChanged[] => published.filter((change) => change.imei === imei);

  it('is their beginning, what they are, who watches, and their end, each once', async () => {
    const id = await harness.requestStream({ dataType: 1 });
    const { request } = await readStream(harness.redis, id);
    const gateway = fakeGateway(harness.bus, id.imei);
    const camera = new TcpCamera(harness.service.livePort);
    const feed = startStreaming(camera, new TestCamera(id), card);
    await waitFor('the picture size', () => eventsOf(id).some(({ video }) => video !== null));
    const player = await Player.open(harness.streamUrl(id));
    await waitFor('the viewer', () => eventsOf(id).some(({ viewers }) => viewers === 1));
    player.close();
    await waitFor('the end', () => eventsOf(id).some(({ status }) => status === 'stopped'));
    feed.stop();
    camera.close();
    await gateway.stop();
    const [first, last] = [eventsOf(id)[0], eventsOf(id).at(-1)];
    expect(first).toMatchObject({ channel: id.channel, status: 'streaming', streamType: 0, viewers: 0 });
    // All of it goes back to the same asking of the camera.
    expect([...new Set(eventsOf(id).map(({ startId }) => startId))]).toEqual([request?.requestId]);
    expect(first?.startedAtMs).toBeGreaterThan(Date.now() - 60_000);
    const { video } = last ?? {};
    expect(video).toMatchObject({ codec: 'h264', width: expect.any(Number), height: expect.any(Number) });
    expect(last).toMatchObject({ status: 'stopped', viewers: 0 });
    const texts = eventsOf(id).map((change) => JSON.stringify({ ...change, atMs: 0, order: null }));
    expect(texts.filter((text, at) => text === texts[at - 1])).toEqual([]);
    const eventOrders = eventsOf(id).map(({ order }) => order);
    expect(new Set(eventOrders.map((order) => order?.by)).size).toBe(1);
    const sequences = eventOrders.map((order) => order?.sequence ?? 0);
    expect(sequences).toEqual([...new Set(sequences)].toSorted((a, b) => a - b));
  });

  it('is the end of a stream whose pod was killed, told by another', async () => {
    const id: StreamId = { kind: 'live', imei: randomImei(), channel: 5 };
    await claimStream(harness.redis, id, { podId: 'killed', url: 'http://127.0.0.1:1' }, { acceptUnsolicited: true });
    // Ten seconds have passed.
    await harness.redis.del(`stream:live:${id.imei}:5`);
    await harness.redis.zAdd('streams:expiring', { score: Date.now() - 1, value: `live:${id.imei}:5` });
    await waitFor('the end', () => eventsOf(id).length > 0);
    expect(eventsOf(id)).toMatchObject([{ channel: 5, status: 'stopped', viewers: 0, startedAtMs: null }]);
    expect(await harness.redis.zScore('streams:expiring', `live:${id.imei}:5`)).toBeNull();
  });

  it('is told again where others may have taken the stream for ended', async () => {
    const id = await harness.requestStream({ dataType: 1 });
    const camera = new TcpCamera(harness.service.livePort);
    const feed = startStreaming(camera, new TestCamera(id), card);
    const player = await Player.open(harness.streamUrl(id));
    await waitFor('the viewer', () => eventsOf(id).some(({ viewers, video }) => viewers === 1 && video !== null));
    const serializeState = (change?: StreamChanged) => JSON.stringify({ ...change, atMs: 0, order: null });
    await waitFor('the repetition', async () => {
      const [before, last] = eventsOf(id).slice(-2);
      if (serializeState(before) === serializeState(last)) return true;
      // As if this pod had been unable to renew its claim for long.
      await harness.redis.del(`stream:live:${id.imei}:${id.channel}`);
      return false;
    });
    expect(eventsOf(id).at(-1)).toMatchObject({ status: 'streaming', viewers: 1 });
    feed.stop();
    camera.close();
    player.close();
  });

  it('is told again where another pod has told its end, which may be told on behind its beginning', async () => {
    const id = await harness.requestStream({ dataType: 1 });
    const camera = new TcpCamera(harness.service.livePort);
    const feed = startStreaming(camera, new TestCamera(id), card);
    const player = await Player.open(harness.streamUrl(id));
    await waitFor('the viewer', () => eventsOf(id).some(({ viewers, video }) => viewers === 1 && video !== null));
    const order = { by: 'another', sequence: 1 };
    publish(harness.bus, streamChanged, { ...streamStatusEvent(id, 'stopped'), order });
    const isEnd = ({ status }: StreamChanged): boolean => status === 'stopped';
    await waitFor('the repetition', () => eventsOf(id).some(isEnd) && eventsOf(id).at(-1)?.status === 'streaming');
    expect(eventsOf(id).at(-1)).toMatchObject({ status: 'streaming', viewers: 1 });
    feed.stop();
    camera.close();
    player.close();
  });

  it('is nothing of recordings', async () => {
    const id = await harness.requestStream({ kind: 'history', dataType: 2 });
    const camera = new TcpCamera(harness.service.historyPort);
    const feed = startStreaming(camera, new TestCamera(id), card);
    const player = await Player.open(harness.streamUrl(id));
    await waitFor('pictures', () => player.video.length > 10);
    feed.stop();
    camera.close();
    await waitFor('its end', async () => (await harness.findStream(id)) === undefined);
    await harness.bus.nc.flush();
    expect(eventsOf(id)).toEqual([]);
    player.close();
  });
});
