import type { Logger } from '@fleet/service-kit';

const retryIntervalMs = 1_000;

/**
 * Retries a task until it succeeds once, so that a service can start before its database. Logs `failureMessage` for
 * each failure.
 */
export class RetryUntilSuccess {
  readonly #log: Logger;
  readonly #failureMessage: string;
  readonly #task: () => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;
  #running: Promise<void> = Promise.resolve();
  isDone = false;

  constructor(log: Logger, failureMessage: string, task: () => Promise<void>) {
    this.#log = log;
    this.#failureMessage = failureMessage;
    this.#task = task;
    this.#running = this.#attempt();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #attempt(): Promise<void> {
    try {
      await this.#task();
      this.isDone = true;
    } catch (error) {
      this.#log.warn({ err: error }, this.#failureMessage);
      if (this.#stopped) return;
      this.#timer = setTimeout(() => {
        this.#running = this.#attempt();
      }, retryIntervalMs);
    }
  }
}
