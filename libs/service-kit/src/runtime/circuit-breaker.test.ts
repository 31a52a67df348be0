import { waitFor } from '@fleet/testing';
import { describe, expect, it } from '@jest/globals';
import { createCircuitBreaker } from './circuit-breaker.ts';

class RejectedError extends Error {}

describe('createCircuitBreaker', () => {
  const options = { volumeThreshold: 4, resetTimeoutMs: 60_000 };

  it('opens when half of the calls failed, from the volume threshold on', async () => {
    const breaker = createCircuitBreaker(async (isOk: boolean) => {
      if (!isOk) throw new Error('down');
    }, options);
    for (const isOk of [false, true, false]) await breaker.fire(isOk).catch(() => undefined);
    expect(breaker.opened).toBe(false);
    await breaker.fire(false).catch(() => undefined);
    expect(breaker.opened).toBe(true);
    await expect(breaker.fire(true)).rejects.toThrow('Breaker is open');
    breaker.shutdown();
  });

  it('ignores errors that are no failure of the provider', async () => {
    const breaker = createCircuitBreaker(() => Promise.reject(new RejectedError('invalid number')), {
      ...options,
      isFailure: (error) => !(error instanceof RejectedError),
    });
    for (let call = 0; call < 10; call += 1) await expect(breaker.fire()).rejects.toThrow('invalid number');
    expect(breaker.opened).toBe(false);
    breaker.shutdown();
  });

  it('lets one call test the provider after the reset timeout', async () => {
    let isDown = true;
    const breaker = createCircuitBreaker(
      async () => {
        if (isDown) throw new Error('down');
      },
      { volumeThreshold: 1, resetTimeoutMs: 20 },
    );
    await breaker.fire().catch(() => undefined);
    expect(breaker.opened).toBe(true);
    isDown = false;
    await waitFor(() => breaker.halfOpen);
    await breaker.fire();
    expect(breaker.closed).toBe(true);
    breaker.shutdown();
  });
});
