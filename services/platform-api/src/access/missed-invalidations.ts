import { accessChanged, keyRevoked, publish } from '@fleet/bus';
import type { Deps } from '../platform/deps.ts';

type TrackerDeps = Pick<Deps, 'bus' | 'redis' | 'log'>;

/** Counts what no other replica could be told of. */
const redisKey = 'access-changes-unheard';
const subjects: ReadonlySet<string> = new Set([accessChanged.subject, keyRevoked.subject]);

/**
 * Notes in Redis that access has changed while this replica had no way to the broker, for those that have one and would hear of it by the age of what they know
 * alone. Where Redis is away too they hear when the broker is back.
 */
export function trackMissedInvalidations({ bus, redis, log }: TrackerDeps): { stop(): void } {
  let hasMissed = false;
  const increment = async (): Promise<void> => {
    try {
      await redis.incr(redisKey);
    } catch (error) {
      log.warn({ err: error }, 'other replicas cannot be told of a change of access');
    }
  };
  const unsubscribeDropped = bus.onPublishDropped((subject) => {
    if (!subjects.has(subject)) return;
    hasMissed = true;
    void increment();
  });
  const unsubscribeReconnect = bus.onReconnect(() => {
    if (hasMissed) publish(bus, accessChanged, {});
    hasMissed = false;
  });
  return {
    stop: () => {
      unsubscribeDropped();
      unsubscribeReconnect();
    },
  };
}

/** Finds out what other replicas could not tell. */
export class MissedInvalidations {
  readonly #redis: Deps['redis'];
  #lastCount: string | null | undefined;

  constructor(redis: Deps['redis']) {
    this.#redis = redis;
  }

  /**
   * True where access has changed since the last question, of which nobody was told; and for the first question, as nobody knows since when the count stands. False, too, where Redis can
   * not be asked.
   */
  async hasNew(): Promise<boolean> {
    if (!this.#redis.isReady) return false;
    try {
      const count = await this.#redis.get(redisKey);
      const isNew = this.#lastCount !== count;
      this.#lastCount = count;
      return isNew;
    } catch {
      // It is asked again in a moment.
      return false;
    }
  }
}
