import { connectRedis, type Redis } from '@fleet/storage';
import { testEnv } from '@fleet/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { newImei } from '../testing/fake-terminals.ts';
import { recordPictureSighting } from './picture-sightings.ts';

// Uses a real server, which responds late on a busy machine.
jest.setTimeout(60_000);

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const startMs = Date.parse('2026-11-22T10:00:00Z');

let redis: Redis;
let imei: string;
beforeAll(async () => {
  redis = await connectRedis(testEnv('REDIS_URL'), { name: 'picture-sightings-test', onError: () => undefined });
});
afterAll(() => redis.close());
beforeEach(() => {
  imei = newImei();
});

const picture = { multimediaId: 7, channel: 1 };
/** Returns the first sighting of this message's picture, as time after the start. */
const event = async (afterMs: number, of = picture): Promise<number> =>
  (await recordPictureSighting(redis, imei, of, { by: 'event', receivedAtMs: startMs + afterMs })) - startMs;
const file = async (afterMs: number, takenAfterMs: number | null = null): Promise<number> => {
  const takenAtMs = takenAfterMs === null ? null : startMs + takenAfterMs;
  return (
    (await recordPictureSighting(redis, imei, picture, { by: 'file', receivedAtMs: startMs + afterMs, takenAtMs })) -
    startMs
  );
};

describe('a picture announced by 0x0800 and 0x0801', () => {
  it('is one, in either order and however often', async () => {
    expect([await event(0), await file(5_000), await file(5_000), await event(9 * minuteMs)]).toEqual([0, 0, 0, 0]);
    imei = newImei();
    expect([await file(5_000), await event(0), await event(0)]).toEqual([5_000, 5_000, 5_000]);
  });

  it.each([
    ['eleven minutes', 11 * minuteMs, null],
    ['two days', 48 * hourMs, null],
    ['two days, with its time of capture', 48 * hourMs, -1_000],
  ])('is one picture if the file arrives after %s, also for a repeated event', async (_case, ms, taken) => {
    expect([await event(0), await file(ms, taken), await file(ms, taken)]).toEqual([0, 0, 0]);
  });

  it('is another picture if it was taken later, or arrives after more than three days', async () => {
    expect([await event(0), await file(hourMs, hourMs - 1_000)]).toEqual([0, hourMs]);
    imei = newImei();
    expect([await event(0), await file(73 * hourMs)]).toEqual([0, 73 * hourMs]);
  });

  it('is another picture with a reused id, and the file belongs to the newest', async () => {
    expect([await event(0), await event(hourMs), await file(2 * hourMs)]).toEqual([0, hourMs, hourMs]);
    // The file has arrived, so the next one is another picture.
    expect([await file(3 * hourMs), await event(4 * hourMs)]).toEqual([3 * hourMs, 4 * hourMs]);
  });

  it('is one if replicas receive its messages concurrently', async () => {
    const seen = await Promise.all(Array.from({ length: 20 }, (_unused, at) => (at % 2 === 0 ? event(at) : file(at))));
    expect(new Set(seen).size).toBe(1);
  });

  it('is another picture on another channel, with another id or of another terminal', async () => {
    await event(0);
    expect(await event(1, { ...picture, channel: 2 })).toBe(1);
    expect(await event(2, { ...picture, multimediaId: 8 })).toBe(2);
    imei = newImei();
    expect(await event(3)).toBe(3);
  });

  it('is the picture that a process of the previous release recorded, whose entry stays unchanged', async () => {
    const former = `media-told:${imei}:7:1`;
    await redis.set(former, String(startMs));
    expect([await file(5_000), await event(6_000)]).toEqual([0, 0]);
    expect(await redis.getDel(former)).toBe(String(startMs));
    expect(await file(7_000)).toBe(0);
  });

  it('deletes the record of an announced picture after its lifetime', async () => {
    const key = `picture:${imei}:7:1`;
    await event(0);
    expect(await redis.pTTL(key)).toBeGreaterThan(2 * 24 * hourMs);
    await file(1_000);
    const left = await redis.pTTL(key);
    expect([left > 0, left <= hourMs]).toEqual([true, true]);
  });
});
