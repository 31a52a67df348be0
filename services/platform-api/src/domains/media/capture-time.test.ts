import { describe, expect, it } from '@jest/globals';
import { captureTime } from './capture-time.ts';

const receivedAtMs = Date.parse('2026-11-22T10:00:00Z');

describe('instantTaken', () => {
  it.each([
    ['by a clock eight hours ahead', '2026-11-22T17:59:00', '+08:00', '2026-11-22T09:59:00.000Z'],
    ['by a clock behind UTC', '2026-11-22T04:59:00', '-05:00', '2026-11-22T09:59:00.000Z'],
    ['by a clock with a wrong zone', '2026-11-23T09:00:00', '+00:00', '2026-11-23T09:00:00.000Z'],
    ['some months ago', '2026-01-01T00:00:00', '+00:00', '2026-01-01T00:00:00.000Z'],
    ['by a clock that was never set', '2000-01-01T00:00:00', '+08:00', '2026-11-22T10:00:00.000Z'],
    ['by a clock years ahead', '2036-01-01T00:00:00', '+08:00', '2026-11-22T10:00:00.000Z'],
    ['on an invalid day', '2026-13-41T00:00:00', '+08:00', '2026-11-22T10:00:00.000Z'],
    ['at an unknown time', null, '+08:00', '2026-11-22T10:00:00.000Z'],
  ])('returns a plausible time for a file taken %s', (_case, takenAt, offset, expected) => {
    expect(captureTime(takenAt, offset, receivedAtMs).toISOString()).toBe(expected);
  });
});
