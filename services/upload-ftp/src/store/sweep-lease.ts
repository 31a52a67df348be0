import { acquireRedisLock, type Redis, type RedisLock, releaseRedisLock } from '@fleet/storage';

const lockKey = 'upload-ftp:sweep';
const lastRunKey = 'upload-ftp:last-sweep';

/** Lets one replica sweep at a time, in Redis; without Redis nobody does. */
export class SweepLease {
  readonly #redis: Redis;
  readonly #lock: RedisLock;
  readonly #ttlMs: number;

  constructor(redis: Redis, owner: string, ttlMs: number) {
    this.#redis = redis;
    this.#lock = { key: lockKey, holder: owner };
    this.#ttlMs = ttlMs;
  }

  /** Acquires or renews the lock; returns false if another replica holds it. */
  acquire(): Promise<boolean> {
    return acquireRedisLock(this.#redis, this.#lock, this.#ttlMs);
  }

  /** Releases the lock at a clean stop, so that another replica continues immediately. */
  release(): Promise<void> {
    return releaseRedisLock(this.#redis, this.#lock);
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
