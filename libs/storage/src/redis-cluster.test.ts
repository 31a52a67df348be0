import { randomUUID } from 'node:crypto';
import { RedisCluster, waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { claimDevice, heartbeatGateway, readDevices, releaseDevice } from './device-state.ts';
import { countStreamingChannels, readStream } from './read-streams.ts';
import { connectRedis, emptyRedis, isRedisEmpty, pingRedis, type Redis } from './redis.ts';
import { parseClusterUrl } from './redis-cluster.ts';
import { claimStream, popOrphanedStreams, releaseStream, renewStreamClaim, streamTtlMs } from './stream-claims.ts';
import { handOverStream, takeMovingStreams } from './stream-moves.ts';
import { acknowledgeStream, firstPacketTimeoutMs, popTimedOutStreams, reserveStream } from './stream-requests.ts';
import type { StreamId, StreamRequest } from './stream-state.ts';
import { readTerminalProfile, saveTerminalAudio } from './terminal-profile.ts';

// A failover of real servers on a machine that may be busy.
jest.setTimeout(240_000);

const timeoutMs = 120_000;

describe('a URL of a cluster', () => {
  it('names nodes, credentials and the encryption', () => {
    expect(parseClusterUrl('rediss+cluster://user:p%40ss@a:1,b')).toEqual({
      nodes: [
        { host: 'a', port: 1 },
        { host: 'b', port: 6_379 },
      ],
      credentials: { username: 'user', password: 'p@ss' },
      isEncrypted: true,
    });
    expect(parseClusterUrl('redis+cluster://a:1')).toMatchObject({ credentials: {}, isEncrypted: false });
  });

  it('is refused with a database, which clusters do not have', () => {
    expect(() => parseClusterUrl('redis+cluster://a:1/2')).toThrow('must be redis+cluster://');
  });

  it('is none of a single server', () => {
    expect(parseClusterUrl('redis://a:1')).toBeUndefined();
  });
});

describe('a Redis Cluster of three masters', () => {
  let servers: RedisCluster;
  let redis: Redis;
  let readyCount = 0;
  const errors: unknown[] = [];
  const imeis = Array.from({ length: 60 }, (_unused, index) => `1380013${String(index).padStart(4, '0')}`);
  const [imei = ''] = imeis;
  const owner = { podId: 'a', url: 'http://127.0.0.1:1' };
  const createRequest = (more: Partial<StreamRequest> = {}): StreamRequest => ({
    requestId: randomUUID(),
    status: 'asking',
    dataType: 0,
    streamType: 1,
    isForeign: false,
    requestedAtMs: Date.now(),
    correlationId: 'c',
    accountId: 1,
    ...more,
  });

  beforeAll(async () => {
    servers = await RedisCluster.start({ nodeTimeoutMs: 2_000 });
    redis = await connectRedis(servers.url, { name: 'cluster-test', onError: (error) => errors.push(error) });
    redis.on('ready', () => {
      readyCount += 1;
    });
  });
  afterAll(async () => {
    redis?.destroy();
    await servers?.remove();
  });

  it('stores sessions of terminals in all slots, and reads many at once', async () => {
    expect(await pingRedis(redis)).toBe(true);
    await heartbeatGateway(redis, owner.podId);
    for (const each of imeis)
      await claimDevice(redis, each, {
        sessionId: each,
        podId: owner.podId,
        phone: each,
        edition: '2019',
        onlineSinceMs: 1,
        lastSeenMs: 1,
        remoteAddress: '127.0.0.1',
      });
    expect([...(await readDevices(redis, imeis)).keys()]).toEqual(imeis);
    await releaseDevice(redis, imei, imei);
    expect((await readDevices(redis, imeis)).size).toBe(imeis.length - 1);
    await saveTerminalAudio(redis, imei, { codec: 6, sampleRate: 8_000, channels: 1 });
    expect((await readTerminalProfile(redis, imei)).audio).toMatchObject({ codec: 6 });
  });

  it('runs streams from their request to their end, with the limit of their account', async () => {
    const id: StreamId = { kind: 'live', imei, channel: 1 };
    const requested = createRequest();
    expect(await reserveStream(redis, id, requested, 1)).toEqual({ state: 'reserved' });
    expect(await reserveStream(redis, { ...id, imei: '13900000000' }, createRequest(), 1)).toEqual({ state: 'full' });
    expect(await acknowledgeStream(redis, id, requested.requestId)).toBe(true);
    const claimed = await claimStream(redis, id, owner);
    if (claimed === null) throw new Error('not claimed');
    expect(await renewStreamClaim(redis, id, claimed.claim)).toBe('kept');
    expect(await countStreamingChannels(redis, imei)).toBe(1);
    const move = { fromPodId: owner.podId };
    const next = createRequest({ status: 'acknowledged', move });
    expect(await handOverStream(redis, id, claimed.claim, next)).toBe(true);
    expect(await takeMovingStreams(redis)).toMatchObject([{ id, request: next }]);
    const moved = await claimStream(redis, id, { ...owner, podId: 'b' });
    expect(await releaseStream(redis, id, moved?.claim.generation ?? 0)).toBe(true);
    expect(await readStream(redis, id)).toEqual({ claim: null, request: null });
    expect(await reserveStream(redis, { ...id, imei: '13900000000' }, createRequest(), 1)).toEqual({
      state: 'reserved',
    });
  });

  it('finds streams without a camera, and streams of dead pods', async () => {
    const waiting: StreamId = { kind: 'live', imei, channel: 2 };
    const requested = createRequest({ accountId: 2 });
    await reserveStream(redis, waiting, requested);
    await acknowledgeStream(redis, waiting, requested.requestId);
    const orphan: StreamId = { kind: 'live', imei: imeis[1] ?? '', channel: 1 };
    await claimStream(redis, orphan, owner, { acceptUnsolicited: true });
    await redis.del(`stream:live:{${orphan.imei}}:1`);
    expect(await popTimedOutStreams(redis, Date.now() + firstPacketTimeoutMs + 1_000)).toEqual([waiting]);
    expect(await popOrphanedStreams(redis, Date.now() + streamTtlMs + 1_000)).toEqual([orphan]);
  });

  it('loses a master: its keys fail immediately, the others work, and its replica continues', async () => {
    const key = 'a';
    const keys = Array.from({ length: 30 }, (_unused, index) => `key-${index}`);
    for (const each of [key, ...keys]) await redis.set(each, 'kept');
    await servers.waitForReplicas();
    const { waitForFailover } = await servers.killMasterOf(key);
    await waitFor(() => !redis.isReady, 'the loss to be detected', timeoutMs);
    const startedAt = performance.now();
    const results = await Promise.allSettled(keys.map((each) => redis.get(each)));
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    expect(results.filter(({ status }) => status === 'fulfilled').length).toBeGreaterThan(0);
    await expect(redis.get(key)).rejects.toThrow(/offline|closed/i);
    expect(await pingRedis(redis)).toBe(false);
    await waitForFailover();
    await waitFor(() => pingRedis(redis), 'the successor', timeoutMs);
    expect(readyCount).toBe(1);
    expect(await Promise.all(keys.map((each) => redis.get(each)))).toEqual(keys.map(() => 'kept'));
    await redis.set(key, 'changed');
    expect(await redis.get(key)).toBe('changed');
  });

  it('replaces the connection to a master that does not respond', async () => {
    await servers.restart();
    await servers.waitForReplicas();
    await redis.set('a', 'before');
    await servers.waitForReplicas();
    const { waitForFailover } = await servers.pauseMasterOf('a');
    await waitForFailover();
    await waitFor(() => pingRedis(redis), 'the successor', timeoutMs);
    expect(await redis.get('a')).toBe('before');
  });

  it('is emptied on all masters', async () => {
    expect(await isRedisEmpty(redis)).toBe(false);
    await emptyRedis(redis);
    expect(await isRedisEmpty(redis)).toBe(true);
  });
});
