import type { Collection, Database } from '@fleet/storage';
import { describe, expect, it } from '@jest/globals';
import { deleteInBatches, throttle, writeThrottled } from './throttled-writes.ts';

interface Thing {
  readonly _id: number;
}

/** A collection that records the size of each bulk write, and the largest number of concurrent ones. */
class RecordedWrites {
  readonly database = {} as Database;
  readonly bulks: number[][] = [];
  concurrent = 0;
  maxConcurrent = 0;
  failing: number | null = null;

  get collection(): Collection<Thing> {
    const bulkWrite = async (operations: readonly { deleteOne: { filter: Thing } }[]): Promise<void> => {
      this.concurrent += 1;
      this.maxConcurrent = Math.max(this.maxConcurrent, this.concurrent);
      await new Promise(setImmediate);
      this.concurrent -= 1;
      const ids = operations.map(({ deleteOne }) => deleteOne.filter._id);
      if (this.failing !== null && ids.includes(this.failing)) throw new Error('away');
      this.bulks.push(ids);
    };
    return { bulkWrite } as unknown as Collection<Thing>;
  }

  write(ids: readonly number[], isUrgent = (): boolean => false): Promise<void> {
    const operations = ids.map((_id) => ({ deleteOne: { filter: { _id } } }));
    return writeThrottled(this.database, this.collection, operations, isUrgent);
  }
}

const range = (count: number, from = 0) => Array.from({ length: count }, (_unused, at) => from + at);

describe('writeThrottled', () => {
  it('writes all operations in order, in small batches', async () => {
    const recorded = new RecordedWrites();
    await recorded.write(range(25));
    expect(recorded.bulks.flat()).toEqual(range(25));
    expect(recorded.bulks.map(({ length }) => length)).toEqual([throttle.batchSize, throttle.batchSize, 5]);
  });

  it('writes the rest in one batch once it is urgent', async () => {
    const recorded = new RecordedWrites();
    await recorded.write(range(40), () => recorded.bulks.length > 0);
    expect(recorded.bulks.map(({ length }) => length)).toEqual([throttle.batchSize, 30]);
    expect(recorded.bulks.flat()).toEqual(range(40));
  });

  it('serializes concurrent writers, also after a failure', async () => {
    const recorded = new RecordedWrites();
    recorded.failing = 100;
    const [fails, one, other] = await Promise.allSettled([
      recorded.write(range(30, 100)),
      recorded.write(range(30)),
      recorded.write(range(30, 200)),
    ]);
    expect([fails?.status, one?.status, other?.status]).toEqual(['rejected', 'fulfilled', 'fulfilled']);
    expect(recorded.maxConcurrent).toBe(1);
    expect(recorded.bulks.map(([first]) => first)).toEqual([0, 200, 10, 210, 20, 220]);
  });
});

describe('deleteInBatches', () => {
  const nextPage = 25;
  /** Removes `count` items until it is over. Returns the size of each batch, and whether all are removed. */
  const removeAll = async (count: number, isOver: (removals: number) => boolean) => {
    let left = range(count);
    const removals: number[] = [];
    const remove = async (some: readonly number[]): Promise<void> => {
      removals.push(some.length);
      left = left.filter((each) => !some.includes(each));
    };
    const isDone = await deleteInBatches(
      async () => left.slice(0, nextPage),
      remove,
      () => isOver(removals.length),
    );
    return { removals, isDone, left: left.length };
  };

  it('removes page by page, in small batches, until nothing is left', async () => {
    const { batchSize: concurrent } = throttle;
    const all = await removeAll(30, () => false);
    expect(all).toEqual({ removals: [concurrent, concurrent, 5, 5], isDone: true, left: 0 });
    expect(await removeAll(0, () => true)).toEqual({ removals: [], isDone: true, left: 0 });
  });

  it('stops after a batch once it is over, and makes progress each time', async () => {
    const { batchSize: concurrent } = throttle;
    expect(await removeAll(30, () => true)).toEqual({ removals: [concurrent], isDone: false, left: 20 });
    const three = await removeAll(30, (removals) => removals === 3);
    expect(three).toEqual({ removals: [concurrent, concurrent, 5], isDone: false, left: 5 });
  });
});
