/** A part of a sweep that may be long: a stop waits for no more than that. */
export interface JobSlice<P> {
  /** Where the turn before has left off; null where all is to be looked at from the beginning. */
  readonly cursor: P | null;
  /** Asked behind each file, so that each turn comes further. */
  readonly isOver: () => boolean;
}

/** How turns are taken. */
export interface ResumableJobOptions<P> {
  /** Between the end of one sweep and the next. */
  readonly periodMs: number;
  /** Answers where to go on, or null where all is done. */
  readonly runSlice: (turn: JobSlice<P>) => Promise<P | null>;
  readonly onError: (error: unknown) => void;
  readonly sliceMs?: number;
}

const maxSliceMs = 20_000;
/** Between two turns of one sweep. */
const sliceIntervalMs = 1_000;

/** Repeats a sweep turn by turn. One that has given up before its turn was over goes on there a period later. */
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

  /** Takes a turn at once; those who ask while one is under way wait for the next. */
  runNow(): Promise<void> {
    this.#running = this.#running.then(() => this.#runSlice());
    return this.#running;
  }

  /** Ends the turn under way behind the file at hand, and begins no other. */
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
