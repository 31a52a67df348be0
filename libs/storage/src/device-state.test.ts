import { randomUUID } from 'node:crypto';
import { testEnv } from '@fleet/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  claimDevice,
  type DeviceState,
  deregisterGateway,
  gatewayTtlMs,
  heartbeatGateway,
  isDeviceExpected,
  readDevice,
  readDevices,
  readLastSeenMs,
  releaseDevice,
} from './device-state.ts';
import { connectRedis, type Redis } from './redis.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(30_000);

describe('device state in Redis', () => {
  let redis: Redis;
  let imei: string;
  const pods = [randomUUID(), randomUUID()] as const;

  beforeAll(async () => {
    redis = await connectRedis(testEnv('REDIS_URL'), { name: 'device-state-test', onError: () => undefined });
  });
  beforeEach(async () => {
    imei = `test-${randomUUID()}`;
    await Promise.all(pods.map((podId) => heartbeatGateway(redis, podId)));
  });
  afterAll(async () => {
    await Promise.all(pods.map((podId) => deregisterGateway(redis, podId)));
    await redis.close();
  });

  const session = (podId: string = pods[0]): Omit<DeviceState, 'generation'> => ({
    sessionId: randomUUID(),
    podId,
    phone: '013800138000',
    edition: '2013',
    onlineSinceMs: 1_795_280_005_889,
    lastSeenMs: 1_795_280_005_999,
    remoteAddress: '127.0.0.1:5000',
  });
  const release = (state: { sessionId: string }) => releaseDevice(redis, imei, state.sessionId);

  it('stores a claimed session unchanged, with its generation', async () => {
    const state = session();
    const { generation, previous } = await claimDevice(redis, imei, state);
    expect(generation).toBeGreaterThan(1_700_000_000_000);
    expect(previous).toBeUndefined();
    expect(await readDevice(redis, imei)).toEqual({ ...state, generation });
    await release(state);
    expect(await readDevice(redis, imei)).toBeNull();
  });

  describe('of a terminal that may reconnect', () => {
    const withinMs = 60_000;
    const isExpected = () => isDeviceExpected(redis, imei, withinMs);

    it('is expected while it has a session, and not after the terminal ended that', async () => {
      const state = session();
      expect(await isExpected()).toBe(false);
      await claimDevice(redis, imei, state);
      expect(await isExpected()).toBe(true);
      await release(state);
      expect(await isExpected()).toBe(false);
    });

    it('is expected for the given time after its gateway died', async () => {
      const podId = randomUUID();
      await heartbeatGateway(redis, podId);
      await claimDevice(redis, imei, session(podId));
      await redis.del(`gateway:${podId}`);
      expect(await readDevice(redis, imei)).toBeNull();
      expect(await isExpected()).toBe(true);
      // The last heartbeat of the gateway was 100 seconds ago.
      await redis.pExpire(`gateway-heartbeat:${podId}`, 50_000);
      expect(await isExpected()).toBe(false);
    });

    it('is expected after its gateway disconnected it, until the terminal ends a later session', async () => {
      const state = session();
      await claimDevice(redis, imei, state);
      await releaseDevice(redis, imei, state.sessionId, { isReturning: true });
      expect(await readDevice(redis, imei)).toBeNull();
      expect(await isExpected()).toBe(true);
      expect(await isDeviceExpected(redis, imei, -1)).toBe(false);
      const next = session(pods[1]);
      await claimDevice(redis, imei, next);
      await release(next);
      expect(await isExpected()).toBe(false);
    });
  });

  it('replaces a session by a new one and returns the replaced one', async () => {
    const old = session(pods[0]);
    const first = await claimDevice(redis, imei, old);
    const next = session(pods[1]);
    const second = await claimDevice(redis, imei, next);
    expect(second.generation).toBeGreaterThan(first.generation);
    expect(second.previous).toEqual({ ...old, generation: first.generation });
    expect((await readDevice(redis, imei))?.sessionId).toBe(next.sessionId);
    await release(next);
  });

  it('assigns rising generations to sessions of one millisecond', async () => {
    const claims = await Promise.all(Array.from({ length: 20 }, () => claimDevice(redis, imei, session())));
    const generations = claims.map(({ generation }) => generation);
    expect(new Set(generations).size).toBe(20);
    expect((await readDevice(redis, imei))?.generation).toBe(Math.max(...generations));
    await redis.del(`device:{${imei}}`);
  });

  it('rejects an older session that is published again, and returns the newer one', async () => {
    const old = session(pods[0]);
    const first = await claimDevice(redis, imei, old);
    const next = session(pods[1]);
    const second = await claimDevice(redis, imei, next);
    const refused = await claimDevice(redis, imei, old, first.generation);
    expect(refused).toEqual({ generation: 0, previous: { ...next, generation: second.generation } });
    expect((await readDevice(redis, imei))?.sessionId).toBe(next.sessionId);
    await release(next);
  });

  it('restores a session under its generation after Redis was emptied, and updates its last-seen time', async () => {
    const state = session();
    const { generation } = await claimDevice(redis, imei, state);
    await redis.del(`device:{${imei}}`);
    expect(await claimDevice(redis, imei, state, generation)).toEqual({ generation, previous: undefined });
    const later = { ...state, lastSeenMs: state.lastSeenMs + 60_000 };
    await claimDevice(redis, imei, later, generation);
    expect(await readDevice(redis, imei)).toEqual({ ...later, generation });
    await release(state);
  });

  it('releases only the named session', async () => {
    const old = session();
    await claimDevice(redis, imei, old);
    const next = session();
    await claimDevice(redis, imei, next);
    await release(old);
    expect((await readDevice(redis, imei))?.sessionId).toBe(next.sessionId);
    await release(next);
    expect(await redis.exists(`device:{${imei}}`)).toBe(0);
  });

  it('returns the last-seen time after the session; it never decreases', async () => {
    const state = session();
    expect(await readLastSeenMs(redis, imei)).toBeNull();
    await claimDevice(redis, imei, state);
    expect(await readLastSeenMs(redis, imei)).toBe(state.lastSeenMs);
    await releaseDevice(redis, imei, state.sessionId, { lastSeenMs: state.lastSeenMs + 4_000 });
    expect(await readLastSeenMs(redis, imei)).toBe(state.lastSeenMs + 4_000);
    await claimDevice(redis, imei, state);
    await release(state);
    expect(await readLastSeenMs(redis, imei)).toBe(state.lastSeenMs + 4_000);
    expect(await redis.pTTL(`device-seen:{${imei}}`)).toBeGreaterThan(0);
  });

  it('hides devices of a dead gateway, and returns them when the gateway lives again', async () => {
    const state = session(pods[1]);
    await claimDevice(redis, imei, state);
    await deregisterGateway(redis, pods[1]);
    expect(await readDevice(redis, imei)).toBeNull();
    await heartbeatGateway(redis, pods[1]);
    expect(await readDevice(redis, imei)).not.toBeNull();
    const ttlMs = await redis.pTTL(`gateway:${pods[1]}`);
    expect(ttlMs).toBeGreaterThan(0);
    expect(ttlMs).toBeLessThanOrEqual(gatewayTtlMs);
    await release(state);
  });

  it('reads many in one call, without those that have no session or a dead gateway', async () => {
    const imeis = [0, 1, 2].map((n) => `${imei}-${n}`);
    const states = [session(pods[0]), session(pods[1])];
    for (const [n, state] of states.entries()) await claimDevice(redis, `${imei}-${n}`, state);
    const found = await readDevices(redis, imeis);
    expect([...found.keys()]).toEqual(imeis.slice(0, 2));
    expect(found.get(`${imei}-1`)).toMatchObject(states[1] ?? {});
    await deregisterGateway(redis, pods[1]);
    expect([...(await readDevices(redis, imeis)).keys()]).toEqual(imeis.slice(0, 1));
    expect(await readDevices(redis, [])).toEqual(new Map());
    await redis.del(imeis.map((each) => `device:{${each}}`));
  });
});
