import type { Redis } from './redis.ts';

// KEYS 1 key. ARGV 1 expected value, '' if there is none, 2 new value, 3 TTL.
const script = `
if (redis.call('GET', KEYS[1]) or '') ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1`;

/** A change of a value in Redis that was read before. */
interface ValueChange {
  /** The value that was read; null if there was none. */
  readonly expected: string | null;
  readonly value: string;
  readonly ttlMs: number;
}

/** Stores a value unless the key has changed since it was read; returns false if it has. */
export async function compareAndSet(
  redis: Redis,
  key: string,
  { expected, value, ttlMs }: ValueChange,
): Promise<boolean> {
  return (await redis.eval(script, { keys: [key], arguments: [expected ?? '', value, String(ttlMs)] })) === 1;
}
