import { describe, expect, it } from '@jest/globals';
import { KeyedMutex } from './keyed-mutex.ts';

describe('KeyedMutex', () => {
  it('runs tasks of one key one after another, and those of another key concurrently', async () => {
    const mutex = new KeyedMutex();
    const events: string[] = [];
    let resolve = (): void => undefined;
    const promise = new Promise<void>((done) => {
      resolve = done;
    });
    const first = mutex.runExclusive('a', async () => {
      events.push('first');
      await promise;
      events.push('first ended');
    });
    const second = mutex.runExclusive('a', async () => events.push('second'));
    await mutex.runExclusive('b', async () => events.push('other key'));
    expect(events).toEqual(['first', 'other key']);
    resolve();
    await Promise.all([first, second]);
    expect(events).toEqual(['first', 'other key', 'first ended', 'second']);
  });

  it('continues after a task that failed, and returns its error to the caller', async () => {
    const mutex = new KeyedMutex();
    const failed = mutex.runExclusive('a', () => Promise.reject(new Error('full')));
    const next = mutex.runExclusive('a', async () => 'done');
    await expect(failed).rejects.toThrow('full');
    expect(await next).toBe('done');
  });

  it('waits until running and waiting tasks have ended', async () => {
    const mutex = new KeyedMutex();
    const ended: number[] = [];
    for (const number of [1, 2, 3])
      void mutex.runExclusive('a', async () => {
        await new Promise((resolve) => setImmediate(resolve));
        ended.push(number);
      });
    await mutex.waitUntilIdle();
    expect(ended).toEqual([1, 2, 3]);
  });
});
