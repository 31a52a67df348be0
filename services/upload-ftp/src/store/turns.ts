/** Works on one thing after the other, for each name: what is done with one thing never overlaps. */
export class Turns {
  /** The last work under way for each name. */
  readonly #last = new Map<string, Promise<unknown>>();

  /** Does the work once everything before it, of the same name, has ended. */
  take<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(name) ?? Promise.resolve();
    const mine = before.then(work, work).finally(() => {
      if (this.#last.get(name) === mine) this.#last.delete(name);
    });
    this.#last.set(name, mine);
    return mine;
  }

  /** Waits for what is under way. */
  async whenIdle(): Promise<void> {
    await Promise.allSettled(this.#last.values());
  }
}
