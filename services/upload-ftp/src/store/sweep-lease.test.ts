import { connectRedis, type Redis } from '@fleet/storage';
import { ServerProcess } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { SweepLease } from './sweep-lease.ts';

// A real server on a machine that may be busy. The tests pass the times of the sweeps.
jest.setTimeout(60_000);

let server: ServerProcess;
let redis: Redis;
beforeAll(async () => {
  server = await ServerProcess.redis();
  await server.start();
  redis = await connectRedis(`redis://127.0.0.1:${server.port}`, { name: 'sweep-lock-test', onError: () => undefined });
});
afterAll(async () => {
  redis.destroy();
  await server.remove();
});

const ttlMs = 600_000;

describe('SweepLease', () => {
  it('belongs to one replica until it is released', async () => {
    const [one, other] = [new SweepLease(redis, 'one', ttlMs), new SweepLease(redis, 'other', ttlMs)];
    expect([await one.acquire(), await other.acquire(), await one.acquire()]).toEqual([true, false, true]);
    await other.release();
    expect(await other.acquire()).toBe(false);
    await one.release();
    expect([await other.acquire(), await one.acquire()]).toEqual([true, false]);
  });

  it('returns the previous sweep of any replica within the interval that it recorded', async () => {
    const [one, other] = [new SweepLease(redis, 'one', ttlMs), new SweepLease(redis, 'other', ttlMs)];
    expect(await one.recordRun(1_000_000, 60_000)).toBeNull();
    expect(await other.recordRun(1_060_000, 300_000)).toBe(1_000_000);
    // This sweep queries fewer cameras than the previous one. The interval recorded by the previous one counts.
    expect(await one.recordRun(1_360_000, 60_000)).toBe(1_060_000);
    expect(await one.recordRun(1_420_001, 60_000)).toBeNull();
    // The clock was set back.
    expect(await one.recordRun(1_410_000, 60_000)).toBeNull();
    expect(await one.recordRun(1_410_000, 60_000)).toBe(1_410_000);
  });
});
