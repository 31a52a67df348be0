import { waitFor } from '@fleet/testing';
import { describe, expect, it } from '@jest/globals';
import { Batcher } from './batcher.ts';

/** Returns a batcher that doubles numbers, and the batches it received; a batch ends when `release` is called. */
function doubler() {
  const batches: (readonly number[])[] = [];
  const ends: (() => void)[] = [];
  const batcher = new Batcher<number, number>(async (items) => {
    batches.push(items);
    await new Promise<void>((resolve) => ends.push(resolve));
    if (items.includes(13)) throw new Error('thirteen');
    return items.map((item) => 2 * item);
  });
  const release = async (): Promise<void> => {
    await waitFor(() => ends.length > 0);
    ends.shift()?.();
  };
  return { batcher, batches, release };
}

describe('Batcher', () => {
  it('runs the first item immediately and joins items that arrive during the run', async () => {
    const { batcher, batches, release } = doubler();
    const results = [1, 2, 3].map((item) => batcher.add(item));
    expect(batches).toEqual([[1]]);
    await release();
    expect(await results[0]).toBe(2);
    await release();
    expect(batches).toEqual([[1], [2, 3]]);
    expect(await Promise.all(results)).toEqual([2, 4, 6]);
  });

  it('rejects all items of a failed batch and runs the next batch', async () => {
    const { batcher, release } = doubler();
    const results = [1, 13, 3].map((item) => batcher.add(item));
    const failed = Promise.allSettled(results.slice(1));
    await release();
    expect(await results[0]).toBe(2);
    await release();
    expect(await failed).toMatchObject([{ reason: new Error('thirteen') }, { reason: new Error('thirteen') }]);
    const next = batcher.add(5);
    await release();
    expect(await next).toBe(10);
  });

  it('bounds a batch', async () => {
    const { batcher, batches, release } = doubler();
    const results = Array.from({ length: 702 }, (_none, at) => batcher.add(at + 100));
    for (let batch = 0; batch < 3; batch += 1) await release();
    expect((await Promise.all(results)).at(-1)).toBe(2 * 801);
    expect(batches.map(({ length }) => length)).toEqual([1, 500, 201]);
  });
});
