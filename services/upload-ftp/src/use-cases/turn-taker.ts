/** A part of a sweep that may be long: a stop waits for no more than that. */
export interface SweepTurn<P> {
  /** Where the turn before has left off; null where all is to be looked at from the beginning. */
  readonly from: P | null;
  /** Asked behind each file, so that each turn comes further. */
  readonly isOver: () => boolean;
}

/** How turns are taken. */
export interface TurnOptions<P> {
  /** Between the end of one sweep and the next. */
  readonly periodMs: number;
  /** Answers where to go on, or null where all is done. */
  readonly takeTurn: (turn: SweepTurn<P>) => Promise<P | null>;
  readonly onError: (error: unknown) => void;
  readonly turnMs?: number;
}

const longestTurnMs = 20_000;
/** Between two turns of one sweep. */
const restMs = 1_000;

/** Repeats a sweep turn by turn. One that has given up before its turn was over goes on there a period later. */
export class TurnTaker<P> {
  readonly #options: TurnOptions<P>;
  #from: P | null = null;
  #isStopped = false;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: TurnOptions<P>) {
    this.#options = options;
    this.#plan(options.periodMs);
  }

  /** Takes a turn at once; those who ask while one is under way wait for the next. */
  now(): Promise<void> {
    this.#running = this.#running.then(() => this.#take());
    return this.#running;
  }

  /** Ends the turn under way behind the file at hand, and begins no other. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #take(): Promise<void> {
    if (this.#isStopped) return;
    clearTimeout(this.#timer);
    const { periodMs, takeTurn, onError, turnMs = longestTurnMs } = this.#options;
    const untilMs = performance.now() + turnMs;
    const isOver = (): boolean => this.#isStopped || performance.now() >= untilMs;
    try {
      this.#from = await takeTurn({ from: this.#from, isOver });
    } catch (error) {
      onError(error);
      return this.#plan(periodMs);
    }
    this.#plan(this.#from !== null && isOver() ? Math.min(restMs, periodMs) : periodMs);
  }

  #plan(afterMs: number): void {
    if (this.#isStopped) return;
    this.#timer = setTimeout(() => void this.now(), afterMs);
  }
}
