import { randomUUID } from 'node:crypto';
import { ServerProcess } from '@fleet/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { countStreamingChannels, readStream } from './read-streams.ts';
import { connectRedis, type Redis } from './redis.ts';
import {
  claimStream,
  popOrphanedStreams,
  readEndedStream,
  releaseStream,
  renewStreamClaim,
  streamTtlMs,
} from './stream-claims.ts';
import { completeMove, handOverStream, moveTimeoutMs, takeMovingStreams } from './stream-moves.ts';
import {
  acknowledgeStream,
  cancelStreamRequest,
  firstPacketTimeoutMs,
  popTimedOutStreams,
  renewStreamRequest,
  reserveStream,
} from './stream-requests.ts';
import type { StreamClaim, StreamId, StreamRequest } from './stream-state.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(30_000);

describe('stream state in Redis', () => {
  let server: ServerProcess;
  let redis: Redis;
  let other: Redis;
  const id: StreamId = { kind: 'live', imei: '13800138000', channel: 3 };
  const keys = { stream: 'stream:live:{13800138000}:3', request: 'stream-request:live:{13800138000}:3' };
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

  // All streams share the list of due requests, so this file has its own Redis.
  beforeAll(async () => {
    server = await (await ServerProcess.redis()).start();
    [redis, other] = await Promise.all([open(), open()]);
  });
  beforeEach(() => redis.flushAll());
  afterAll(async () => {
    await Promise.all([redis.close(), other.close()]);
    await server.remove();
  });

  /** Reserves and acknowledges a stream; returns the request. */
  async function acknowledged(stream: StreamId = id): Promise<StreamRequest> {
    const requested = request();
    expect(await reserveStream(redis, stream, requested)).toEqual({ state: 'reserved' });
    expect(await acknowledgeStream(redis, stream, requested.requestId)).toBe(true);
    return requested;
  }

  it('reserves for one of 50 concurrent callers and reports the request to the others', async () => {
    const requests = Array.from({ length: 50 }, () => request());
    const results = await Promise.all(
      requests.map((requested, i) => reserveStream(i % 2 === 0 ? redis : other, id, requested)),
    );
    const winners = requests.filter((_request, i) => results[i]?.state === 'reserved');
    expect(winners).toHaveLength(1);
    expect(results.filter(({ state }) => state === 'requested')).toHaveLength(49);
    expect(results.find(({ state }) => state === 'requested')).toEqual({ state: 'requested', request: winners[0] });
    expect(await readStream(redis, id)).toEqual({ claim: null, request: winners[0] });
  });

  it('separates live from history, and channels from each other', async () => {
    const streams: StreamId[] = [id, { ...id, kind: 'history' }, { ...id, channel: 4 }];
    for (const stream of streams) expect(await reserveStream(redis, stream, request())).toEqual({ state: 'reserved' });
    expect(await countStreamingChannels(redis, id.imei)).toBe(2);
    expect(await countStreamingChannels(redis, '13800138001')).toBe(0);
  });

  it('frees the channel of a dead requester soon, but not of a living one', async () => {
    const requested = request();
    await reserveStream(redis, id, requested);
    await redis.pExpire(keys.request, 2_000);
    expect(await renewStreamRequest(redis, id, requested.requestId)).toBe(true);
    expect(await redis.pTTL(keys.request)).toBeGreaterThan(5_000);
    expect(await redis.pTTL(keys.request)).toBeLessThanOrEqual(6_000);
    expect(await renewStreamRequest(redis, id, 'another')).toBe(false);
    await acknowledgeStream(redis, id, requested.requestId);
    expect(await renewStreamRequest(redis, id, requested.requestId)).toBe(false);
  });

  it('acknowledges only the current request', async () => {
    const requested = request();
    await reserveStream(redis, id, requested);
    expect(await acknowledgeStream(redis, id, 'another')).toBe(false);
    expect(await acknowledgeStream(redis, id, requested.requestId)).toBe(true);
    expect(await readStream(redis, id)).toMatchObject({
      claim: null,
      request: { ...requested, status: 'acknowledged' },
    });
    expect(await redis.pTTL(keys.request)).toBeGreaterThan(firstPacketTimeoutMs);
  });

  it('claims a requested stream; the request becomes part of the claim', async () => {
    const requested = await acknowledged();
    const claimed = await claimStream(redis, id, podA);
    expect(claimed).toMatchObject({
      previous: null,
      claim: { ...podA, request: { ...requested, status: 'acknowledged' } },
    });
    expect(await readStream(redis, id)).toEqual({ claim: claimed?.claim, request: null });
    expect(await redis.pTTL(keys.stream)).toBeLessThanOrEqual(streamTtlMs);
    expect(await reserveStream(redis, id, request())).toMatchObject({ state: 'streaming', claim: { podId: 'a' } });
    expect(await popTimedOutStreams(redis, overdueAt())).toEqual([]);
  });

  it('reports to the requester if the camera connected before the acknowledgement', async () => {
    const requested = request();
    await reserveStream(redis, id, requested);
    expect(await claimStream(redis, id, podA)).not.toBeNull();
    expect(await acknowledgeStream(redis, id, requested.requestId)).toBe(false);
    expect(await popTimedOutStreams(redis, overdueAt())).toEqual([]);
  });

  it('rejects a camera without a request, unless that is allowed', async () => {
    expect(await claimStream(redis, id, podA)).toBeNull();
    expect(await redis.exists([keys.stream, keys.request])).toBe(0);
    const claimed = await claimStream(redis, id, podA, { acceptUnsolicited: true });
    expect(claimed?.claim).toMatchObject({ ...podA, request: null });
  });

  it('lets a later claim win: the earlier pod can neither renew nor release it', async () => {
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

  it('keeps the last claim of a stream that has ended, for players that read its end', async () => {
    await acknowledged();
    const claimed = await claimStream(redis, id, podA);
    if (claimed === null) throw new Error('not claimed');
    expect(await readEndedStream(redis, id)).toBeNull();
    await releaseStream(redis, id, claimed.claim.generation);
    expect(await readEndedStream(redis, id)).toEqual(claimed.claim);
  });

  it('renews a claim and restores it after Redis was emptied', async () => {
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

  it('cancels a request for its creator, or the current one', async () => {
    const requested = await acknowledged();
    expect(await cancelStreamRequest(redis, id, 'another')).toBe(false);
    expect(await cancelStreamRequest(redis, id, requested.requestId)).toBe(true);
    expect(await cancelStreamRequest(redis, id)).toBe(false);
    await acknowledged();
    expect(await cancelStreamRequest(redis, id)).toBe(true);
    expect(await popTimedOutStreams(redis, overdueAt())).toEqual([]);
  });

  it('returns each timed-out stream to one of several callers, and none too early', async () => {
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

  it('does not return a stream that is requested again after an expired request', async () => {
    await acknowledged();
    await redis.del(keys.request);
    const restarted = request();
    await reserveStream(redis, id, restarted);
    expect(await popTimedOutStreams(redis, overdueAt())).toEqual([]);
    expect((await readStream(redis, id)).request).toEqual(restarted);
  });

  it('returns each stream of a dead pod to one of several callers, and none that is renewed or released', async () => {
    const streams = Array.from({ length: 20 }, (_unused, channel): StreamId => ({ ...id, channel }));
    const claims = new Map<number, StreamClaim>();
    for (const stream of streams) {
      const claimed = await claimStream(redis, stream, podA, { acceptUnsolicited: true });
      if (claimed === null) throw new Error('not claimed');
      claims.set(stream.channel, claimed.claim);
    }
    const getClaim = (channel: number): StreamClaim => {
      const claim = claims.get(channel);
      if (claim === undefined) throw new Error('not claimed');
      return claim;
    };
    // A caller whose clock is ahead receives no valid claim.
    const laterMs = Date.now() + streamTtlMs + 5_000;
    expect(await popOrphanedStreams(redis, laterMs)).toEqual([]);
    await releaseStream(redis, { ...id, channel: 0 }, getClaim(0).generation);
    const lapsed = streams.slice(1);
    for (const { channel } of lapsed) await redis.del(`stream:live:{13800138000}:${channel}`);
    expect(await renewStreamClaim(redis, { ...id, channel: 1 }, getClaim(1))).toBe('restored');
    await claimStream(redis, { ...id, channel: 2 }, podB, { acceptUnsolicited: true });
    const swept = await Promise.all(
      Array.from({ length: 6 }, (_unused, i) => popOrphanedStreams(i % 2 === 0 ? redis : other, laterMs)),
    );
    const channels = swept.flat().map(({ channel }) => channel);
    expect(channels.toSorted((a, b) => a - b)).toEqual(lapsed.slice(2).map(({ channel }) => channel));
    expect(await popOrphanedStreams(redis, laterMs)).toEqual([]);
  });

  describe('of a stopping pod', () => {
    const address = { server: 'media.example.com', tcpPort: 7078, udpPort: 0 };
    const move = { fromPodId: 'a', hls: { sequence: 1_795_280_005, initIndex: 2, discontinuity: 1 } };

    /** Moves a stream that pod A has claimed; returns the request for the next pod. */
    async function handOver(stream: StreamId = id): Promise<StreamRequest> {
      const requested = request({ address });
      await reserveStream(redis, stream, requested);
      const claimed = await claimStream(redis, stream, podA);
      if (claimed === null) throw new Error('not claimed');
      const next = { ...requested, requestId: randomUUID(), status: 'acknowledged', move } as const;
      expect(await handOverStream(redis, stream, claimed.claim, next)).toBe(true);
      return next;
    }

    it('becomes a request, with which another pod may claim it', async () => {
      const next = await handOver();
      expect(await readStream(redis, id)).toMatchObject({ claim: null, request: next });
      expect(await readEndedStream(redis, id)).toMatchObject(podA);
      expect(await popOrphanedStreams(redis, Date.now() + 60_000)).toEqual([]);
      const claimed = await claimStream(redis, id, podB);
      expect(claimed?.claim).toMatchObject({ ...podB, request: next });
      expect(await takeMovingStreams(redis)).toEqual([]);
      expect(await redis.zCard('streams:moving')).toBe(0);
    });

    it('is returned to one of several callers, again if that fails, and never after its move', async () => {
      const streams = Array.from({ length: 10 }, (_unused, channel): StreamId => ({ ...id, channel }));
      const requests = await Promise.all(streams.map(handOver));
      const taken = (await Promise.all([redis, other, redis].map((client) => takeMovingStreams(client)))).flat();
      expect(taken.toSorted((a, b) => a.id.channel - b.id.channel)).toMatchObject(
        streams.map((stream, index) => ({ id: stream, request: requests[index] })),
      );
      expect(await takeMovingStreams(redis)).toEqual([]);
      await completeMove(redis, id);
      const again = await takeMovingStreams(redis, Date.now() + 16_000);
      expect(again).toHaveLength(9);
      expect(again.map(({ id: { channel } }) => channel)).not.toContain(id.channel);
    });

    it('ends without a camera after the time limit', async () => {
      await handOver();
      expect(await popTimedOutStreams(redis, Date.now() + moveTimeoutMs - 5_000)).toEqual([]);
      expect(await popTimedOutStreams(redis, Date.now() + moveTimeoutMs + 1_000)).toEqual([id]);
      expect(await takeMovingStreams(redis)).toEqual([]);
    });

    it('stays with a pod that has taken it over', async () => {
      await reserveStream(redis, id, request({ address }));
      const first = await claimStream(redis, id, podA);
      await claimStream(redis, id, podB);
      if (first === null) throw new Error('not claimed');
      expect(await handOverStream(redis, id, first.claim, request({ move }))).toBe(false);
      expect((await readStream(redis, id)).claim).toMatchObject(podB);
    });
  });
});
