import type { Redis } from './redis.ts';
import type { StreamId } from './stream-state.ts';

/** An HLS reader without a request, or another viewer without a renewal by its process, leaves after these times. */
export const hlsReaderTtlMs = 60_000;
export const viewerTtlMs = 30_000;

/** Outlives every viewer. */
const keyTtlMs = 60_000;

const redisKey = (id: StreamId): string => `viewers:${id.kind}:${id.imei}:${id.channel}`;

// KEYS 1 viewers. ARGV 1 viewer, 2 now, 3 time of expiry, 4 limit, 5 ttl of the key.
const addScript = `
redis.call('ZREMRANGEBYSCORE', KEYS[1], 0, ARGV[2])
local known = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not known and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[4]) then return 'full' end
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return known and 'known' or 'added'`;

/** A viewer of a stream: its user, and an id that is unique among that user's viewers. */
export interface StreamViewer {
  /** Subject of the caller: a user's id, `key:<id>`, `link:<id>`, `anonymous`. */
  readonly subject: string;
  readonly viewerId: string;
}

const toMember = ({ subject, viewerId }: StreamViewer): string => `${subject}/${viewerId}`;

/**
 * Adds a viewer of a channel, or renews it; with limit 0 it only renews. Counts the viewers on all replicas together.
 * Returns `full` at the limit.
 */
export async function addViewer(
  redis: Redis,
  id: StreamId,
  viewer: StreamViewer,
  { limit, ttlMs }: { readonly limit: number; readonly ttlMs: number },
): Promise<'added' | 'known' | 'full'> {
  const now = Date.now();
  const result = await redis.eval(addScript, {
    keys: [redisKey(id)],
    arguments: [toMember(viewer), String(now), String(now + ttlMs), String(limit), String(keyTtlMs)],
  });
  return result as 'added' | 'known' | 'full';
}

/** Renews a viewer; repeat it well within `viewerTtlMs`. */
export async function renewViewer(redis: Redis, id: StreamId, viewer: StreamViewer): Promise<void> {
  await redis
    .multi()
    .zAdd(redisKey(id), { score: Date.now() + viewerTtlMs, value: toMember(viewer) })
    .pExpire(redisKey(id), keyTtlMs)
    .exec();
}

/** Removes a viewer. */
export async function removeViewer(redis: Redis, id: StreamId, viewer: StreamViewer): Promise<void> {
  await redis.zRem(redisKey(id), toMember(viewer));
}

/** Returns the number of viewers of a channel by their subjects. */
export async function countViewersBySubject(redis: Redis, id: StreamId): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  for (const member of await redis.zRangeByScore(redisKey(id), `(${Date.now()}`, '+inf')) {
    const subject = member.slice(0, member.lastIndexOf('/'));
    counts.set(subject, (counts.get(subject) ?? 0) + 1);
  }
  return counts;
}
