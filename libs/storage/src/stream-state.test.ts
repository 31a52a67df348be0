import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ServerProcess } from '../../service-kit/src/testing/server-process.ts';
import { connectRedis, type Redis } from './redis.ts';
import {
  acknowledgeStream,
  cancelStreamRequest,
  claimStream,
  countStreamingChannels,
  firstPacketTimeoutMs,
  popOrphanedStreams,
  popTimedOutStreams,
  readStream,
  releaseStream,
  renewStreamClaim,
  renewStreamRequest,
  reserveStream,
  type StreamClaim,
  type StreamId,
  type StreamRequest,
  streamTtlMs,
} from './stream-state.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(30_000);

describe('stream state in Redis', () => {
  let server: ServerProcess;
  let redis: Redis;
  let other: Redis;
  const id: StreamId = { kind: 'live', imei: '13800138000', channel: 3 };
  const keys = { stream: 'stream:live:13800138000:3', request: 'stream-request:live:13800138000:3' };
  const podA = { podId: 'a', url: 'http://127.0.0.1:1' };
  const podB = { podId: 'b', url: 'http://127.0.0.1:2' };
  const request = (more: Partial<StreamRequest> = {}): StreamRequest => ({
    requestId: randomUUID(),
    status: 'asking',
    dataType: 0,
    streamType: 1,
    isForeign: false,
    requestedAtMs: 1_795_280_005_889,
    correlationId: 'c',
    ...more,
  });
  const open = () =>
    connectRedis(`redis://127.0.0.1:${server.port}`, { name: 'stream-test', onError: () => undefined });
  const overdueAt = () => Date.now() + firstPacketTimeoutMs + 1_000;

  // The list of due requests is shared by all streams, so this file has a Redis of its own.
  beforeAll(async () => {
    server = await (await ServerProcess.redis()).start();
    [redis, other] = await Promise.all([open(), open()]);
  });
  beforeEach(() => redis.flushAll());
  afterAll(async () => {
    await Promise.all([redis.close(), other.close()]);
    await server.remove();
  });

  /** Reserves and acknowledges; answers the request. */
  async function acknowledged(stream: StreamId = id): Promise<StreamRequest> {
    const asked = request();
    expect(await reserveStream(redis, stream, asked)).toEqual({ state: 'reserved' });
    expect(await acknowledgeStream(redis, stream, asked.requestId)).toBe(true);
    return asked;
  }

  it('reserves for one of 50 at the same time; the others learn of it', async () => {
    const requests = Array.from({ length: 50 }, () => request());
    const results = await Promise.all(
      requests.map((asked, i) => reserveStream(i % 2 === 0 ? redis : other, id, asked)),
    );
    const winners = requests.filter((_asked, i) => results[i]?.state === 'reserved');
    expect(winners).toHaveLength(1);
    expect(results.filter(({ state }) => state === 'requested')).toHaveLength(49);
    expect(results.find(({ state }) => state === 'requested')).toEqual({ state: 'requested', request: winners[0] });
    expect(await readStream(redis, id)).toEqual({ claim: null, request: winners[0] });
  });

  it('keeps live and history of a channel, and channels, apart', async () => {
    const streams: StreamId[] = [id, { ...id, kind: 'history' }, { ...id, channel: 4 }];
    for (const stream of streams) expect(await reserveStream(redis, stream, request())).toEqual({ state: 'reserved' });
    expect(await countStreamingChannels(redis, id.imei)).toBe(2);
    expect(await countStreamingChannels(redis, '13800138001')).toBe(0);
  });

  it('frees the channel of an asker that died soon, while a living one keeps it', async () => {
    const asked = request();
    await reserveStream(redis, id, asked);
    await redis.pExpire(keys.request, 2_000);
    expect(await renewStreamRequest(redis, id, asked.requestId)).toBe(true);
    expect(await redis.pTTL(keys.request)).toBeGreaterThan(5_000);
    expect(await redis.pTTL(keys.request)).toBeLessThanOrEqual(10_000);
    expect(await renewStreamRequest(redis, id, 'another')).toBe(false);
    await acknowledgeStream(redis, id, asked.requestId);
    expect(await renewStreamRequest(redis, id, asked.requestId)).toBe(false);
  });

  it('acknowledges the request that stands, and no other', async () => {
    const asked = request();
    await reserveStream(redis, id, asked);
    expect(await acknowledgeStream(redis, id, 'another')).toBe(false);
    expect(await acknowledgeStream(redis, id, asked.requestId)).toBe(true);
    expect(await readStream(redis, id)).toEqual({ claim: null, request: { ...asked, status: 'acknowledged' } });
    expect(await redis.pTTL(keys.request)).toBeGreaterThan(firstPacketTimeoutMs);
  });

  it('claims what was asked for, and the request becomes part of the claim', async () => {
    const asked = await acknowledged();
    const claimed = await claimStream(redis, id, podA);
    expect(claimed).toMatchObject({
      previous: null,
      claim: { ...podA, request: { ...asked, status: 'acknowledged' } },
    });
    expect(await readStream(redis, id)).toEqual({ claim: claimed?.claim, request: null });
    expect(await redis.pTTL(keys.stream)).toBeLessThanOrEqual(streamTtlMs);
    expect(await reserveStream(redis, id, request())).toMatchObject({ state: 'streaming', claim: { podId: 'a' } });
    expect(await popTimedOutStreams(redis, overdueAt())).toEqual([]);
  });

  it('tells the asker when the camera was faster than its own acknowledgement', async () => {
    const asked = request();
    await reserveStream(redis, id, asked);
    expect(await claimStream(redis, id, podA)).not.toBeNull();
    expect(await acknowledgeStream(redis, id, asked.requestId)).toBe(false);
    expect(await popTimedOutStreams(redis, overdueAt())).toEqual([]);
  });

  it('refuses a camera that nobody asked, unless that is allowed', async () => {
    expect(await claimStream(redis, id, podA)).toBeNull();
    expect(await redis.exists([keys.stream, keys.request])).toBe(0);
    const claimed = await claimStream(redis, id, podA, { acceptUnsolicited: true });
    expect(claimed?.claim).toMatchObject({ ...podA, request: null });
  });

  it('lets a later claim win: the pod before can neither keep nor release it', async () => {
    await acknowledged();
    const first = await claimStream(redis, id, podA);
    const second = await claimStream(redis, id, podB);
    if (first === null || second === null) throw new Error('not claimed');
    expect(second.previous).toEqual(first.claim);
    expect(second.claim.generation).toBeGreaterThan(first.claim.generation);
    expect(second.claim.request).toEqual(first.claim.request);
    expect(await renewStreamClaim(redis, id, first.claim)).toBe('lost');
    expect(await releaseStream(redis, id, first.claim.generation)).toBe(false);
    expect((await readStream(redis, id)).claim).toEqual(second.claim);
    expect(await releaseStream(redis, id, second.claim.generation)).toBe(true);
    expect(await readStream(redis, id)).toEqual({ claim: null, request: null });
  });

  it('keeps a claim alive, and puts it back after Redis was emptied', async () => {
    await acknowledged();
    const claimed = await claimStream(redis, id, podA);
    if (claimed === null) throw new Error('not claimed');
    await redis.pExpire(keys.stream, 2_000);
    expect(await renewStreamClaim(redis, id, claimed.claim)).toBe('kept');
    expect(await redis.pTTL(keys.stream)).toBeGreaterThan(streamTtlMs / 2);
    await redis.flushAll();
    expect(await renewStreamClaim(redis, id, claimed.claim)).toBe('restored');
    expect((await readStream(redis, id)).claim).toEqual(claimed.claim);
  });

  it('drops a request for its maker, or whichever stands', async () => {
    const asked = await acknowledged();
    expect(await cancelStreamRequest(redis, id, 'another')).toBe(false);
    expect(await cancelStreamRequest(redis, id, asked.requestId)).toBe(true);
    expect(await cancelStreamRequest(redis, id)).toBe(false);
    await acknowledged();
    expect(await cancelStreamRequest(redis, id)).toBe(true);
    expect(await popTimedOutStreams(redis, overdueAt())).toEqual([]);
  });

  it('gives each overdue stream to one of several sweepers, and none before its time', async () => {
    const streams = Array.from({ length: 20 }, (_unused, channel): StreamId => ({ ...id, channel }));
    for (const stream of streams) await acknowledged(stream);
    expect(await popTimedOutStreams(redis)).toEqual([]);
    const swept = await Promise.all(
      Array.from({ length: 6 }, (_unused, i) => popTimedOutStreams(i % 2 === 0 ? redis : other, overdueAt())),
    );
    const channels = swept.flat().map(({ channel }) => channel);
    expect(channels.toSorted((a, b) => a - b)).toEqual(streams.map(({ channel }) => channel));
    expect(await readStream(redis, streams[0] ?? id)).toEqual({ claim: null, request: null });
  });

  it('does not take a stream that is being asked for anew, whose earlier request has run out', async () => {
    await acknowledged();
    await redis.del(keys.request);
    const anew = request();
    await reserveStream(redis, id, anew);
    expect(await popTimedOutStreams(redis, overdueAt())).toEqual([]);
    expect((await readStream(redis, id)).request).toEqual(anew);
  });

  it('gives each stream whose pod has died to one of several sweepers, and none that is renewed or given up', async () => {
    const streams = Array.from({ length: 20 }, (_unused, channel): StreamId => ({ ...id, channel }));
    const claims = new Map<number, StreamClaim>();
    for (const stream of streams) {
      const claimed = await claimStream(redis, stream, podA, { acceptUnsolicited: true });
      if (claimed === null) throw new Error('not claimed');
      claims.set(stream.channel, claimed.claim);
    }
    const claimOf = (channel: number): StreamClaim => {
      const claim = claims.get(channel);
      if (claim === undefined) throw new Error('not claimed');
      return claim;
    };
    // A sweeper's clock that is ahead takes nothing that holds.
    const laterMs = Date.now() + streamTtlMs + 5_000;
    expect(await popOrphanedStreams(redis, laterMs)).toEqual([]);
    await releaseStream(redis, { ...id, channel: 0 }, claimOf(0).generation);
    const lapsed = streams.slice(1);
    for (const { channel } of lapsed) await redis.del(`stream:live:13800138000:${channel}`);
    expect(await renewStreamClaim(redis, { ...id, channel: 1 }, claimOf(1))).toBe('restored');
    await claimStream(redis, { ...id, channel: 2 }, podB, { acceptUnsolicited: true });
    const swept = await Promise.all(
      Array.from({ length: 6 }, (_unused, i) => popOrphanedStreams(i % 2 === 0 ? redis : other, laterMs)),
    );
    const channels = swept.flat().map(({ channel }) => channel);
    expect(channels.toSorted((a, b) => a - b)).toEqual(lapsed.slice(2).map(({ channel }) => channel));
    expect(await popOrphanedStreams(redis, laterMs)).toEqual([]);
  });
});
