import type { Edition } from '@fleet/jt808';
import type { Redis } from '@fleet/storage';
import type { RedisGate } from './redis-gate.ts';

/** What is remembered of a terminal between its connections. Key `registration:<imei>`, imei being the canonical number. */
export interface Registration {
  /** Number of log-outs; null when nothing is on record. */
  readonly epoch: number | null;
  /** Edition that a registration has shown: the header alone can not tell 2011 from 2013. */
  readonly edition: Edition | null;
  /** Header serial for the next message to the terminal. */
  readonly serial: number | null;
}

/** A terminal that has not been heard of for this long starts anew. */
const ttlSeconds = 400 * 24 * 3600;
/** After a crash the serials in use are not known exactly: more than are used between two savings. */
const crashJump = 2048;

const key = (imei: string): string => `registration:${imei}`;

/** Registrations of terminals in Redis. Every call throws StateAwayError while Redis is away. */
export class Registrations {
  readonly #redis: Redis;
  readonly #gate: RedisGate;

  constructor(redis: Redis, gate: RedisGate) {
    this.#redis = redis;
    this.#gate = gate;
  }

  read(imei: string): Promise<Registration> {
    return this.#gate.run(async () => {
      const fields = await this.#redis.hGetAll(key(imei));
      const serial = numberOf(fields['serial']);
      return {
        epoch: numberOf(fields['epoch']),
        edition: editionOf(fields['edition']),
        serial: serial === null ? null : (serial + (fields['exact'] === '1' ? 0 : crashJump)) & 0xffff,
      };
    });
  }

  /** Notes a registration and answers the epoch in force. */
  register(imei: string, edition: Edition): Promise<number> {
    return this.#gate.run(async () => {
      const [, , epoch] = await this.#redis
        .multi()
        .hSetNX(key(imei), 'epoch', '0')
        .hSet(key(imei), 'edition', edition)
        .hGet(key(imei), 'epoch')
        .expire(key(imei), ttlSeconds)
        .exec();
      return (typeof epoch === 'string' ? numberOf(epoch) : null) ?? 0;
    });
  }

  /** Puts the epoch of a valid code on record where there is none (Redis was emptied). */
  async restoreEpoch(imei: string, epoch: number): Promise<void> {
    await this.#gate.run(() =>
      this.#redis.multi().hSetNX(key(imei), 'epoch', String(epoch)).expire(key(imei), ttlSeconds).exec(),
    );
  }

  /** A log-out: codes given before it are void. */
  async logOut(imei: string): Promise<void> {
    await this.#gate.run(() => this.#redis.multi().hIncrBy(key(imei), 'epoch', 1).expire(key(imei), ttlSeconds).exec());
  }

  /** Notes the next serial; `isExact` when none will be used until the terminal comes back. */
  async saveSerial(imei: string, serial: number, isExact: boolean): Promise<void> {
    const fields = { serial: String(serial), exact: isExact ? '1' : '0' };
    await this.#gate.run(() => this.#redis.multi().hSet(key(imei), fields).expire(key(imei), ttlSeconds).exec());
  }
}

function numberOf(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

function editionOf(text: string | undefined): Edition | null {
  return text === '2011' || text === '2013' || text === '2019' ? text : null;
}
