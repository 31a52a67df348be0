import type { Redis } from '@fleet/storage';

const lockKey = 'upload-ftp:sweep';
const lookKey = 'upload-ftp:last-sweep';

// KEYS 1 lock. ARGV 1 owner, 2 ttl. Takes the lock, or keeps it when it is the owner's.
const takeScript = `
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`;

const releaseScript = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`;

/** Lets one replica sweep at a time, in Redis; without Redis nobody does. */
export class SweepLock {
  readonly #redis: Redis;
  readonly #owner: string;
  readonly #ttlMs: number;

  constructor(redis: Redis, owner: string, ttlMs: number) {
    this.#redis = redis;
    this.#owner = owner;
    this.#ttlMs = ttlMs;
  }

  async take(): Promise<boolean> {
    const answer = await this.#redis.eval(takeScript, {
      keys: [lockKey],
      arguments: [this.#owner, String(this.#ttlMs)],
    });
    return answer === 1;
  }

  /** At a clean stop, so that another goes on at once. */
  async release(): Promise<void> {
    await this.#redis.eval(releaseScript, { keys: [lockKey], arguments: [this.#owner] });
  }

  /**
   * Notes this look at the devices, and within which time the next follows it; answers when the one before was, or null when that is longer ago than it foretold:
   * nobody knows what happened between.
   */
  async noteLook(nowMs: number, untilNextMs: number): Promise<number | null> {
    const before = await this.#redis.set(lookKey, `${nowMs} ${untilNextMs}`, {
      expiration: { type: 'PX', value: untilNextMs },
      GET: true,
    });
    const [beforeMs = 0, untilMs = 0] = (before ?? '').split(' ').map(Number);
    return beforeMs > 0 && beforeMs <= nowMs && nowMs - beforeMs <= untilMs ? beforeMs : null;
  }
}
