/** Timers that end with their owner. */
export class Timers {
  readonly #pending = new Set<NodeJS.Timeout>();

  /** Runs a task once, unless `clear` comes first. */
  runAfter(delayMs: number, task: () => void): void {
    const timer = setTimeout(() => {
      this.#pending.delete(timer);
      task();
    }, delayMs);
    this.#pending.add(timer);
  }

  /** Runs a task again and again, unless `clear` comes. */
  runPeriodically(intervalMs: number, task: () => void): void {
    this.#pending.add(setInterval(task, intervalMs));
  }

  /** Forgets all. */
  clear(): void {
    for (const timer of this.#pending) clearTimeout(timer);
    this.#pending.clear();
  }
}
