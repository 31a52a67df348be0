import { publish, type StreamChanged, streamChanged, streamStatusEvent, subscribe } from '@fleet/bus';
import { type AccessUnit } from '@fleet/jt1078/testing';
import { claimStream, readStream, type StreamId } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createTestCard, startStreaming, TcpCamera, TestCamera } from '../testing/camera.ts';
import { fakeGateway, type MediaHarness, randomImei, startHarness } from '../testing/harness.ts';
import { Player } from '../testing/player.ts';

jest.setTimeout(60_000);

describe('stream.changed events', () => {
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

  it('report the start, the media, the viewers and the end of a stream, each once', async () => {
    const id = await harness.requestStream({ dataType: 1 });
    const { request } = await readStream(harness.redis, id);
    const gateway = fakeGateway(harness.bus, id.imei);
    const camera = new TcpCamera(harness.service.livePort);
    const feed = startStreaming(camera, new TestCamera(id), card);
    await waitFor(() => eventsOf(id).some(({ video }) => video !== null), 'the picture size');
    const player = await Player.open(harness.streamUrl(id));
    await waitFor(() => eventsOf(id).some(({ viewers }) => viewers === 1), 'the viewer');
    player.close();
    await waitFor(() => eventsOf(id).some(({ status }) => status === 'stopped'), 'the end');
    feed.stop();
    camera.close();
    await gateway.stop();
    const [first, last] = [eventsOf(id)[0], eventsOf(id).at(-1)];
    expect(first).toMatchObject({ channel: id.channel, status: 'streaming', streamType: 0, viewers: 0 });
    // All events belong to the same request.
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

  it('report the end of a stream whose pod crashed, published by another pod', async () => {
    const id: StreamId = { kind: 'live', imei: randomImei(), channel: 5 };
    await claimStream(harness.redis, id, { podId: 'killed', url: 'http://127.0.0.1:1' }, { acceptUnsolicited: true });
    // Simulates the expiry after ten seconds.
    await harness.redis.del(`stream:live:{${id.imei}}:5`);
    await harness.redis.zAdd('streams:expiring', { score: Date.now() - 1, value: `live:${id.imei}:5` });
    await waitFor(() => eventsOf(id).length > 0, 'the end');
    expect(eventsOf(id)).toMatchObject([{ channel: 5, status: 'stopped', viewers: 0, startedAtMs: null }]);
    expect(await harness.redis.zScore('streams:expiring', `live:${id.imei}:5`)).toBeNull();
  });

  it('are published again after the claim was lost, as others may have reported the end', async () => {
    const id = await harness.requestStream({ dataType: 1 });
    const camera = new TcpCamera(harness.service.livePort);
    const feed = startStreaming(camera, new TestCamera(id), card);
    const player = await Player.open(harness.streamUrl(id));
    await waitFor(() => eventsOf(id).some(({ viewers, video }) => viewers === 1 && video !== null), 'the viewer');
    const serializeState = (change?: StreamChanged) => JSON.stringify({ ...change, atMs: 0, order: null });
    await waitFor(async () => {
      const [before, last] = eventsOf(id).slice(-2);
      if (serializeState(before) === serializeState(last)) return true;
      // Simulates a long failure to renew the claim.
      await harness.redis.del(`stream:live:{${id.imei}}:${id.channel}`);
      return false;
    }, 'the repeated event');
    expect(eventsOf(id).at(-1)).toMatchObject({ status: 'streaming', viewers: 1 });
    feed.stop();
    camera.close();
    player.close();
  });

  it('are published again after another pod has reported the end, which may arrive after the start', async () => {
    const id = await harness.requestStream({ dataType: 1 });
    const camera = new TcpCamera(harness.service.livePort);
    const feed = startStreaming(camera, new TestCamera(id), card);
    const player = await Player.open(harness.streamUrl(id));
    await waitFor(() => eventsOf(id).some(({ viewers, video }) => viewers === 1 && video !== null), 'the viewer');
    const order = { by: 'another', sequence: 1 };
    publish(harness.bus, streamChanged, { ...streamStatusEvent(id, 'stopped'), order });
    const isEnd = ({ status }: StreamChanged): boolean => status === 'stopped';
    await waitFor(() => eventsOf(id).some(isEnd) && eventsOf(id).at(-1)?.status === 'streaming', 'the repeated event');
    expect(eventsOf(id).at(-1)).toMatchObject({ status: 'streaming', viewers: 1 });
    feed.stop();
    camera.close();
    player.close();
  });

  it('are not published for recordings', async () => {
    const id = await harness.requestStream({ kind: 'history', dataType: 2 });
    const camera = new TcpCamera(harness.service.historyPort);
    const feed = startStreaming(camera, new TestCamera(id), card);
    const player = await Player.open(harness.streamUrl(id));
    await waitFor(() => player.video.length > 10, 'pictures');
    feed.stop();
    camera.close();
    await waitFor(async () => (await harness.findStream(id)) === undefined, 'the end of the stream');
    await harness.bus.nc.flush();
    expect(eventsOf(id)).toEqual([]);
    player.close();
  });
});
