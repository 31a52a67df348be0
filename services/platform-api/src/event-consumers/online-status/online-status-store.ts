import { randomUUID } from 'node:crypto';
import { acquireRedisLock, DelayedJobs, type Redis, releaseRedisLock } from '@fleet/storage';
import type { LastStatus } from './online-status-rules.ts';

const statusKey = (imei: string): string => `presence:${imei}`;
const lockKey = (imei: string): string => `presence-lock:${imei}`;
const lockTtlMs = 30_000;

/** Creates the schedule of the checks, by canonical number. */
export const createCheckSchedule = (redis: Redis): DelayedJobs =>
  new DelayedJobs(redis, { due: 'presence:due', initialized: 'presence:built' });

/** Stores the last online status of each terminal in Redis. */
export class OnlineStatusStore {
  readonly #redis: Redis;

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  async find(imei: string): Promise<LastStatus | null> {
    const text = await this.#redis.get(statusKey(imei));
    return text === null ? null : (JSON.parse(text) as LastStatus);
  }

  async save(imei: string, status: LastStatus): Promise<void> {
    await this.#redis.set(statusKey(imei), JSON.stringify(status));
  }

  /** Runs work on one terminal under a lock and returns its result; returns null if another replica has the lock. */
  async withLock<T>(imei: string, work: () => Promise<T>): Promise<{ readonly result: T } | null> {
    const lock = { key: lockKey(imei), holder: randomUUID() };
    if (!(await acquireRedisLock(this.#redis, lock, lockTtlMs))) return null;
    try {
      return { result: await work() };
    } finally {
      await releaseRedisLock(this.#redis, lock);
    }
  }
}
