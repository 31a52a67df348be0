import { announce, listenFor, notStreaming, type StreamChanged, streamChanged } from '@fleet/bus';
import type { AccessUnit } from '@fleet/jt1078';
import { claimStream, readStream, type StreamId } from '@fleet/storage';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { CameraVoice, stream, TcpCamera, testCard } from '../testing/camera.ts';
import { fakeGateway, randomImei, startWorld, type World, waitFor } from '../testing/harness.ts';
import { Player } from '../testing/player.ts';

jest.setTimeout(60_000);

describe('what is told of streams', () => {
  let world: World;
  let card: AccessUnit[];
  let ear: { stop(): void };
  const told: StreamChanged[] = [];

  beforeAll(async () => {
    card = await testCard();
    world = await startWorld({ MEDIA_IDLE_STOP_MS: '5000' });
    const onError = (error: unknown) => {
      throw error;
    };
    ear = listenFor(world.bus, streamChanged, onError, (change) => told.push(change));
    await world.bus.nc.flush();
  });
  afterAll(async () => {
    ear.stop();
    await world.stop();
  });

  const of = ({ imei }: StreamId): StreamChanged[] => told.filter((change) => change.imei === imei);

  it('is their beginning, what they are, who watches, and their end, each once', async () => {
    const id = await world.ask({ dataType: 1 });
    const { request } = await readStream(world.redis, id);
    const gateway = fakeGateway(world.bus, id.imei);
    const camera = new TcpCamera(world.service.livePort);
    const feed = stream(camera, new CameraVoice(id), card);
    await waitFor('the picture size', () => of(id).some(({ video }) => video !== null));
    const player = await Player.open(world.url(id));
    await waitFor('the viewer', () => of(id).some(({ viewers }) => viewers === 1));
    player.close();
    await waitFor('the end', () => of(id).some(({ status }) => status === 'stopped'));
    feed.stop();
    camera.close();
    await gateway.stop();
    const [first, last] = [of(id)[0], of(id).at(-1)];
    expect(first).toMatchObject({ channel: id.channel, status: 'streaming', streamType: 0, viewers: 0 });
    // All of it goes back to the same asking of the camera.
    expect([...new Set(of(id).map(({ startId }) => startId))]).toEqual([request?.requestId]);
    expect(first?.startedAtMs).toBeGreaterThan(Date.now() - 60_000);
    const { video } = last ?? {};
    expect(video).toMatchObject({ codec: 'h264', width: expect.any(Number), height: expect.any(Number) });
    expect(last).toMatchObject({ status: 'stopped', viewers: 0 });
    const texts = of(id).map((change) => JSON.stringify({ ...change, atMs: 0, order: null }));
    expect(texts.filter((text, at) => text === texts[at - 1])).toEqual([]);
    const orders = of(id).map(({ order }) => order);
    expect(new Set(orders.map((order) => order?.by)).size).toBe(1);
    const sequences = orders.map((order) => order?.sequence ?? 0);
    expect(sequences).toEqual([...new Set(sequences)].toSorted((a, b) => a - b));
  });

  it('is the end of a stream whose pod was killed, told by another', async () => {
    const id: StreamId = { kind: 'live', imei: randomImei(), channel: 5 };
    await claimStream(world.redis, id, { podId: 'killed', url: 'http://127.0.0.1:1' }, { acceptUnsolicited: true });
    // Ten seconds have passed.
    await world.redis.del(`stream:live:${id.imei}:5`);
    await world.redis.zAdd('streams:expiring', { score: Date.now() - 1, value: `live:${id.imei}:5` });
    await waitFor('the end', () => of(id).length > 0);
    expect(of(id)).toMatchObject([{ channel: 5, status: 'stopped', viewers: 0, startedAtMs: null }]);
    expect(await world.redis.zScore('streams:expiring', `live:${id.imei}:5`)).toBeNull();
  });

  it('is told again where others may have taken the stream for ended', async () => {
    const id = await world.ask({ dataType: 1 });
    const camera = new TcpCamera(world.service.livePort);
    const feed = stream(camera, new CameraVoice(id), card);
    const player = await Player.open(world.url(id));
    await waitFor('the viewer', () => of(id).some(({ viewers, video }) => viewers === 1 && video !== null));
    const stateOf = (change?: StreamChanged) => JSON.stringify({ ...change, atMs: 0, order: null });
    await waitFor('the repetition', async () => {
      const [before, last] = of(id).slice(-2);
      if (stateOf(before) === stateOf(last)) return true;
      // As if this pod had been unable to renew its claim for long.
      await world.redis.del(`stream:live:${id.imei}:${id.channel}`);
      return false;
    });
    expect(of(id).at(-1)).toMatchObject({ status: 'streaming', viewers: 1 });
    feed.stop();
    camera.close();
    player.close();
  });

  it('is told again where another pod has told its end, which may be told on behind its beginning', async () => {
    const id = await world.ask({ dataType: 1 });
    const camera = new TcpCamera(world.service.livePort);
    const feed = stream(camera, new CameraVoice(id), card);
    const player = await Player.open(world.url(id));
    await waitFor('the viewer', () => of(id).some(({ viewers, video }) => viewers === 1 && video !== null));
    const order = { by: 'another', sequence: 1 };
    announce(world.bus, streamChanged, { ...notStreaming(id, 'stopped'), order });
    const isEnd = ({ status }: StreamChanged): boolean => status === 'stopped';
    await waitFor('the repetition', () => of(id).some(isEnd) && of(id).at(-1)?.status === 'streaming');
    expect(of(id).at(-1)).toMatchObject({ status: 'streaming', viewers: 1 });
    feed.stop();
    camera.close();
    player.close();
  });

  it('is nothing of recordings', async () => {
    const id = await world.ask({ kind: 'history', dataType: 2 });
    const camera = new TcpCamera(world.service.historyPort);
    const feed = stream(camera, new CameraVoice(id), card);
    const player = await Player.open(world.url(id));
    await waitFor('pictures', () => player.video.length > 10);
    feed.stop();
    camera.close();
    await waitFor('its end', async () => (await world.find(id)) === undefined);
    await world.bus.nc.flush();
    expect(of(id)).toEqual([]);
    player.close();
  });
});
