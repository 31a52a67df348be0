import { accessChanged, announce, keyRevoked } from '@fleet/bus';
import type { Deps } from '../deps.ts';

type Parts = Pick<Deps, 'bus' | 'redis' | 'log'>;

/** Counts what no other replica could be told of. */
const countKey = 'access-changes-unheard';
const subjects: ReadonlySet<string> = new Set([accessChanged.subject, keyRevoked.subject]);

/**
 * Notes in Redis that access has changed while this replica had no way to the broker, for those that have one and would hear of it by the age of what they know
 * alone. Where Redis is away too they hear when the broker is back.
 */
export function noteUnheardChanges({ bus, redis, log }: Parts): { stop(): void } {
  let wasUnheard = false;
  const note = async (): Promise<void> => {
    try {
      await redis.incr(countKey);
    } catch (error) {
      log.warn({ err: error }, 'other replicas can not be told of a change of access');
    }
  };
  const offUnheard = bus.onUnheard((subject) => {
    if (!subjects.has(subject)) return;
    wasUnheard = true;
    void note();
  });
  const offReconnect = bus.onReconnect(() => {
    if (wasUnheard) announce(bus, accessChanged, {});
    wasUnheard = false;
  });
  return {
    stop: () => {
      offUnheard();
      offReconnect();
    },
  };
}

/** Finds out what other replicas could not tell. */
export class UnheardChanges {
  readonly #redis: Deps['redis'];
  #count: string | null | undefined;

  constructor(redis: Deps['redis']) {
    this.#redis = redis;
  }

  /**
   * True where access has changed since the last question, of which nobody was told; and for the first question, as nobody knows since when the count stands. False, too, where Redis can
   * not be asked.
   */
  async areThere(): Promise<boolean> {
    if (!this.#redis.isReady) return false;
    try {
      const count = await this.#redis.get(countKey);
      const isNew = this.#count !== count;
      this.#count = count;
      return isNew;
    } catch {
      // It is asked again in a moment.
      return false;
    }
  }
}
