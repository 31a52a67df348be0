/** One part of a long job. A stop waits only for the current slice. */
export interface JobSlice<P> {
  /** Position at which the previous slice ended; null to start from the beginning. */
  readonly cursor: P | null;
  /** Checked after each file, so that every slice makes progress. */
  readonly isOver: () => boolean;
}

/** Options of a ResumableJob. */
interface ResumableJobOptions<P> {
  /** Interval between the end of one run and the next. */
  readonly periodMs: number;
  /** Runs one slice. Returns the cursor to continue from, or null if the run is complete. */
  readonly runSlice: (turn: JobSlice<P>) => Promise<P | null>;
  readonly onError: (error: unknown) => void;
  readonly sliceMs?: number;
}

const maxSliceMs = 20_000;
/** Interval between two slices of one run. */
const sliceIntervalMs = 1_000;

/** Repeats a job in slices. A slice that ended early continues after the period. */
export class ResumableJob<P> {
  readonly #options: ResumableJobOptions<P>;
  #cursor: P | null = null;
  #isStopped = false;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: ResumableJobOptions<P>) {
    this.#options = options;
    this.#schedule(options.periodMs);
  }

  /** Runs a slice immediately. Calls during a running slice wait for the next one. */
  runNow(): Promise<void> {
    this.#running = this.#running.then(() => this.#runSlice());
    return this.#running;
  }

  /** Ends the running slice after the current file and starts no other. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #runSlice(): Promise<void> {
    if (this.#isStopped) return;
    clearTimeout(this.#timer);
    const { periodMs, runSlice, onError, sliceMs = maxSliceMs } = this.#options;
    const deadlineMs = performance.now() + sliceMs;
    const isOver = (): boolean => this.#isStopped || performance.now() >= deadlineMs;
    try {
      this.#cursor = await runSlice({ cursor: this.#cursor, isOver });
    } catch (error) {
      onError(error);
      return this.#schedule(periodMs);
    }
    this.#schedule(this.#cursor !== null && isOver() ? Math.min(sliceIntervalMs, periodMs) : periodMs);
  }

  #schedule(delayMs: number): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => void this.runNow(), delayMs);
  }
}
