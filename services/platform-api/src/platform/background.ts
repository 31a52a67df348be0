import type { Logger } from '@fleet/service-kit';

/** Runs work that no request waits for, but that must end before the service stops. */
export class Background {
  readonly #log: Logger;
  readonly #running = new Set<Promise<void>>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Starts a task. Logs a failure with `failureMessage`. */
  run(task: () => Promise<void>, failureMessage: string): void {
    const running = task()
      .catch((error: unknown) => this.#log.error({ err: error }, failureMessage))
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Resolves once no task is running. */
  async drain(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
