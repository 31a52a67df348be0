import { AppError } from '@fleet/service-kit';

/** Lets works go one after the other; 503 `unavailable` where too many wait, and for a work whose signal was aborted before its turn came. */
export class SerialQueue {
  readonly #maxWaiting: number;
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** Works that may be under way or wait: what each holds is some megabytes. */
  constructor(maxWaiting: number) {
    this.#maxWaiting = maxWaiting;
  }

  async run<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#waiting >= this.#maxWaiting)
      throw new AppError('unavailable', 'Too many documents are being read at the moment.');
    this.#waiting += 1;
    const previous = this.#last;
    const result = (async () => {
      await previous.catch(() => undefined);
      if (signal.aborted)
        throw new AppError('unavailable', 'Nobody waits for this document any more.', { cause: signal.reason });
      return task();
    })();
    this.#last = result;
    try {
      return await result;
    } finally {
      this.#waiting -= 1;
    }
  }
}
