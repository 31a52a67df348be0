/** Holds timers that are cleared together with their owner. */
export class Timers {
  readonly #pending = new Set<NodeJS.Timeout>();

  /** Runs a task once, unless `clear` is called first. */
  runAfter(delayMs: number, task: () => void): void {
    const timer = setTimeout(() => {
      this.#pending.delete(timer);
      task();
    }, delayMs);
    this.#pending.add(timer);
  }

  /** Runs a task periodically until `clear`. */
  runPeriodically(intervalMs: number, task: () => void): void {
    this.#pending.add(setInterval(task, intervalMs));
  }

  /** Clears all timers. */
  clear(): void {
    for (const timer of this.#pending) clearTimeout(timer);
    this.#pending.clear();
  }
}
