import { describe, expect, it } from '@jest/globals';
import { matchFileName, parseChannel } from './file-names.ts';

const packet = (name: string, isNameFull = name.length >= 50) => ({ name, isNameFull, offset: 0, length: 1 });
const long = `02_65_6502_10_${'0123456789abcdef'.repeat(2)}.mp4`;

describe('matchFileName', () => {
  it('returns the announced name that is equal', () => {
    expect(matchFileName(packet('a.jpg'), ['b.jpg', 'a.jpg'])).toBe('a.jpg');
    expect(matchFileName(packet('c.jpg'), ['b.jpg', 'a.jpg'])).toBeUndefined();
  });

  it('returns the only announced name that starts with a truncated name', () => {
    const other = `01${long.slice(2)}`;
    expect(long.length).toBe(50);
    expect(matchFileName(packet(long), [`${long}4`, other])).toBe(`${long}4`);
    expect(matchFileName(packet(long), [`${long}4`, `${long}5`])).toBeUndefined();
    expect(matchFileName(packet(long), [`${long}4`, long])).toBe(long);
    expect(matchFileName(packet(long.slice(0, 20)), [long])).toBeUndefined();
    expect(matchFileName(packet(`${'n'.repeat(49)}\uFFFD`, true), [`${'n'.repeat(49)}前.jpg`])).toBe(
      `${'n'.repeat(49)}前.jpg`,
    );
  });
});

describe('parseChannel', () => {
  it.each([
    [`00_65_6401_0_${'a'.repeat(32)}.jpg`, 65],
    [`2_1_6502_12_${'a'.repeat(32)}.mp4`, 1],
    ['02_0_6502_0_x.bin', 0],
    ['02_999_6502_0_x.bin', 0],
    ['picture_1_2_3.jpg', 0],
    ['', 0],
  ])('returns the channel of %s as %d', (name, channel) => {
    expect(parseChannel(name)).toBe(channel);
  });
});
