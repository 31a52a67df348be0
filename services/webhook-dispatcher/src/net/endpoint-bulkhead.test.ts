import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { EndpointBulkhead, EndpointBulkheads } from './endpoint-bulkhead.ts';

const breakerOpenMs = 30_000;
let bulkhead: EndpointBulkhead;
beforeEach(() => {
  jest.useFakeTimers();
  bulkhead = new EndpointBulkhead(1, { concurrency: 20, breakerOpenMs, trust: undefined, onFree: () => undefined });
});
afterEach(() => {
  bulkhead.close();
  jest.useRealTimers();
});

const isOpen = (): boolean => bulkhead.blockedUntilMs !== null;

/** Runs attempts one after another: `x` is a failing one, `.` a successful one. */
async function attempt(outcomes: string): Promise<void> {
  for (const outcome of outcomes) expect(await bulkhead.execute(async () => outcome === '.')).toBe(true);
}

/** Starts concurrent attempts; the returned function ends the oldest of them. */
function begin(count: number): (isSuccess: boolean) => Promise<void> {
  const inFlight = Array.from({ length: count }, () => {
    let end: (isSuccess: boolean) => void = () => undefined;
    const attempt = new Promise<boolean>((resolve) => {
      end = resolve;
    });
    return { end, fired: bulkhead.execute(() => attempt) };
  });
  return async (isSuccess) => {
    const oldest = inFlight.shift();
    oldest?.end(isSuccess);
    await oldest?.fired;
  };
}

describe('the circuit breaker of a webhook', () => {
  it('opens after ten failures in a row, however many successes preceded them', async () => {
    await attempt('....................');
    await attempt('xxxxxxxxx');
    expect(isOpen()).toBe(false);
    await attempt('x');
    expect(isOpen()).toBe(true);
  });

  it.each(['xxxx.xx..x', '..x.xxxxxx', 'xxxxxxx...', 'x.xx.xxx.x'])(
    'opens after 7 failures of 10, in any order: %s',
    async (outcomes) => {
      await attempt(outcomes.slice(0, -1));
      expect(isOpen()).toBe(false);
      await attempt(outcomes.slice(-1));
      expect(isOpen()).toBe(true);
    },
  );

  it('stays closed at 60 %', async () => {
    for (let minute = 0; minute < 20; minute += 1) {
      await attempt('xx.x.xx.x.');
      expect(isOpen()).toBe(false);
      jest.advanceTimersByTime(60_000);
    }
  });

  it('counts ended attempts only', async () => {
    const endNext = begin(20);
    for (const outcome of 'xxxx.xxxx') await endNext(outcome === '.');
    expect(isOpen()).toBe(false);
    await endNext(false);
    expect(isOpen()).toBe(true);
    // Whatever the others do.
    for (let left = 10; left > 0; left -= 1) await endNext(true);
    expect(isOpen()).toBe(true);
  });

  it('drops attempts older than five minutes', async () => {
    await attempt('xxx.xxx');
    jest.advanceTimersByTime(300_000);
    await attempt('xx.');
    expect(isOpen()).toBe(false);
    await attempt('xxxxxxx');
    expect(isOpen()).toBe(true);
  });

  it('counts younger ones', async () => {
    await attempt('xxx.xxx');
    jest.advanceTimersByTime(280_000);
    await attempt('xx.');
    expect(isOpen()).toBe(true);
  });

  it('permits one attempt after 30 seconds, and resets after its success', async () => {
    await attempt('xxx.xxx.x.');
    expect(isOpen()).toBe(true);
    expect(await bulkhead.execute(async () => true)).toBe(false);
    jest.advanceTimersByTime(breakerOpenMs - 1);
    expect(isOpen()).toBe(true);
    jest.advanceTimersByTime(1);
    expect(bulkhead.freeSlots).toBe(1);
    await attempt('x');
    expect(isOpen()).toBe(true);
    jest.advanceTimersByTime(breakerOpenMs);
    await attempt('.');
    expect([isOpen(), bulkhead.freeSlots]).toEqual([false, 20]);
    await attempt('xxxxx.xx');
    expect(isOpen()).toBe(false);
    await attempt('x');
    expect(isOpen()).toBe(true);
  });
});

describe('the state of webhooks', () => {
  it('is dropped after a long time without attempts, also for a failing one, which may have been deleted', async () => {
    const bulkheads = new EndpointBulkheads({
      concurrency: 20,
      breakerOpenMs,
      trust: undefined,
      onFree: () => undefined,
    });
    bulkhead = bulkheads.get(1);
    await attempt('x'.repeat(10));
    expect(isOpen()).toBe(true);
    jest.advanceTimersByTime(3_600_000);
    bulkheads.evictIdle();
    expect(bulkheads.get(1)).toBe(bulkhead);
    jest.advanceTimersByTime(24 * 3_600_000);
    bulkheads.evictIdle();
    expect(bulkheads.get(1)).not.toBe(bulkhead);
    bulkheads.close();
  });
});

describe('the slots of a webhook', () => {
  it('are twenty; further attempts wait briefly for one', async () => {
    for (let taken = 0; taken < 20; taken += 1) expect(await bulkhead.acquire()).toBe(true);
    const [next, late] = [bulkhead.acquire(), bulkhead.acquire()];
    bulkhead.release();
    expect(await next).toBe(true);
    expect(bulkhead.inFlight).toBe(20);
    jest.advanceTimersByTime(1_000);
    expect(await late).toBe(false);
  });
});
