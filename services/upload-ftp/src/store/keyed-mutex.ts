/** Runs tasks of the same name one after another, so that they never overlap. */
export class KeyedMutex {
  /** The last task of each name. */
  readonly #tails = new Map<string, Promise<unknown>>();

  /** Runs a task once all earlier tasks of the same name have ended. */
  runExclusive<T>(name: string, task: () => Promise<T>): Promise<T> {
    const previous = this.#tails.get(name) ?? Promise.resolve();
    const current = previous.then(task, task).finally(() => {
      if (this.#tails.get(name) === current) this.#tails.delete(name);
    });
    this.#tails.set(name, current);
    return current;
  }

  /** Waits for all running and queued tasks. */
  async waitUntilIdle(): Promise<void> {
    await Promise.allSettled(this.#tails.values());
  }
}
