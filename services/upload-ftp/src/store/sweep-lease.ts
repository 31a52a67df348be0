import type { Redis } from '@fleet/storage';

const lockKey = 'upload-ftp:sweep';
const lastRunKey = 'upload-ftp:last-sweep';

// KEYS 1 lock. ARGV 1 owner, 2 ttl. Takes the lock, or keeps it when it is the owner's.
const acquireScript = `
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`;

const releaseScript = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`;

/** Lets one replica sweep at a time, in Redis; without Redis nobody does. */
export class SweepLease {
  readonly #redis: Redis;
  readonly #owner: string;
  readonly #ttlMs: number;

  constructor(redis: Redis, owner: string, ttlMs: number) {
    this.#redis = redis;
    this.#owner = owner;
    this.#ttlMs = ttlMs;
  }

  async acquire(): Promise<boolean> {
    const result = await this.#redis.eval(acquireScript, {
      keys: [lockKey],
      arguments: [this.#owner, String(this.#ttlMs)],
    });
    return result === 1;
  }

  /** At a clean stop, so that another goes on at once. */
  async release(): Promise<void> {
    await this.#redis.eval(releaseScript, { keys: [lockKey], arguments: [this.#owner] });
  }

  /**
   * Notes this look at the devices, and within which time the next follows it; answers when the one before was, or null when that is longer ago than it foretold:
   * nobody knows what happened between.
   */
  async recordRun(nowMs: number, untilNextMs: number): Promise<number | null> {
    const previous = await this.#redis.set(lastRunKey, `${nowMs} ${untilNextMs}`, {
      expiration: { type: 'PX', value: untilNextMs },
      GET: true,
    });
    const [previousMs = 0, untilMs = 0] = (previous ?? '').split(' ').map(Number);
    return previousMs > 0 && previousMs <= nowMs && nowMs - previousMs <= untilMs ? previousMs : null;
  }
}
