import { propertySettings } from '@fleet/testing';
import { describe, expect, it } from '@jest/globals';
import { array, assert, configureGlobal, nat, property, uint8Array } from 'fast-check';
import { parseByteRange, splitRange } from './byte-range.ts';

configureGlobal(propertySettings);

describe('parseByteRange (RFC 9110 section 14)', () => {
  it.each([
    ['bytes=0-0', { start: 0, end: 0 }],
    ['bytes=0-', { start: 0, end: 99 }],
    ['bytes=10-19', { start: 10, end: 19 }],
    ['bytes=90-1000000', { start: 90, end: 99 }],
    ['bytes=99-99', { start: 99, end: 99 }],
    ['Bytes= 5-6 ', { start: 5, end: 6 }],
    ['bytes=-1', { start: 99, end: 99 }],
    ['bytes=-500', { start: 0, end: 99 }],
    ['bytes=0-99999999999999999999999', { start: 0, end: 99 }],
    ['bytes=100-', 'unsatisfiable'],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=99999999999999999999-', 'unsatisfiable'],
    ['bytes=5-4', 'whole'],
    ['bytes=0-1,5-6', 'whole'],
    ['bytes=-', 'whole'],
    ['bytes=a-b', 'whole'],
    ['bytes=0x1-2', 'whole'],
    ['lines=0-1', 'whole'],
    ['', 'whole'],
    [undefined, 'whole'],
  ])('parses "%s" for 100 bytes', (header, expected) => {
    expect(parseByteRange(header, 100)).toEqual(expected);
  });

  it('returns unsatisfiable for every range of an empty file', () => {
    for (const header of ['bytes=0-', 'bytes=0-0', 'bytes=-5']) expect(parseByteRange(header, 0)).toBe('unsatisfiable');
  });
});

describe('splitRange', () => {
  it('returns pieces of each file that add up to the slice of the whole', () => {
    const files = array(uint8Array({ maxLength: 8 }), { minLength: 1, maxLength: 6 });
    assert(
      property(files, nat(50), nat(50), (contents, a, b) => {
        const whole = Buffer.concat(contents);
        const range = { start: Math.min(a, b), end: Math.max(a, b) };
        const pieces = splitRange(
          range,
          contents.map((content) => content.length),
        );
        const taken = pieces.map(({ index, range: { start, end } }) => contents[index]?.subarray(start, end + 1) ?? []);
        expect(Buffer.concat(taken.map((piece) => Buffer.from(piece)))).toEqual(
          whole.subarray(range.start, range.end + 1),
        );
        for (const piece of taken) expect(piece.length).toBeGreaterThan(0);
      }),
    );
  });
});
