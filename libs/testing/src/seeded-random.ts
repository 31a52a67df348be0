/** Generates pseudo-random numbers that are the same for the same seed (mulberry32). */
export class SeededRandom {
  #state: number;

  constructor(seed: number) {
    this.#state = seed >>> 0;
  }

  /** Returns a number from 0 (inclusive) to 1 (exclusive). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  }

  between(low: number, high: number): number {
    return low + (high - low) * this.next();
  }

  shuffled<T>(list: Iterable<T>): T[] {
    return [...list]
      .map((value) => ({ value, place: this.next() }))
      .toSorted((left, right) => left.place - right.place)
      .map(({ value }) => value);
  }

  /** Interleaves the items of lists randomly; each list keeps its order. */
  interleaved<T>(lists: readonly (readonly T[])[]): T[] {
    const left = lists.map((list) => [...list]);
    const order = this.shuffled(lists.flatMap((list, at) => list.map(() => at)));
    return order.flatMap((at) => left[at]?.splice(0, 1) ?? []);
  }
}
