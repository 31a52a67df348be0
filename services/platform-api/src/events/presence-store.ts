import { randomUUID } from 'node:crypto';
import type { Redis } from '@fleet/storage';
import type { ToRaise } from '../domains/notifications/content.ts';

/** What was last noticed of a terminal; Redis has it as JSON under `presence:<canonical number>`. */
export interface Noticed {
  readonly connected: boolean;
  readonly isOffline: boolean;
  readonly seenMs: number;
  /** When the report was received with which the terminal's state was last told from here. */
  readonly toldReportMs?: number;
  /** A notification that is being raised: should its raiser die, the next one raises the same. */
  readonly pending?: ToRaise;
}

const dueKey = 'presence:due';
const builtKey = 'presence:built';
const sweepKey = 'presence:sweep';
const noticedKey = (imei: string): string => `presence:${imei}`;
const lockKey = (imei: string): string => `presence-lock:${imei}`;
const lockMs = 30_000;

/** What Redis knows of who is there: when each terminal is to be looked at again, and what was noticed then. */
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

  /** Terminals that are to be looked at, the longest due first. */
  due(nowMs: number, limit: number): Promise<string[]> {
    return this.#redis.zRange(dueKey, 0, nowMs, { BY: 'SCORE', LIMIT: { offset: 0, count: limit } });
  }

  async lookAgain(imei: string, atMs: number): Promise<void> {
    await this.#redis.zAdd(dueKey, { score: atMs, value: imei });
  }

  async lookNoMore(imei: string): Promise<void> {
    await this.#redis.zRem(dueKey, imei);
  }

  /** True where Redis has lost, or never had, the times at which to look. */
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

  /** True for the replica whose turn the sweep is. */
  async isMyTurn(everyMs: number): Promise<boolean> {
    const expiration = { type: 'PX', value: Math.max(1, Math.round(everyMs * 0.9)) } as const;
    return (await this.#redis.set(sweepKey, '1', { condition: 'NX', expiration })) !== null;
  }

  /** Runs work on one terminal unless another replica is at it; false then. */
  async alone(imei: string, work: () => Promise<void>): Promise<boolean> {
    const token = randomUUID();
    const expiration = { type: 'PX', value: lockMs } as const;
    if ((await this.#redis.set(lockKey(imei), token, { condition: 'NX', expiration })) === null) return false;
    try {
      await work();
      return true;
    } finally {
      if ((await this.#redis.get(lockKey(imei))) === token) await this.#redis.del(lockKey(imei));
    }
  }
}
