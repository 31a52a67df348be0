import { randomUUID } from 'node:crypto';
import { acquireRedisLock, type Redis, releaseRedisLock } from '@fleet/storage';
import type { NotificationRequest } from '../domains/notifications/to-notification.ts';

/** Last known online status of a terminal; JSON in Redis under `presence:<canonical number>`. */
export interface Noticed {
  readonly connected: boolean;
  readonly isOffline: boolean;
  readonly seenMs: number;
  /** Receive time of the report whose state was published last. */
  readonly toldReportMs?: number;
  /** A notification in progress: after a crash the next replica creates the same one. */
  readonly pending?: NotificationRequest;
}

const dueKey = 'presence:due';
const builtKey = 'presence:built';
const sweepKey = 'presence:sweep';
const noticedKey = (imei: string): string => `presence:${imei}`;
const lockKey = (imei: string): string => `presence-lock:${imei}`;
const lockMs = 30_000;

/** Stores in Redis when each terminal is checked next, and its last online status. */
export class PresenceStore {
  readonly #redis: Redis;

  constructor(redis: Redis) {
    this.#redis = redis;
  }

  async noticed(imei: string): Promise<Noticed | null> {
    const text = await this.#redis.get(noticedKey(imei));
    return text === null ? null : (JSON.parse(text) as Noticed);
  }

  async notice(imei: string, noticed: Noticed): Promise<void> {
    await this.#redis.set(noticedKey(imei), JSON.stringify(noticed));
  }

  /** Returns terminals that are due for a check, the longest due first. */
  due(nowMs: number, limit: number): Promise<string[]> {
    return this.#redis.zRange(dueKey, 0, nowMs, { BY: 'SCORE', LIMIT: { offset: 0, count: limit } });
  }

  async lookAgain(imei: string, atMs: number): Promise<void> {
    await this.#redis.zAdd(dueKey, { score: atMs, value: imei });
  }

  async lookNoMore(imei: string): Promise<void> {
    await this.#redis.zRem(dueKey, imei);
  }

  /** Returns true if Redis has no check times, because it was lost or is new. */
  async isEmpty(): Promise<boolean> {
    return (await this.#redis.exists(builtKey)) === 0;
  }

  async fill(imeis: readonly string[], atMs: number): Promise<void> {
    if (imeis.length === 0) return;
    await this.#redis.zAdd(
      dueKey,
      imeis.map((value) => ({ score: atMs, value })),
      { condition: 'NX' },
    );
  }

  async filled(): Promise<void> {
    await this.#redis.set(builtKey, '1');
  }

  /** Returns true for the replica that may run the job. */
  async isMyTurn(everyMs: number): Promise<boolean> {
    const expiration = { type: 'PX', value: Math.max(1, Math.round(everyMs * 0.9)) } as const;
    return (await this.#redis.set(sweepKey, '1', { condition: 'NX', expiration })) !== null;
  }

  /** Runs work on one terminal under a lock; returns false if another replica holds it. */
  async alone(imei: string, work: () => Promise<void>): Promise<boolean> {
    const lock = { key: lockKey(imei), holder: randomUUID() };
    if (!(await acquireRedisLock(this.#redis, lock, lockMs))) return false;
    try {
      await work();
      return true;
    } finally {
      await releaseRedisLock(this.#redis, lock);
    }
  }
}
