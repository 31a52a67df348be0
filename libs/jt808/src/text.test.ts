import { expect, it } from '@jest/globals';
import { decodeGbk, encodeGbk, findUnencodableInGbk, gbkLength } from './text.ts';

it('measures the length on the wire', () => {
  expect(gbkLength('stop')).toBe(4);
  expect(gbkLength('请靠边停车 stop')).toBe(15);
});

it('writes the euro sign in two bytes, like every other non-ASCII character, and reads both forms', () => {
  expect(encodeGbk('€').toString('hex')).toBe('a2e3');
  expect(gbkLength('€1')).toBe(3);
  expect(decodeGbk(Buffer.from('80a2e3', 'hex'))).toBe('€€');
});

it('lists each character that GBK lacks once', () => {
  expect(findUnencodableInGbk('粤B88888')).toEqual([]);
  expect(findUnencodableInGbk('a😀b😀ñ')).toEqual(['😀', 'ñ']);
  expect(() => encodeGbk('halt 😀')).toThrow(/😀/);
});

it('reads GB18030, removes NULs at both ends and preserves spaces', () => {
  expect(decodeGbk(Buffer.from('0000d4c14238202000', 'hex'))).toBe('粤B8  ');
  expect(decodeGbk(Buffer.from('8130813094398130', 'hex'))).not.toContain('?');
  expect(decodeGbk(Buffer.alloc(7))).toBe('');
});
