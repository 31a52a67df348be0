import { describe, expect, it } from '@jest/globals';
import { GarbageMeter } from './garbage-meter.ts';

const windowBytes = 65_536;

describe('GarbageMeter', () => {
  it('increases the delay with each window without a valid frame, then reports the limit as exceeded', () => {
    const meter = new GarbageMeter();
    const delays: number[] = [];
    while (!meter.isExceeded) {
      meter.count(windowBytes, 3);
      delays.push(meter.delayMs);
    }
    // The three valid frames are in the first window.
    expect(delays.slice(0, 4)).toEqual([0, 10, 20, 30]);
    expect(delays).toHaveLength(17);
  });

  it('resets on a valid frame and does not delay small reads', () => {
    const meter = new GarbageMeter();
    for (let window = 0; window < 15; window += 1) meter.count(windowBytes, 0);
    for (let read = 0; read < 64; read += 1) meter.count(1_024, 1);
    expect([meter.isExceeded, meter.delayMs]).toEqual([false, 0]);
    for (let read = 0; read < 63; read += 1) meter.count(1_024, 1);
    expect(meter.delayMs).toBe(0);
  });
});
