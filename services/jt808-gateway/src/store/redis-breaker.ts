import type { Redis } from '@fleet/storage';

/** Redis normally responds within a millisecond. */
const timeoutMs = 2_000;
/** Time after a timeout in which further commands wait only `openTimeoutMs`. */
const openForMs = 5_000;
const openTimeoutMs = 100;

/** The state could not be read or written. */
class RedisUnavailableError extends Error {
  override readonly name = 'StateAwayError';
}

/** Breaks the circuit to Redis: after one timeout, further commands do not each wait the full timeout. */
export class RedisBreaker {
  readonly #redis: Pick<Redis, 'isReady'>;
  #openUntilMs = 0;

  constructor(redis: Pick<Redis, 'isReady'>) {
    this.#redis = redis;
  }

  /** Returns the reply to a Redis command. Throws RedisUnavailableError when the command fails or times out. */
  async run<T>(command: () => Promise<T>): Promise<T> {
    // The client would queue a transaction until its next connection attempt has failed: a second for each command to a
    // terminal.
    if (!this.#redis.isReady) throw new RedisUnavailableError('Redis is unavailable');
    const isOpen = performance.now() < this.#openUntilMs;
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<never>((_resolve, reject) => {
      const fail = (): void => {
        this.#openUntilMs = performance.now() + openForMs;
        reject(new RedisUnavailableError('Redis did not respond in time'));
      };
      // After a busy event-loop iteration timers run first, although the reply may already be readable.
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
