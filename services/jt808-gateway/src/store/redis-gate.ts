import type { Redis } from '@fleet/storage';

/** Redis answers within a millisecond or is in trouble. */
const limitMs = 2_000;
/** After a command that hung, how long others wait no more than a moment. */
const suspectForMs = 5_000;
const suspectLimitMs = 100;

/** The state could not be read or written now. */
export class StateAwayError extends Error {
  override readonly name = 'StateAwayError';
}

/** Bounds the wait for Redis: once a command has hung, the next ones do not each wait their full time. */
export class RedisGate {
  readonly #redis: Pick<Redis, 'isReady'>;
  #suspectUntilMs = 0;

  constructor(redis: Pick<Redis, 'isReady'>) {
    this.#redis = redis;
  }

  /** The answer of a Redis command, or StateAwayError when it fails or hangs. */
  async run<T>(command: () => Promise<T>): Promise<T> {
    // The client queues a transaction even so, until its next attempt to connect has failed: a second for each command to a terminal.
    if (!this.#redis.isReady) throw new StateAwayError('Redis can not be reached');
    const isSuspect = performance.now() < this.#suspectUntilMs;
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<never>((_resolve, reject) => {
      const fail = (): void => {
        this.#suspectUntilMs = performance.now() + suspectForMs;
        reject(new StateAwayError('Redis does not answer in time'));
      };
      // After a busy turn of ours timers come first: the answer may be there to be read.
      timer = setTimeout(() => setImmediate(fail), isSuspect ? suspectLimitMs : limitMs);
    });
    try {
      const answer = await Promise.race([command(), limit]);
      this.#suspectUntilMs = 0;
      return answer;
    } catch (cause) {
      throw cause instanceof StateAwayError ? cause : new StateAwayError('Redis can not be reached', { cause });
    } finally {
      clearTimeout(timer);
    }
  }
}
