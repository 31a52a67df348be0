import pLimit, { type LimitFunction } from 'p-limit';

interface Queue {
  readonly limit: LimitFunction;
  /** Tasks that run or wait. */
  tasks: number;
}

/** Runs tasks of the same key one after another, and tasks of different keys concurrently. */
export class KeyedMutex {
  readonly #queues = new Map<string, Queue>();
  readonly #pending = new Set<Promise<unknown>>();

  /** Runs a task after all earlier ones of its key have ended. */
  runExclusive<T>(key: string, task: () => Promise<T>): Promise<T> {
    const queue = this.#queues.get(key) ?? { limit: pLimit(1), tasks: 0 };
    this.#queues.set(key, queue);
    queue.tasks += 1;
    const result = queue.limit(task).finally(() => {
      this.#pending.delete(result);
      queue.tasks -= 1;
      if (queue.tasks === 0) this.#queues.delete(key);
    });
    this.#pending.add(result);
    return result;
  }

  /** Waits for the tasks that run or wait now. */
  async waitUntilIdle(): Promise<void> {
    await Promise.allSettled(this.#pending);
  }
}
