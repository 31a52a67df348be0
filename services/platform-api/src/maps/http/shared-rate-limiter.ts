import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from '@fleet/storage';

/** Limits the requests per second over all replicas. Each request claims a time slice in Redis. */
export class SharedRateLimiter {
  readonly #redis: Pick<Redis, 'set'>;
  readonly #key: string;
  readonly #sliceMs: number;
  #lastSlice = 0;

  constructor(redis: Pick<Redis, 'set'>, key: string, perSecond: number) {
    this.#redis = redis;
    this.#key = key;
    this.#sliceMs = 1000 / perSecond;
  }

  /** Waits for a free time slice. Returns false if none is free in time. */
  async acquire(timeoutMs: number): Promise<boolean> {
    const deadline = Date.now() + timeoutMs;
    for (;;) {
      const now = Date.now();
      const slice = Math.floor(now / this.#sliceMs);
      if (await this.#take(slice)) return true;
      const next = (slice + 1) * this.#sliceMs;
      if (next >= deadline) return false;
      await sleep(Math.max(1, next - Date.now()));
    }
  }

  async #take(slice: number): Promise<boolean> {
    // Slices claimed by this process need no request to Redis, and are respected without it.
    if (slice <= this.#lastSlice) return false;
    const before = this.#lastSlice;
    this.#lastSlice = slice;
    try {
      const expiration = { type: 'PX', value: Math.ceil(this.#sliceMs) + 1000 } as const;
      return (await this.#redis.set(`${this.#key}:${slice}`, '1', { condition: 'NX', expiration })) !== null;
    } catch {
      // While Redis is unavailable, each replica enforces the limit separately.
      return slice > before;
    }
  }
}
