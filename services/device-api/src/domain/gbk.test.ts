import { describe, expect, it } from '@jest/globals';
import { measureGbkBytes } from './gbk.ts';

describe('measureGbkBytes', () => {
  it('counts one byte for an ASCII character and two for any other', () => {
    expect(measureGbkBytes('text', 'stop')).toBe(4);
    expect(measureGbkBytes('text', '请靠边停车 stop')).toBe(15);
    expect(measureGbkBytes('text', 'Жд№')).toBe(6);
  });

  it('lists each unsupported character once, by its code if it is not printable', () => {
    expect(() => measureGbkBytes('text', 'a😀b😀ñ\u200d\ud83d')).toThrow(
      'The body field text has characters that devices cannot show, as GBK lacks them: 😀 (U+1F600), ñ (U+00F1), U+200D, U+D83D.',
    );
  });

  it('lists ten of many', () => {
    const many = Array.from({ length: 13 }, (_unused, at) => String.fromCodePoint(0x1f600 + at)).join('');
    expect(() => measureGbkBytes('text', many)).toThrow(/U\+1F609\) and 3 more\.$/);
  });
});
