import { ServerProcess } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { compareAndSet } from './compare-and-set.ts';
import { connectRedis, type Redis } from './redis.ts';

// A real server on a machine that may be busy.
jest.setTimeout(30_000);

const key = 'test:value';
const ttlMs = 60_000;

describe('compare and set in Redis', () => {
  let server: ServerProcess;
  let redis: Redis;

  beforeAll(async () => {
    server = await (await ServerProcess.redis()).start();
    const url = `redis://127.0.0.1:${server.port}`;
    redis = await connectRedis(url, { name: 'compare-and-set-test', onError: () => undefined });
  });
  afterAll(async () => {
    await redis.close();
    await server.remove();
  });

  it('stores a value with a time to live if the key has the expected value', async () => {
    expect(await compareAndSet(redis, key, { expected: null, value: 'first', ttlMs })).toBe(true);
    expect(await compareAndSet(redis, key, { expected: 'first', value: 'second', ttlMs })).toBe(true);
    expect(await redis.get(key)).toBe('second');
    const leftMs = await redis.pTTL(key);
    expect([leftMs > 0, leftMs <= ttlMs]).toEqual([true, true]);
  });

  it('stores nothing if the key has another value', async () => {
    await redis.set(key, 'other');
    expect(await compareAndSet(redis, key, { expected: null, value: 'new', ttlMs })).toBe(false);
    expect(await compareAndSet(redis, key, { expected: 'first', value: 'new', ttlMs })).toBe(false);
    expect(await redis.get(key)).toBe('other');
  });

  it('succeeds for one of several concurrent changes', async () => {
    await redis.set(key, 'read by all');
    const changes = Array.from({ length: 20 }, (_unused, at) =>
      compareAndSet(redis, key, { expected: 'read by all', value: String(at), ttlMs }),
    );
    expect((await Promise.all(changes)).filter(Boolean)).toHaveLength(1);
  });
});
