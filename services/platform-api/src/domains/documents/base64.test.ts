import { setFlagsFromString } from 'node:v8';
import { describe, expect, it } from '@jest/globals';
import { decodeBase64 } from './base64.ts';

describe('decodeBase64', () => {
  // Must be the first test: an expression is compiled on first use.
  it('decodes megabytes in a process in which V8 has stopped optimising new expressions', () => {
    setFlagsFromString('--no-regexp-optimization');
    try {
      const bytes = Buffer.alloc(10 * 1024 * 1024, 'a picture');
      const letters = bytes.toString('base64');
      expect(decodeBase64(letters)?.equals(bytes)).toBe(true);
      expect(decodeBase64(' '.repeat(14_000_000))).toBeNull();
      expect(decodeBase64(`${letters}!`)).toBeNull();
    } finally {
      setFlagsFromString('--regexp-optimization');
    }
  });

  it.each([
    ['QQ==', 'A'],
    ['QUI=', 'AB'],
    ['QUJD', 'ABC'],
    ['QUI', 'AB'],
    [' Q U\r\nJ\tD ', 'ABC'],
    ['+/+/', '\xfb\xff\xbf'],
  ])('decodes %j', (text, bytes) => {
    expect(decodeBase64(text)?.toString('latin1')).toBe(bytes);
  });

  it.each(['', ' ', '=', '==', 'Q=Q=', '=QQ', 'QQ===', 'QQ-_', 'QÄ==', '!'])('returns null for %j', (text) => {
    expect(decodeBase64(text)).toBeNull();
  });
});
