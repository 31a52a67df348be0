import { describe, expect, it } from '@jest/globals';
import { toPositionMs } from './playback-position.ts';

const fromMs = Date.parse('2026-01-22T06:00:00Z');
const record = { fromMs, toMs: fromMs + 600_000, anchorMs: fromMs };

describe('the position of a recording', () => {
  it('is the timestamp of a camera whose clock counts from 1970', () => {
    expect(toPositionMs(record, fromMs + 12_345, fromMs + 10_000)).toBe(fromMs + 12_345);
  });

  it('counts from the first picture after the start or a seek otherwise', () => {
    expect(toPositionMs(record, 7_000, 2_000)).toBe(fromMs + 5_000);
    expect(toPositionMs({ ...record, anchorMs: fromMs + 300_000 }, 99_000, 98_000)).toBe(fromMs + 301_000);
  });

  it('stays within the recording', () => {
    expect(toPositionMs(record, fromMs - 1_000, fromMs)).toBe(fromMs);
    expect(toPositionMs(record, 9_000_000, 0)).toBe(record.toMs);
  });
});
