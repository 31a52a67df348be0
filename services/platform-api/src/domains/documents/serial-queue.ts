import { AppError } from '@fleet/service-kit';
import pLimit from 'p-limit';

/** Runs tasks one after the other. Each task holds some megabytes, so the number of pending tasks is limited. */
export class SerialQueue {
  readonly #maxPending: number;
  readonly #limit = pLimit(1);

  /** @param maxPending tasks that run or wait at the same time */
  constructor(maxPending: number) {
    this.#maxPending = maxPending;
  }

  /** Throws 503 `unavailable` if too many tasks are pending, or if the signal is aborted before the task starts. */
  async run<T>(task: () => Promise<T>, signal: AbortSignal): Promise<T> {
    if (this.#limit.activeCount + this.#limit.pendingCount >= this.#maxPending)
      throw new AppError('unavailable', 'Too many documents are being read. Retry later.');
    return this.#limit(() => {
      if (signal.aborted) throw new AppError('unavailable', 'The client closed the request.', { cause: signal.reason });
      return task();
    });
  }
}
