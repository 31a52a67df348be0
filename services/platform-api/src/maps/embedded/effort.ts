import { setImmediate as otherWork } from 'node:timers/promises';

/** Steps after which other requests get a turn: some milliseconds. */
const stepsAtOnce = 4_096;
/** Some ten seconds of looking: longer than that nobody waits for a map. */
const stepsAtMost = 10_000_000;

/** What a long calculation may cost: it lets other work in between, and ends where it has looked at too much. */
export class Effort {
  readonly #most: number;
  #steps = 0;

  constructor(most = stepsAtMost) {
    this.#most = most;
  }

  /** Nothing more is to be looked at. */
  get isSpent(): boolean {
    return this.#steps >= this.#most;
  }

  /** Counts a step; a promise to be waited for where it is the others' turn. */
  step(): Promise<void> | undefined {
    this.#steps += 1;
    return this.#steps % stepsAtOnce === 0 ? otherWork() : undefined;
  }
}
