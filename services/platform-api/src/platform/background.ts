import type { Logger } from '@fleet/service-kit';

/** Work that no request waits for, but the stop of the service. */
export class Background {
  readonly #log: Logger;
  readonly #running = new Set<Promise<void>>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Goes on with something; where it fails, that is logged as `failure`. */
  run(task: () => Promise<void>, failureMessage: string): void {
    const running = task()
      .catch((error: unknown) => this.#log.error({ err: error }, failureMessage))
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** When nothing is under way any more. */
  async drain(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
