import { randomInt } from 'node:crypto';
import { testEnv } from '@fleet/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import {
  closeMainStreamViewer,
  deleteMainStreamViewers,
  isMainStreamWanted,
  leaveMainStream,
  openMainStreamViewer,
  renewMainStreamViewer,
  startMainStream,
} from './main-stream-viewers.ts';
import { connectRedis, type Redis } from './redis.ts';
import type { StreamId } from './stream-state.ts';

let redis: Redis;
let id: StreamId;
let key: string;
beforeAll(async () => {
  redis = await connectRedis(testEnv('REDIS_URL'), { name: 'main-stream-viewers', onError: () => undefined });
});
afterAll(() => redis.destroy());
beforeEach(() => {
  id = { kind: 'live', imei: String(randomInt(1e11, 1e12)), channel: 1 };
  key = `stream-main:${id.imei}:1`;
});

const caller = 'user:1';
const viewer = (name: string, of = caller) => ({ id, viewer: name, caller: of });
const isWanted = (): Promise<boolean> => isMainStreamWanted(redis, id);
/** Simulates time that has passed, for all members or one. */
async function pass(ms: number, only?: string): Promise<void> {
  for (const { value, score } of await redis.zRangeWithScores(key, 0, -1))
    if (only === undefined || value === only) await redis.zAdd(key, { value, score: score - ms });
}

describe('the main stream of a channel', () => {
  it('is wanted from its start until its caller has not opened it for 30 seconds', async () => {
    expect(await isWanted()).toBe(false);
    await startMainStream(redis, id, caller);
    await pass(28_000);
    expect(await isWanted()).toBe(true);
    await pass(2_100);
    expect(await isWanted()).toBe(false);
  });

  it('is wanted until 10 seconds after its viewer has left', async () => {
    await startMainStream(redis, id, caller);
    await openMainStreamViewer(redis, viewer('a'), true);
    await closeMainStreamViewer(redis, viewer('a'));
    await pass(9_000);
    expect(await isWanted()).toBe(true);
    await pass(1_100);
    expect(await isWanted()).toBe(false);
  });

  it('is wanted by a viewer as long as its process renews it', async () => {
    await openMainStreamViewer(redis, viewer('a'), true);
    await pass(14_000);
    await renewMainStreamViewer(redis, viewer('a'));
    await pass(14_000);
    expect(await isWanted()).toBe(true);
    await pass(1_100);
    expect(await isWanted()).toBe(false);
  });

  it('is not wanted by viewers of other URLs', async () => {
    await startMainStream(redis, id, caller);
    await openMainStreamViewer(redis, viewer('old'), false);
    await openMainStreamViewer(redis, viewer('new'), true);
    await renewMainStreamViewer(redis, viewer('old'));
    await closeMainStreamViewer(redis, viewer('new'));
    await pass(10_100);
    expect(await isWanted()).toBe(false);
  });

  it('is wanted by a viewer without a token whose caller has started it', async () => {
    await openMainStreamViewer(redis, viewer('before'), undefined);
    expect(await isWanted()).toBe(false);
    await startMainStream(redis, id, caller);
    await openMainStreamViewer(redis, viewer('other', 'user:2'), undefined);
    await openMainStreamViewer(redis, viewer('after'), undefined);
    expect(await redis.zRange(key, 0, -1)).toEqual([`viewer:${caller}:after`]);
  });

  it('is wanted by an open viewer whose caller starts it and opens no other', async () => {
    await openMainStreamViewer(redis, viewer('open'), false);
    await startMainStream(redis, id, caller);
    await renewMainStreamViewer(redis, viewer('open'));
    expect(await redis.zRange(key, 0, -1)).toEqual([`caller:${caller}`]);
    await pass(5_100);
    await renewMainStreamViewer(redis, viewer('open'));
    expect(await redis.zRange(key, 0, -1)).toEqual([`viewer:${caller}:open`]);
  });

  it('is left by all viewers of a caller, and of no other', async () => {
    for (const name of ['a', 'b']) await openMainStreamViewer(redis, viewer(name), true);
    await openMainStreamViewer(redis, viewer('c', 'user:11'), true);
    await startMainStream(redis, id, caller);
    expect(await leaveMainStream(redis, id, caller)).toBe(true);
    expect(await redis.zRange(key, 0, -1)).toEqual(['viewer:user:11:c']);
    expect(await leaveMainStream(redis, id, 'user:11')).toBe(false);
    await renewMainStreamViewer(redis, viewer('a'));
    expect(await isWanted()).toBe(false);
  });

  it('is deleted with its channel', async () => {
    await startMainStream(redis, id, caller);
    expect(await redis.pTTL(key)).toBeGreaterThan(30_000);
    await deleteMainStreamViewers(redis, id);
    expect(await isWanted()).toBe(false);
  });
});
