import type { Redis } from '@fleet/storage';

/** Redis answers within a millisecond or is in trouble. */
const timeoutMs = 2_000;
/** After a command that hung, how long others wait no more than a moment. */
const openForMs = 5_000;
const openTimeoutMs = 100;

/** The state could not be read or written now. */
export class RedisUnavailableError extends Error {
  override readonly name = 'StateAwayError';
}

/** Bounds the wait for Redis: once a command has hung, the next ones do not each wait their full time. */
export class RedisBreaker {
  readonly #redis: Pick<Redis, 'isReady'>;
  #openUntilMs = 0;

  constructor(redis: Pick<Redis, 'isReady'>) {
    this.#redis = redis;
  }

  /** The answer of a Redis command, or StateAwayError when it fails or hangs. */
  async run<T>(command: () => Promise<T>): Promise<T> {
    // The client queues a transaction even so, until its next attempt to connect has failed: a second for each command to a terminal.
    if (!this.#redis.isReady) throw new RedisUnavailableError('Redis is unavailable');
    const isOpen = performance.now() < this.#openUntilMs;
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<never>((_resolve, reject) => {
      const fail = (): void => {
        this.#openUntilMs = performance.now() + openForMs;
        reject(new RedisUnavailableError('Redis does not answer in time'));
      };
      // After a busy turn of ours timers come first: the answer may be there to be read.
      timer = setTimeout(() => setImmediate(fail), isOpen ? openTimeoutMs : timeoutMs);
    });
    try {
      const response = await Promise.race([command(), timeout]);
      this.#openUntilMs = 0;
      return response;
    } catch (cause) {
      throw cause instanceof RedisUnavailableError
        ? cause
        : new RedisUnavailableError('Redis is unavailable', { cause });
    } finally {
      clearTimeout(timer);
    }
  }
}
