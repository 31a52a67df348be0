import { type Database, isDuplicateKey } from './mongo.ts';

interface Counter {
  readonly _id: string;
  readonly value: number;
}

/** Returns the next `count` ids of a collection, which are never reused. */
export async function allocateIds(database: Database, name: string, count: number): Promise<number[]> {
  const counters = database.collection<Counter>('counters');
  for (;;) {
    try {
      const update = { $inc: { value: count } };
      const counter = await counters.findOneAndUpdate({ _id: name }, update, { upsert: true, returnDocument: 'after' });
      if (counter === null) throw new Error(`the counter of ${name} returned no id`);
      return Array.from({ length: count }, (_, at) => counter.value - count + 1 + at);
    } catch (error) {
      // Another replica created the counter concurrently; the retry finds it.
      if (!isDuplicateKey(error)) throw error;
    }
  }
}

/** Returns the next id of a collection. */
export async function allocateId(database: Database, name: string): Promise<number> {
  const [id] = await allocateIds(database, name, 1);
  return id as number;
}
