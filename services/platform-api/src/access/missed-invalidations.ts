import { accessChanged, keyRevoked, publish } from '@fleet/bus';
import type { Deps } from '../platform/deps.ts';

type TrackerDeps = Pick<Deps, 'bus' | 'redis' | 'log'>;

/** Counts changes of access whose event could not be published. */
const redisKey = 'access-changes-unheard';
const subjects: ReadonlySet<string> = new Set([accessChanged.subject, keyRevoked.subject]);

/**
 * Counts in Redis the changes of access whose event this replica could not publish because the broker was unavailable.
 * Replicas check the counter; without it they would detect the change only when their cached entries expire. If Redis
 * is unavailable too, the event is published once the broker is back.
 */
export function trackMissedInvalidations({ bus, redis, log }: TrackerDeps): { stop(): void } {
  let hasMissed = false;
  const increment = async (): Promise<void> => {
    try {
      await redis.incr(redisKey);
    } catch (error) {
      log.warn({ err: error }, 'could not record a change of access for other replicas');
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

/** Detects changes of access that other replicas could not publish. */
export class MissedInvalidations {
  readonly #redis: Deps['redis'];
  #lastCount: string | null | undefined;

  constructor(redis: Deps['redis']) {
    this.#redis = redis;
  }

  /**
   * Returns true if access has changed since the last call without a published event. The first call returns true if
   * there is a counter, because its age is unknown. Returns false if Redis is unavailable.
   */
  async hasNew(): Promise<boolean> {
    if (!this.#redis.isReady) return false;
    try {
      const count = await this.#redis.get(redisKey);
      const isNew = this.#lastCount !== count;
      this.#lastCount = count;
      return isNew;
    } catch {
      // The caller polls again shortly.
      return false;
    }
  }
}
