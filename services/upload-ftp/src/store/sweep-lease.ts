import { acquireRedisLock, type Redis, type RedisLock, releaseRedisLock } from '@fleet/storage';

const lockKey = 'upload-ftp:sweep';
const lastRunKey = 'upload-ftp:last-sweep';

/** Holds the lease of the replica that sweeps, so that one sweeps at a time. */
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

  /** Releases the lease at a clean stop, so that another replica continues immediately. */
  release(): Promise<void> {
    return releaseRedisLock(this.#redis, this.#lock);
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
