import type { Edition } from '@fleet/jt808';
import type { Redis } from '@fleet/storage';
import type { RedisBreaker } from './redis-breaker.ts';

/** State of a terminal between its connections, stored as `registration:<imei>`. `imei` is the canonical number. */
export interface Registration {
  /** Number of log-outs; null when the terminal has not registered. */
  readonly epoch: number | null;
  /** Edition detected at registration. The header alone does not distinguish 2011 from 2013. */
  readonly edition: Edition | null;
  /** Header serial for the next message to the terminal. */
  readonly serial: number | null;
}

/** Retention of the state of a terminal that does not connect. */
const ttlSeconds = 400 * 24 * 3600;
/** Added to the saved serial after a crash: more serials than are used between two saves. */
const crashSerialGap = 2048;

const registrationKey = (imei: string): string => `registration:${imei}`;

/**
 * Stores the registrations of terminals in Redis. Every method throws RedisUnavailableError while Redis is unavailable.
 */
export class Registrations {
  readonly #redis: Redis;
  readonly #breaker: RedisBreaker;

  constructor(redis: Redis, breaker: RedisBreaker) {
    this.#redis = redis;
    this.#breaker = breaker;
  }

  read(imei: string): Promise<Registration> {
    return this.#breaker.run(async () => {
      const fields = await this.#redis.hGetAll(registrationKey(imei));
      const serial = parseNumber(fields['serial']);
      return {
        epoch: parseNumber(fields['epoch']),
        edition: parseEdition(fields['edition']),
        serial: serial === null ? null : (serial + (fields['exact'] === '1' ? 0 : crashSerialGap)) & 0xffff,
      };
    });
  }

  /** Records a registration and returns the current epoch. */
  register(imei: string, edition: Edition): Promise<number> {
    return this.#breaker.run(async () => {
      const [, , epoch] = await this.#redis
        .multi()
        .hSetNX(registrationKey(imei), 'epoch', '0')
        .hSet(registrationKey(imei), 'edition', edition)
        .hGet(registrationKey(imei), 'epoch')
        .expire(registrationKey(imei), ttlSeconds)
        .exec();
      return (typeof epoch === 'string' ? parseNumber(epoch) : null) ?? 0;
    });
  }

  /** Stores the epoch of a valid code where none is stored, because Redis was emptied. */
  async restoreEpoch(imei: string, epoch: number): Promise<void> {
    await this.#breaker.run(() =>
      this.#redis
        .multi()
        .hSetNX(registrationKey(imei), 'epoch', String(epoch))
        .expire(registrationKey(imei), ttlSeconds)
        .exec(),
    );
  }

  /** Records a log-out, which voids earlier codes. */
  async incrementEpoch(imei: string): Promise<void> {
    await this.#breaker.run(() =>
      this.#redis.multi().hIncrBy(registrationKey(imei), 'epoch', 1).expire(registrationKey(imei), ttlSeconds).exec(),
    );
  }

  /** Saves the next serial. `isExact` states that no serial will be used until the terminal reconnects. */
  async saveSerial(imei: string, serial: number, isExact: boolean): Promise<void> {
    const fields = { serial: String(serial), exact: isExact ? '1' : '0' };
    await this.#breaker.run(() =>
      this.#redis.multi().hSet(registrationKey(imei), fields).expire(registrationKey(imei), ttlSeconds).exec(),
    );
  }
}

function parseNumber(text: string | undefined): number | null {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

function parseEdition(text: string | undefined): Edition | null {
  return text === '2011' || text === '2013' || text === '2019' ? text : null;
}
