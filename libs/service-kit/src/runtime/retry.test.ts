import { waitFor } from '@fleet/testing';
import { describe, expect, it } from '@jest/globals';
import { retryUntilSuccess } from './retry.ts';

describe('retryUntilSuccess', () => {
  it('repeats a task until it succeeds once', async () => {
    const errors: unknown[] = [];
    let attempts = 0;
    const retry = retryUntilSuccess(
      async () => {
        attempts += 1;
        if (attempts < 3) throw new Error(`attempt ${attempts}`);
      },
      (error) => errors.push(error),
    );
    expect(retry.isDone).toBe(false);
    await waitFor(() => retry.isDone);
    expect(errors).toEqual([new Error('attempt 1'), new Error('attempt 2')]);
    await retry.stop();
    expect(attempts).toBe(3);
  });

  it('waits for the running attempt when it is stopped, and starts no other', async () => {
    let attempts = 0;
    const retry = retryUntilSuccess(
      async () => {
        attempts += 1;
        await new Promise((resolve) => setTimeout(resolve, 20));
        throw new Error('down');
      },
      () => undefined,
    );
    await retry.stop();
    expect(attempts).toBe(1);
    expect(retry.isDone).toBe(false);
  });
});
