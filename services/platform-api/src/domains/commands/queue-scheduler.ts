/** Limits of a scheduler. */
interface SchedulerLimits {
  /** Number of queues that are processed concurrently. */
  readonly concurrency: number;
  /** Number of tracked queues. Above it, all are evicted and the round-robin order starts over. */
  readonly maxTracked?: number;
}

const defaultMaxTracked = 100_000;

/**
 * Decides which command queues are processed and when: each once at a time, the least recently served first, and those
 * of unreachable devices after a cooldown. Has no I/O and no clock: callers pass monotonic times.
 */
export class QueueScheduler {
  readonly #concurrency: number;
  readonly #maxTracked: number;
  readonly #running = new Set<string>();
  /** The round in which a queue was last started. */
  readonly #lastServed = new Map<string, number>();
  #roundNo = 0;
  /** Times until which the queues of unreachable devices are skipped. */
  readonly #cooldowns = new Map<string, number>();
  #isSaturated = false;
  /** Next value of `#isSaturated`, set at the end of the scan. */
  #wasSaturatedInScan = false;

  constructor({ concurrency, maxTracked = defaultMaxTracked }: SchedulerLimits) {
    this.#concurrency = concurrency;
    this.#maxTracked = maxTracked;
  }

  /** Queues that are being processed. */
  get running(): readonly string[] {
    return [...this.#running];
  }

  /** True while more queues wait than can be processed concurrently. Each queue then yields after one command. */
  get isSaturated(): boolean {
    return this.#isSaturated;
  }

  /** Returns the queues that are not cooling down, each once. */
  withoutCooldown(imeis: Iterable<string>, nowMs: number): string[] {
    return [...new Set(imeis)].filter((imei) => !this.#isCoolingDown(imei, nowMs));
  }

  /** Returns the queues in the order in which they are to be started, so that silent terminals do not delay others. */
  leastRecentlyServed(imeis: readonly string[]): string[] {
    const lastServed = (imei: string): number => this.#lastServed.get(imei) ?? 0;
    return imeis.toSorted((one, other) => lastServed(one) - lastServed(other));
  }

  /** Starts a queue unless it is running or cooling down, or too many are running; returns true if it has started. */
  tryStart(imei: string, nowMs: number): boolean {
    if (this.#running.has(imei) || this.#isCoolingDown(imei, nowMs)) return false;
    if (this.#running.size >= this.#concurrency) {
      this.#isSaturated = true;
      this.#wasSaturatedInScan = true;
      return false;
    }
    if (this.#lastServed.size > this.#maxTracked) this.#lastServed.clear();
    this.#roundNo += 1;
    this.#lastServed.set(imei, this.#roundNo);
    this.#running.add(imei);
    return true;
  }

  /** Marks a queue as not running, so that it may be started again. */
  finish(imei: string): void {
    this.#running.delete(imei);
  }

  /** Skips a queue until a time. */
  coolDown(imei: string, untilMs: number): void {
    this.#cooldowns.set(imei, untilMs);
  }

  /** Ends a scan of all waiting commands: saturation continues only if a queue could not be started during it. */
  endScan(): void {
    this.#isSaturated = this.#wasSaturatedInScan;
    this.#wasSaturatedInScan = false;
  }

  /** Evicts expired cooldowns and, if all queues with waiting commands are known, the queues without any. */
  evictStale(allWaiting: ReadonlySet<string> | null, nowMs: number): void {
    if (allWaiting !== null)
      for (const imei of this.#lastServed.keys()) if (!allWaiting.has(imei)) this.#lastServed.delete(imei);
    for (const imei of this.#cooldowns.keys()) if (!this.#isCoolingDown(imei, nowMs)) this.#cooldowns.delete(imei);
  }

  #isCoolingDown(imei: string, nowMs: number): boolean {
    return (this.#cooldowns.get(imei) ?? 0) > nowMs;
  }
}
