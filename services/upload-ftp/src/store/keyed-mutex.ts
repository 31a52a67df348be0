/** Works on one thing after the other, for each name: what is done with one thing never overlaps. */
export class KeyedMutex {
  /** The last work under way for each name. */
  readonly #tails = new Map<string, Promise<unknown>>();

  /** Does the work once everything before it, of the same name, has ended. */
  runExclusive<T>(name: string, task: () => Promise<T>): Promise<T> {
    const previous = this.#tails.get(name) ?? Promise.resolve();
    const current = previous.then(task, task).finally(() => {
      if (this.#tails.get(name) === current) this.#tails.delete(name);
    });
    this.#tails.set(name, current);
    return current;
  }

  /** Waits for what is under way. */
  async waitUntilIdle(): Promise<void> {
    await Promise.allSettled(this.#tails.values());
  }
}
