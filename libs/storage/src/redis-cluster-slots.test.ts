import { RedisCluster, waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { claimDevice, readLastSeenMs, releaseDevice } from './device-state.ts';
import { connectRedis, type Redis } from './redis.ts';

// Six real servers on a machine that may be busy.
jest.setTimeout(240_000);

describe('a Redis Cluster whose slots are moved', () => {
  let servers: RedisCluster;
  let redis: Redis;
  const errors: unknown[] = [];
  const imei = '13800130000';

  beforeAll(async () => {
    servers = await RedisCluster.start();
    redis = await connectRedis(servers.url, { name: 'slots-test', onError: (error) => errors.push(error) });
  });
  afterAll(async () => {
    redis?.destroy();
    await servers?.remove();
  });

  it('runs transactions, and scripts of one key and of several keys, while their slot is moved, and loses no write', async () => {
    const counter = `counter:{${imei}}`;
    let counted = 0;
    let lastSeenMs = 0;
    const moves = { areRunning: true };
    const increment = async (): Promise<void> => {
      const script = "return redis.call('INCR', KEYS[1])";
      counted += 1;
      expect(await redis.eval(script, { keys: [counter], arguments: [] })).toBe(counted);
    };
    const claim = async (): Promise<void> => {
      const seenMs = lastSeenMs + 1;
      const session = { sessionId: `s${seenMs}`, podId: 'a', phone: imei, edition: '2019', onlineSinceMs: 1 } as const;
      await claimDevice(redis, imei, { ...session, lastSeenMs: seenMs, remoteAddress: '127.0.0.1' });
      lastSeenMs = seenMs;
      await releaseDevice(redis, imei, session.sessionId, { lastSeenMs, isReturning: true });
    };
    let transactions = 0;
    const transact = async (): Promise<void> => {
      transactions += 1;
      const [first, second] = [`first:{${imei}}`, `second:{${imei}}`];
      expect(await redis.multi().incr(first).incr(second).exec()).toEqual([transactions, transactions]);
    };
    const run = async (command: () => Promise<void>): Promise<void> => {
      do await command();
      while (moves.areRunning);
    };
    await claim();
    for (let index = 0; index < 20; index += 1) await redis.set(`other-${index}:{${imei}}`, '1');
    const running = Promise.all([run(increment), run(claim), run(transact)]);
    const moving = (async () => {
      for (let index = 0; index < 3; index += 1) {
        const before = counted;
        await servers.moveSlotOf(counter);
        await waitFor(() => counted > before + 10, 'further commands');
      }
    })().finally(() => {
      moves.areRunning = false;
    });
    await Promise.all([running, moving]);
    expect(await redis.get(counter)).toBe(String(counted));
    expect(await readLastSeenMs(redis, imei)).toBe(lastSeenMs);
    expect(redis.isReady).toBe(true);
    expect(errors).toEqual([]);
  });
});
