import type { Redis } from './redis.ts';

// KEYS 1 sorted set of ids by due time. ARGV 1 now, 2 limit, 3 due time of jobs whose replica crashes.
const takeDueScript = `
local ids = redis.call('ZRANGE', KEYS[1], '-inf', ARGV[1], 'BYSCORE', 'LIMIT', 0, ARGV[2])
for _, id in ipairs(ids) do redis.call('ZADD', KEYS[1], ARGV[3], id) end
return ids`;

/** Redis keys of a set of delayed jobs. */
interface DelayedJobKeys {
  /** The sorted set. */
  readonly due: string;
  /** Exists once all jobs were scheduled. */
  readonly initialized: string;
}

/**
 * Stores jobs with due times in a Redis sorted set, which all replicas share. A job is an id; scheduling it again
 * replaces its due time. Redis may lose its data: the owner of the jobs then schedules all of them again.
 */
export class DelayedJobs {
  readonly #redis: Redis;
  readonly #keys: DelayedJobKeys;

  constructor(redis: Redis, keys: DelayedJobKeys) {
    this.#redis = redis;
    this.#keys = keys;
  }

  async schedule(id: string, dueMs: number): Promise<void> {
    await this.#redis.zAdd(this.#keys.due, { score: dueMs, value: id });
  }

  /** Schedules jobs that have no due time yet. */
  async scheduleMissing(ids: readonly string[], dueMs: number): Promise<void> {
    if (ids.length === 0) return;
    const members = ids.map((value) => ({ score: dueMs, value }));
    await this.#redis.zAdd(this.#keys.due, members, { condition: 'NX' });
  }

  async cancel(id: string): Promise<void> {
    await this.#redis.zRem(this.#keys.due, id);
  }

  /**
   * Returns due jobs, the longest due first, each to one replica. They are due again after `retryAfterMs` unless they
   * are scheduled or cancelled before, so that a crash loses none.
   */
  async takeDue(nowMs: number, limit: number, retryAfterMs: number): Promise<string[]> {
    const values = [nowMs, limit, nowMs + retryAfterMs].map(String);
    return (await this.#redis.eval(takeDueScript, { keys: [this.#keys.due], arguments: values })) as string[];
  }

  /** Returns false if Redis is new or has lost its data. */
  async isInitialized(): Promise<boolean> {
    return (await this.#redis.exists(this.#keys.initialized)) === 1;
  }

  async markInitialized(): Promise<void> {
    await this.#redis.set(this.#keys.initialized, '1');
  }
}
