import { propertyRuns, propertySettings } from '@fleet/testing';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { Ranges } from './ranges.ts';

fc.configureGlobal(propertySettings);

const size = 64;

describe('Ranges', () => {
  it('returns the missing ranges in order, up to the given number', () => {
    const ranges = new Ranges();
    expect(ranges.findMissing(10, 255)).toEqual([{ offset: 0, length: 10 }]);
    expect(ranges.findMissing(0, 255)).toEqual([]);
    ranges.add(2, 2);
    ranges.add(6, 1);
    expect(ranges.findMissing(10, 255)).toEqual([
      { offset: 0, length: 2 },
      { offset: 4, length: 2 },
      { offset: 7, length: 3 },
    ]);
    expect(ranges.findMissing(10, 2)).toHaveLength(2);
    expect(ranges.findMissing(3, 255)).toEqual([{ offset: 0, length: 2 }]);
    expect([ranges.end, ranges.coveredBytes, ranges.covers(10)]).toEqual([7, 3, false]);
  });

  it('limits the number of ranges', () => {
    const ranges = new Ranges();
    const added = Array.from({ length: 10_000 }, (_, i) => ranges.add(2 * i, 1));
    expect(added.filter(Boolean)).toHaveLength(4_096);
    // A range that closes a gap or overlaps another is still accepted.
    expect([ranges.add(100_000, 1), ranges.add(0, 1), ranges.add(1, 1)]).toEqual([false, true, true]);
  });

  it('tracks each received byte for ranges in any order', () => {
    const stretch = fc.tuple(fc.nat(size - 1), fc.nat(12)).map(([offset, length]) => ({
      offset,
      length: Math.min(length, size - offset),
    }));
    fc.assert(
      fc.property(fc.array(stretch, { maxLength: 20 }), (stretches) => {
        const ranges = new Ranges();
        const bytes = Array.from({ length: size }, () => false);
        for (const { offset, length } of stretches) {
          expect(ranges.add(offset, length)).toBe(true);
          bytes.fill(true, offset, offset + length);
        }
        const missing = ranges.findMissing(size, 1_000);
        const coveredBytes = Array.from({ length: size }, () => true);
        for (const { offset, length } of missing) coveredBytes.fill(false, offset, offset + length);
        expect(coveredBytes).toEqual(bytes);
        expect(missing.every(({ length }) => length > 0)).toBe(true);
        expect(ranges.coveredBytes).toBe(bytes.filter(Boolean).length);
        expect(ranges.covers(size)).toBe(bytes.every(Boolean));
        expect(ranges.end).toBe(bytes.lastIndexOf(true) + 1);
      }),
      { numRuns: propertyRuns(500) },
    );
  });
});
