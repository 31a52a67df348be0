import { describe, expect, it } from '@jest/globals';
import { G726Rate } from './g726-rate.ts';

/** Returns the bits per code of each of some frames of 80 bytes. */
function findRates(timestampsMs: readonly (number | null)[]): (number | null)[] {
  const rate = new G726Rate();
  return timestampsMs.map((timestampMs) => rate.find(80, timestampMs));
}

describe('the rate of G.726 frames of 80 bytes', () => {
  it('is 32 kbit/s if they follow every 20 ms, and 16 kbit/s if every 40 ms', () => {
    expect(findRates([1_000, 1_020, 1_040]).at(-1)).toBe(4);
    expect(findRates([1_000, 1_040, 1_080]).at(-1)).toBe(2);
  });

  it('is the same although packets are lost, timestamps jitter or the clock restarts at zero', () => {
    expect(findRates([0, 20, 40, 120, 140, 160, 180]).slice(1)).toEqual([4, 4, 4, 4, 4, 4]);
    expect(findRates([0, 40, 65, 120, 160, 200]).at(-1)).toBe(2);
    expect(findRates([0xffff_fff0, 4, 24]).at(-1)).toBe(4);
  });

  it('is 16 kbit/s without timestamps, and that of the length for other lengths', () => {
    expect(findRates([null, null])).toEqual([2, 2]);
    const rate = new G726Rate();
    expect([40, 60, 100, 120, 160, 200, 33].map((bytes) => rate.find(bytes, 20))).toEqual([2, 3, 5, 3, 4, 5, null]);
  });
});
