import type { Redis } from '@fleet/storage';

const lockKey = 'upload-ftp:sweep';
const lastRunKey = 'upload-ftp:last-sweep';

// KEYS 1 lock. ARGV 1 owner, 2 ttl. Acquires the lock, or renews it if the owner holds it.
const acquireScript = `
local owner = redis.call('GET', KEYS[1])
if owner and owner ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`;

const releaseScript = `
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`;

/** A lease in Redis that lets one replica sweep at a time. Without Redis, no replica sweeps. */
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

  /** Releases the lease at a clean stop, so that another replica continues immediately. */
  async release(): Promise<void> {
    await this.#redis.eval(releaseScript, { keys: [lockKey], arguments: [this.#owner] });
  }

  /**
   * Records this sweep and the maximum time until the next. Returns the time of the previous sweep. Returns null if
   * that is longer ago than the previous sweep allowed, because the state of the devices since then is unknown.
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
