import { describe, expect, it } from '@jest/globals';
import { until } from '../../../../../libs/service-kit/src/testing/server-process.ts';
import { Turns } from './turns.ts';

const never = new AbortController().signal;

/** A work that ends when the test says so. */
function held(): { work: () => Promise<string>; end: () => void; hasBegun: () => boolean } {
  let end = (): void => undefined;
  let hasBegun = false;
  const promise = new Promise<string>((resolve) => {
    end = () => resolve('done');
  });
  const work = (): Promise<string> => {
    hasBegun = true;
    return promise;
  };
  return { work, end: () => end(), hasBegun: () => hasBegun };
}

describe('Turns', () => {
  it('lets works go one after the other, whether they fail or not', async () => {
    const turns = new Turns(3);
    const first = held();
    const order: string[] = [];
    const all = Promise.allSettled([
      turns.take(async () => order.push(await first.work()), never),
      turns.take(() => Promise.reject(new Error(`after ${order.length}`)), never),
      turns.take(async () => order.push('last'), never),
    ]);
    await until(first.hasBegun);
    expect(order).toEqual([]);
    first.end();
    expect((await all).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(order).toEqual(['done', 'last']);
  });

  it('refuses what would wait as one too many, until one has ended', async () => {
    const turns = new Turns(1);
    const first = held();
    const taken = turns.take(first.work, never);
    await expect(turns.take(async () => 'too many', never)).rejects.toMatchObject({ code: 'unavailable', status: 503 });
    first.end();
    expect(await taken).toBe('done');
    expect(await turns.take(async () => 'next', never)).toBe('next');
  });

  it('leaves out what nobody waits for any more when its turn comes, and lets the work that is under way end', async () => {
    const turns = new Turns(3);
    const first = held();
    const gone = new AbortController();
    const done: string[] = [];
    const all = Promise.allSettled([
      turns.take(first.work, gone.signal),
      turns.take(async () => done.push('left'), gone.signal),
      turns.take(async () => done.push('wanted'), never),
    ]);
    await until(first.hasBegun);
    gone.abort(new Error('the caller is gone'));
    first.end();
    expect(await all).toMatchObject([
      { status: 'fulfilled', value: 'done' },
      { status: 'rejected', reason: { code: 'unavailable', status: 503, cause: { message: 'the caller is gone' } } },
      { status: 'fulfilled' },
    ]);
    expect(done).toEqual(['wanted']);
  });
});
