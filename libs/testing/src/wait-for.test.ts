import { describe, expect, it } from '@jest/globals';
import { waitFor, waitForAssertion } from './wait-for.ts';

describe('waitFor', () => {
  it('returns the first result that is neither false, null nor undefined', async () => {
    const results = [false, null, undefined, 0, 1];
    await expect(waitFor(async () => results.shift())).resolves.toBe(0);
  });

  it('throws an error with the description after the time-out', async () => {
    await expect(waitFor(() => false, 'the terminal is online', 30)).rejects.toThrow(
      'not met within 30 ms: the terminal is online',
    );
  });

  it('describes the condition by its source by default', async () => {
    const online: string[] = [];
    await expect(waitFor(() => online.length > 1, undefined, 30)).rejects.toThrow('online.length > 1');
  });

  it('throws an error of the condition at once', async () => {
    const check = () => Promise.reject(new Error('the server has exited'));
    await expect(waitFor(check)).rejects.toThrow('the server has exited');
  });
});

describe('waitForAssertion', () => {
  it('repeats the assertion until it passes', async () => {
    const results = [1, 2, 3];
    await waitForAssertion(() => expect(results.shift()).toBe(3));
    expect(results).toEqual([]);
  });

  it('throws the last failure after the time-out', async () => {
    await expect(waitForAssertion(() => expect('offline').toBe('online'), 30)).rejects.toThrow('offline');
  });
});
