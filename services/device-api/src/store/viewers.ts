import { randomUUID } from 'node:crypto';
import type { Redis, StreamId } from '@fleet/storage';

/** A viewer expires without renewal by its process for this long. */
export const viewerTtlMs = 30_000;

const redisKey = (id: StreamId): string => `viewers:${id.kind}:${id.imei}:${id.channel}`;

// KEYS 1 viewers. ARGV 1 viewer, 2 now, 3 time of expiry, 4 limit, 5 ttl.
const addScript = `
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, ARGV[2])
if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[4]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return 1`;

/** Adds a viewer of a channel; returns null at the limit. */
export async function addViewer(redis: Redis, id: StreamId, limit: number): Promise<string | null> {
  const viewer = randomUUID();
  const now = Date.now();
  const added = await redis.eval(addScript, {
    keys: [redisKey(id)],
    arguments: [viewer, String(now), String(now + viewerTtlMs), String(limit), String(viewerTtlMs)],
  });
  return added === 1 ? viewer : null;
}

/** Renews a viewer; repeat it well within `viewerTtlMs`. */
export async function renewViewer(redis: Redis, id: StreamId, viewer: string): Promise<void> {
  await redis
    .multi()
    .zAdd(redisKey(id), { score: Date.now() + viewerTtlMs, value: viewer })
    .pExpire(redisKey(id), viewerTtlMs)
    .exec();
}

/** Removes a viewer. */
export async function removeViewer(redis: Redis, id: StreamId, viewer: string): Promise<void> {
  await redis.zRem(redisKey(id), viewer);
}
