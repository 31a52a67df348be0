import { describe, expect, it } from '@jest/globals';
import { loadConfig, parseNumbers } from '../config.ts';
import { applyDelta, emptyDelta, failureDelta, type HealthDelta, mergeDeltas, successDelta } from './health.ts';
import { type Failure, nextWaitMs, parseRetryAfter } from './retry.ts';

const plan = { waitsMs: parseNumbers(loadConfig({}).WEBHOOK_RETRY_WAITS_MS), overloadWaitMs: 60_000 };
const failure: Failure = { statusCode: 500, errorCode: null, retryAfterMs: null };
const hourMs = 3_600_000;

describe('the back-off after a failure', () => {
  it('follows the schedule, plus or minus a fifth; nine attempts in about 18 hours', () => {
    const waits = Array.from({ length: 9 }, (_unused, at) => nextWaitMs(at + 1, failure, plan, 0.5));
    const minutes = [5 / 60, 30 / 60, 2, 10, 30, 120, 300, 600];
    expect(waits).toEqual([...minutes.map((each) => each * 60_000), null]);
    expect([nextWaitMs(1, failure, plan, 0), nextWaitMs(1, failure, plan, 1)]).toEqual([4_000, 6_000]);
  });

  it.each<[string, Partial<Failure>, number]>([
    ['429', { statusCode: 429 }, 60_000],
    ['503', { statusCode: 503 }, 60_000],
    ['a time-out', { statusCode: null, errorCode: 'timeout' }, 60_000],
    ['a connection that takes too long', { statusCode: null, errorCode: 'connect_timeout' }, 60_000],
    ['429 with a Retry-After of two minutes', { statusCode: 429, retryAfterMs: 120_000 }, 120_000],
    ['503 with a Retry-After of a day', { statusCode: 503, retryAfterMs: 24 * hourMs }, hourMs],
    ['500 with a Retry-After of seven seconds', { retryAfterMs: 7_000 }, 7_000],
  ])('after %s is at least as long', (_name, more, leastMs) => {
    expect(nextWaitMs(1, { ...failure, ...more }, plan, 0)).toBe(leastMs);
    expect(nextWaitMs(1, { ...failure, ...more }, plan, 1)).toBeLessThanOrEqual(leastMs * 1.1);
    // A longer scheduled back-off remains.
    expect(nextWaitMs(8, { ...failure, ...more }, plan, 0.5)).toBe(10 * hourMs);
  });

  it('is parsed from seconds or a date', () => {
    const nowMs = Date.parse('2026-01-31T08:00:00Z');
    expect(parseRetryAfter('120', nowMs)).toBe(120_000);
    expect(parseRetryAfter('Sat, 31 Jan 2026 08:01:00 GMT', nowMs)).toBe(60_000);
    expect(parseRetryAfter('Sat, 31 Jan 2026 07:00:00 GMT', nowMs)).toBe(0);
    const endless = { ...failure, retryAfterMs: parseRetryAfter('9'.repeat(400), nowMs) };
    expect(nextWaitMs(1, endless, plan, 0)).toBe(hourMs);
    for (const none of [undefined, 'soon', '']) expect(parseRetryAfter(none, nowMs)).toBeNull();
  });
});

describe('the health of a webhook', () => {
  const disableAfterMs = 120 * hourMs;
  const start = 1_790_000_000_000;
  const healthy = {
    _id: 1,
    epoch: 0,
    disabledReason: null,
    failingSince: null,
    consecutiveFailures: 0,
    lastSuccessAt: null,
    lastFailureAt: null,
    noticedPercent: 0,
    dueNotice: null,
  };
  const after = (before: typeof healthy | ReturnType<typeof applyDelta>, findings: HealthDelta) =>
    applyDelta(before, findings, disableAfterMs);
  const failed = (atMs: number) => failureDelta(atMs, false, 7);

  it('counts failures since the last success, across combined saves', () => {
    const found = [failed(start), failed(start + 1), successDelta(start + 2), failed(start + 3), failed(start + 4)];
    const health = after({ ...healthy, consecutiveFailures: 5 }, found.reduce(mergeDeltas, emptyDelta));
    expect(health).toMatchObject({
      consecutiveFailures: 2,
      failingSince: new Date(start + 3),
      lastSuccessAt: new Date(start + 2),
      lastFailureAt: new Date(start + 4),
    });
    const recovered = after(health, mergeDeltas(failed(start + 5), successDelta(start + 6)));
    expect(recovered).toMatchObject({ consecutiveFailures: 0, failingSince: null, noticedPercent: 0 });
    expect(recovered.lastFailureAt).toEqual(new Date(start + 5));
  });

  it('does not count failures before a success that another dispatcher recorded', () => {
    const recovered = { ...healthy, lastSuccessAt: new Date(start + 5) };
    const late = mergeDeltas(failed(start), failed(start + 4));
    expect(after(recovered, late)).toEqual({ ...recovered, lastFailureAt: new Date(start + 4) });
    expect(after(recovered, mergeDeltas(late, failed(start + 6)))).toMatchObject({ consecutiveFailures: 3 });
    expect(after(recovered, successDelta(start + 1)).lastSuccessAt).toEqual(new Date(start + 5));
    // 410 is final.
    expect(after(recovered, failureDelta(start, true, 7))).toMatchObject({ disabledReason: 'gone' });
  });

  it('leads to one notice after another, and to disabling only after these', () => {
    let health = after(healthy, failed(start));
    expect(health).toMatchObject({ disabledReason: null, dueNotice: null });
    // Nothing was sent for a week: the owner is notified before the webhook is disabled.
    const seen: unknown[] = [];
    for (let i = 0; i < 4; i += 1) {
      health = after(health, failed(start + 168 * hourMs + i));
      seen.push([health.noticedPercent, health.disabledReason]);
    }
    expect(seen).toEqual([
      [50, null],
      [90, null],
      [100, 'failing'],
      [100, 'failing'],
    ]);
    expect(health.dueNotice).toEqual({
      percent: 100,
      reason: 'failing',
      failingSinceMs: start,
      atMs: start + 168 * hourMs + 2,
      vehicleId: 7,
    });
  });

  it('leads to notices at 50 and 90 % of the time, not earlier', () => {
    let health = after(healthy, failed(start));
    const noticedAt = (hours: number): number => {
      health = after(health, failed(start + hours * hourMs));
      return health.noticedPercent;
    };
    expect([59, 60, 107, 108, 119, 120].map(noticedAt)).toEqual([0, 50, 50, 90, 90, 100]);
  });

  it('disables the webhook immediately after 410', () => {
    const health = after(healthy, failureDelta(start, true, 7));
    expect(health).toMatchObject({ disabledReason: 'gone', dueNotice: { percent: 100, reason: 'gone' } });
  });
});
