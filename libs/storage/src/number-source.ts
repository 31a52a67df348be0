import type { Collection } from 'mongodb';
import { type Database, isDuplicateKey } from './mongo.ts';

interface Counter {
  readonly _id: string;
  readonly value: number;
}

/** Numbers of the counter of a collection, never given twice. Those who ask while the database is being asked share the next answer. */
export class NumberSource {
  readonly #counters: Collection<Counter>;
  readonly #name: string;
  #waiting: { resolve: (value: number) => void; reject: (error: unknown) => void }[] = [];
  #isAsking = false;

  constructor(database: Database, name: string) {
    this.#counters = database.collection<Counter>('counters');
    this.#name = name;
  }

  next(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      if (!this.#isAsking) void this.#ask();
    });
  }

  async #ask(): Promise<void> {
    this.#isAsking = true;
    while (this.#waiting.length > 0) {
      const asked = this.#waiting;
      this.#waiting = [];
      try {
        const last = await this.#take(asked.length);
        for (const [at, { resolve }] of asked.entries()) resolve(last - asked.length + 1 + at);
      } catch (error) {
        for (const { reject } of asked) reject(error);
      }
    }
    this.#isAsking = false;
  }

  async #take(count: number): Promise<number> {
    for (;;) {
      try {
        const counter = await this.#counters.findOneAndUpdate(
          { _id: this.#name },
          { $inc: { value: count } },
          { upsert: true, returnDocument: 'after' },
        );
        if (counter === null) throw new Error(`the counter of ${this.#name} gave no number`);
        return counter.value;
      } catch (error) {
        // Two that make the counter at the same time: the second finds it there.
        if (!isDuplicateKey(error)) throw error;
      }
    }
  }
}
