import { waitFor } from '@fleet/testing';
import { describe, expect, it } from '@jest/globals';
import { SerialQueue } from './serial-queue.ts';

const never = new AbortController().signal;

/** Creates a task that ends when the test calls `end`. */
function createHeldTask(): { work: () => Promise<string>; end: () => void; hasBegun: () => boolean } {
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

describe('SerialQueue', () => {
  it('runs tasks one after the other, even if one fails', async () => {
    const queue = new SerialQueue(3);
    const first = createHeldTask();
    const order: string[] = [];
    const all = Promise.allSettled([
      queue.run(async () => order.push(await first.work()), never),
      queue.run(() => Promise.reject(new Error(`after ${order.length}`)), never),
      queue.run(async () => order.push('last'), never),
    ]);
    await waitFor(first.hasBegun);
    expect(order).toEqual([]);
    first.end();
    expect((await all).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(order).toEqual(['done', 'last']);
  });

  it('rejects a task above the limit until a pending one has ended', async () => {
    const queue = new SerialQueue(1);
    const first = createHeldTask();
    const taken = queue.run(first.work, never);
    await expect(queue.run(async () => 'too many', never)).rejects.toMatchObject({ code: 'unavailable', status: 503 });
    first.end();
    expect(await taken).toBe('done');
    expect(await queue.run(async () => 'next', never)).toBe('next');
  });

  it('skips tasks whose signal is aborted before they start, but completes the running one', async () => {
    const queue = new SerialQueue(3);
    const first = createHeldTask();
    const aborted = new AbortController();
    const done: string[] = [];
    const all = Promise.allSettled([
      queue.run(first.work, aborted.signal),
      queue.run(async () => done.push('left'), aborted.signal),
      queue.run(async () => done.push('wanted'), never),
    ]);
    await waitFor(first.hasBegun);
    aborted.abort(new Error('the client closed the connection'));
    first.end();
    expect(await all).toMatchObject([
      { status: 'fulfilled', value: 'done' },
      {
        status: 'rejected',
        reason: { code: 'unavailable', status: 503, cause: { message: 'the client closed the connection' } },
      },
      { status: 'fulfilled' },
    ]);
    expect(done).toEqual(['wanted']);
  });
});
