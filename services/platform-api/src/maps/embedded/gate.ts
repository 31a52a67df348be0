/** Lets so many works be under way at a time; the others wait, and go in the order in which they came. */
export class Gate {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(atOnce: number) {
    this.#free = atOnce;
  }

  async pass<T>(work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await work();
    } finally {
      // Whoever is next gets the place at once, so that nobody who comes meanwhile takes it.
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}

/** A search holds what it has looked at in memory, and each more that goes beside it makes all of them slower. */
export const searchGate = (): Gate => new Gate(2);
