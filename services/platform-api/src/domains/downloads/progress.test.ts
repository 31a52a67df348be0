import { describe, expect, it } from '@jest/globals';
import { computeProgress } from './progress.ts';

const nowMs = Date.parse('2026-01-31T08:15:30Z');
const upload = {
  status: 'uploading',
  filesize: 500,
  expectedBytes: 2_000,
  bytesPerSecond: 200,
  lastByteAtMs: nowMs - 1_000,
} as const;

describe('the progress of an upload', () => {
  it('is the received part of the listed bytes, and the rest at the current speed', () => {
    expect(computeProgress(upload, nowMs)).toEqual({ percent: 25, bytesPerSecond: 200, secondsLeft: 8 });
  });

  it('has no percentage and no time left while the size is unknown', () => {
    expect(computeProgress({ ...upload, expectedBytes: null }, nowMs)).toEqual({
      percent: null,
      bytesPerSecond: 200,
      secondsLeft: null,
    });
  });

  it('stays below 100 percent until the upload is completed', () => {
    expect(computeProgress({ ...upload, filesize: 5_000 }, nowMs)).toMatchObject({ percent: 99, secondsLeft: 0 });
    expect(computeProgress({ ...upload, status: 'completed' }, nowMs)).toEqual({
      percent: 100,
      bytesPerSecond: null,
      secondsLeft: null,
    });
  });

  it.each([
    ['the upload is paused', { status: 'paused' }],
    ['no byte has arrived for 10 seconds', { lastByteAtMs: nowMs - 10_001 }],
    ['no byte has arrived at all', { lastByteAtMs: null }],
    ['the speed is zero', { bytesPerSecond: 0 }],
  ] as const)('has no speed if %s', (_reason, change) => {
    expect(computeProgress({ ...upload, ...change }, nowMs)).toEqual({
      percent: 25,
      bytesPerSecond: null,
      secondsLeft: null,
    });
  });
});
