import { openRedis, type Redis } from '@fleet/storage';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { ServerProcess } from '../../../../libs/service-kit/src/testing/server-process.ts';
import { SweepLock } from './sweep-lock.ts';

// A real server on a machine that may be busy; the times of the looks are handed in.
jest.setTimeout(60_000);

let server: ServerProcess;
let redis: Redis;
beforeAll(async () => {
  server = await ServerProcess.redis();
  await server.start();
  redis = await openRedis(`redis://127.0.0.1:${server.port}`, { name: 'sweep-lock-test', onError: () => undefined });
});
afterAll(async () => {
  redis.destroy();
  await server.remove();
});

const ttlMs = 600_000;

describe('the lock of the sweep', () => {
  it('is one replica’s until it gives it back', async () => {
    const [one, other] = [new SweepLock(redis, 'one', ttlMs), new SweepLock(redis, 'other', ttlMs)];
    expect([await one.take(), await other.take(), await one.take()]).toEqual([true, false, true]);
    await other.release();
    expect(await other.take()).toBe(false);
    await one.release();
    expect([await other.take(), await one.take()]).toEqual([true, false]);
  });

  it('knows the look before, of any replica, for as long as that one foretold', async () => {
    const [one, other] = [new SweepLock(redis, 'one', ttlMs), new SweepLock(redis, 'other', ttlMs)];
    expect(await one.noteLook(1_000_000, 60_000)).toBeNull();
    expect(await other.noteLook(1_060_000, 300_000)).toBe(1_000_000);
    // Fewer are asked now than then: what counts is how long that look could last.
    expect(await one.noteLook(1_360_000, 60_000)).toBe(1_060_000);
    expect(await one.noteLook(1_420_001, 60_000)).toBeNull();
    // A clock that has been set back.
    expect(await one.noteLook(1_410_000, 60_000)).toBeNull();
    expect(await one.noteLook(1_410_000, 60_000)).toBe(1_410_000);
  });
});
