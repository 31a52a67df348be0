import type { Collection, Database } from '@fleet/storage';
import { describe, expect, it } from '@jest/globals';
import { gentleWrites, removeGently, writeGently } from './gentle-writes.ts';

interface Thing {
  readonly _id: number;
}

/** A collection that notes what is written in one go, and whether two write at once. */
class Noted {
  readonly database = {} as Database;
  readonly bulks: number[][] = [];
  together = 0;
  most = 0;
  failing: number | null = null;

  get collection(): Collection<Thing> {
    const bulkWrite = async (operations: readonly { deleteOne: { filter: Thing } }[]): Promise<void> => {
      this.together += 1;
      this.most = Math.max(this.most, this.together);
      await new Promise(setImmediate);
      this.together -= 1;
      const ids = operations.map(({ deleteOne }) => deleteOne.filter._id);
      if (this.failing !== null && ids.includes(this.failing)) throw new Error('away');
      this.bulks.push(ids);
    };
    return { bulkWrite } as unknown as Collection<Thing>;
  }

  write(ids: readonly number[], isUrgent = (): boolean => false): Promise<void> {
    const operations = ids.map((_id) => ({ deleteOne: { filter: { _id } } }));
    return writeGently(this.database, this.collection, operations, isUrgent);
  }
}

const upTo = (count: number, from = 0) => Array.from({ length: count }, (_unused, at) => from + at);

describe('what is written gently', () => {
  it('is written whole and in order, a few at a time', async () => {
    const noted = new Noted();
    await noted.write(upTo(25));
    expect(noted.bulks.flat()).toEqual(upTo(25));
    expect(noted.bulks.map(({ length }) => length)).toEqual([gentleWrites.atOnce, gentleWrites.atOnce, 5]);
  });

  it('goes in one go once it is urgent', async () => {
    const noted = new Noted();
    await noted.write(upTo(40), () => noted.bulks.length > 0);
    expect(noted.bulks.map(({ length }) => length)).toEqual([gentleWrites.atOnce, 30]);
    expect(noted.bulks.flat()).toEqual(upTo(40));
  });

  it('takes turns with what else is written so, also where that fails', async () => {
    const noted = new Noted();
    noted.failing = 100;
    const [fails, one, other] = await Promise.allSettled([
      noted.write(upTo(30, 100)),
      noted.write(upTo(30)),
      noted.write(upTo(30, 200)),
    ]);
    expect([fails?.status, one?.status, other?.status]).toEqual(['rejected', 'fulfilled', 'fulfilled']);
    expect(noted.most).toBe(1);
    expect(noted.bulks.map(([first]) => first)).toEqual([0, 200, 10, 210, 20, 220]);
  });
});

describe('what is removed gently', () => {
  const pageOf = 25;
  /** Removes `count` things until it is over; answers how many went each time, and whether all are gone. */
  const removeAll = async (count: number, isOver: (removals: number) => boolean) => {
    let left = upTo(count);
    const removals: number[] = [];
    const remove = async (some: readonly number[]): Promise<void> => {
      removals.push(some.length);
      left = left.filter((each) => !some.includes(each));
    };
    const isDone = await removeGently(
      async () => left.slice(0, pageOf),
      remove,
      () => isOver(removals.length),
    );
    return { removals, isDone, left: left.length };
  };

  it('goes page by page, a few at a time, until nothing is left', async () => {
    const { atOnce } = gentleWrites;
    const all = await removeAll(30, () => false);
    expect(all).toEqual({ removals: [atOnce, atOnce, 5, 5], isDone: true, left: 0 });
    expect(await removeAll(0, () => true)).toEqual({ removals: [], isDone: true, left: 0 });
  });

  it('ends behind a few where the time is over, and comes further each time', async () => {
    const { atOnce } = gentleWrites;
    expect(await removeAll(30, () => true)).toEqual({ removals: [atOnce], isDone: false, left: 20 });
    const three = await removeAll(30, (removals) => removals === 3);
    expect(three).toEqual({ removals: [atOnce, atOnce, 5], isDone: false, left: 5 });
  });
});
