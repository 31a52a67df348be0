import type { Redis } from './redis.ts';

// KEYS 1 lock. ARGV 1 holder, 2 TTL. Acquires the lock, or renews it for the same holder.
const acquireScript = `
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`;

const releaseScript = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`;

/** A lock in Redis and its holder. */
export interface RedisLock {
  readonly key: string;
  readonly holder: string;
}

/**
 * Acquires a lock that expires after `ttlMs`, or renews one of the same holder; returns false if another holder has it.
 * Redis may lose a lock: use it to avoid duplicate work, and a `Lease` where two holders would do harm.
 */
export async function acquireRedisLock(redis: Redis, { key, holder }: RedisLock, ttlMs: number): Promise<boolean> {
  return (await redis.eval(acquireScript, { keys: [key], arguments: [holder, String(ttlMs)] })) === 1;
}

/** Releases a lock, unless another holder has it by now. */
export async function releaseRedisLock(redis: Redis, { key, holder }: RedisLock): Promise<void> {
  await redis.eval(releaseScript, { keys: [key], arguments: [holder] });
}
