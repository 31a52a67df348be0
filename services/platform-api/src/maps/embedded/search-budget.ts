import { setImmediate as yieldToOthers } from 'node:timers/promises';

/** Number of steps after which the calculation yields to other requests: some milliseconds. */
const stepsPerYield = 4_096;
/** Largest number of steps: about ten seconds, the longest useful wait for a map. */
const maxSteps = 10_000_000;
/** Longest duration including waits. The same steps take longer beside other requests or on a slow machine. */
const maxDurationMs = 20_000;

/**
 * Holds the budget of a long calculation. Yields to other work, and ends the calculation after too many steps or too
 * much time.
 */
export class SearchBudget {
  readonly #most: number;
  readonly #endMs: number;
  #steps = 0;
  #isLate = false;

  constructor(most = maxSteps, durationMs = maxDurationMs) {
    this.#most = most;
    this.#endMs = performance.now() + durationMs;
  }

  /** True once the calculation has to end. */
  get isExhausted(): boolean {
    return this.#isLate || this.#steps >= this.#most;
  }

  /** Counts a step. Returns a promise to await if the calculation has to yield. */
  step(): Promise<void> | undefined {
    this.#steps += 1;
    if (this.#steps % stepsPerYield !== 0) return undefined;
    this.#isLate = performance.now() >= this.#endMs;
    return yieldToOthers();
  }
}
