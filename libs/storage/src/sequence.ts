import type { Collection } from 'mongodb';
import { Batcher } from './batcher.ts';
import { type Database, isDuplicateKey } from './mongo.ts';

interface Counter {
  readonly _id: string;
  readonly value: number;
}

/** Returns numbers of a collection's counter, each only once. */
export class Sequence {
  readonly #counters: Collection<Counter>;
  readonly #name: string;
  readonly #batcher: Batcher<null, number>;

  constructor(database: Database, name: string) {
    this.#counters = database.collection<Counter>('counters');
    this.#name = name;
    this.#batcher = new Batcher(async ({ length }) => {
      const last = await this.#allocate(length);
      return Array.from({ length }, (_none, index) => last - length + 1 + index);
    });
  }

  next(): Promise<number> {
    return this.#batcher.add(null);
  }

  async #allocate(count: number): Promise<number> {
    for (;;) {
      try {
        const counter = await this.#counters.findOneAndUpdate(
          { _id: this.#name },
          { $inc: { value: count } },
          { upsert: true, returnDocument: 'after' },
        );
        if (counter === null) throw new Error(`the counter of ${this.#name} returned no number`);
        return counter.value;
      } catch (error) {
        // Another process created the counter at the same time.
        if (!isDuplicateKey(error)) throw error;
      }
    }
  }
}
