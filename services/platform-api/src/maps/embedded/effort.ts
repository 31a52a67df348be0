import { setImmediate as otherWork } from 'node:timers/promises';

/** Steps after which other requests get a turn: some milliseconds. */
const stepsAtOnce = 4_096;
/** Some ten seconds of looking: longer than that nobody waits for a map. */
const stepsAtMost = 10_000_000;
/** With all waiting: beside others, or on a slow machine, the same steps take longer. */
const lastsAtMostMs = 20_000;

/** What a long calculation may cost: it lets other work in between, and ends where it has looked at too much, or for too long since it was asked for. */
export class Effort {
  readonly #most: number;
  readonly #endMs: number;
  #steps = 0;
  #isLate = false;

  constructor(most = stepsAtMost, lastsMs = lastsAtMostMs) {
    this.#most = most;
    this.#endMs = performance.now() + lastsMs;
  }

  /** Nothing more is to be looked at. */
  get isSpent(): boolean {
    return this.#isLate || this.#steps >= this.#most;
  }

  /** Counts a step; a promise to be waited for where it is the others' turn. */
  step(): Promise<void> | undefined {
    this.#steps += 1;
    if (this.#steps % stepsAtOnce !== 0) return undefined;
    this.#isLate = performance.now() >= this.#endMs;
    return otherWork();
  }
}
