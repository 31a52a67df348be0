import type { Logger } from '@fleet/service-kit';

/** Work that no request waits for, but the stop of the service. */
export class Background {
  readonly #log: Logger;
  readonly #running = new Set<Promise<void>>();

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Goes on with something; where it fails, that is logged as `failure`. */
  run(work: () => Promise<void>, failure: string): void {
    const running = work()
      .catch((error: unknown) => this.#log.error({ err: error }, failure))
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** When nothing is under way any more. */
  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
