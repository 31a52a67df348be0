import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { searchLimit } from './search-limit.ts';

describe('searchLimit', () => {
  it('runs two searches at a time, and others in order, whether they fail or not', async () => {
    const limit = searchLimit();
    const begun: number[] = [];
    const ends: (() => void)[] = [];
    const works = [0, 1, 2, 3, 4].map((at) =>
      limit(async () => {
        begun.push(at);
        await new Promise<void>((resolve) => {
          ends[at] = resolve;
        });
        if (at === 1) throw new Error('failed');
        return at;
      }),
    );
    const all = Promise.allSettled(works);
    await setImmediate();
    expect(begun).toEqual([0, 1]);
    for (const [at, after] of [
      [1, [0, 1, 2]],
      [2, [0, 1, 2, 3]],
      [0, [0, 1, 2, 3, 4]],
    ] as const) {
      ends[at]?.();
      await setImmediate();
      expect(begun).toEqual(after);
    }
    ends[3]?.();
    ends[4]?.();
    expect((await all).map(({ status }) => status)).toEqual([
      'fulfilled',
      'rejected',
      'fulfilled',
      'fulfilled',
      'fulfilled',
    ]);
    const free = [5, 6].map((at) => limit(async () => at));
    expect(await Promise.all(free)).toEqual([5, 6]);
  });
});
