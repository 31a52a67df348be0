import { expect, it } from '@jest/globals';
import { decodeGbk, encodeGbk, findUnencodableInGbk, gbkLength } from './text.ts';

it('measures what goes on the wire', () => {
  expect(gbkLength('stop')).toBe(4);
  expect(gbkLength('请靠边停车 stop')).toBe(15);
});

it('writes the euro in two bytes, as every sign that is not ASCII, and reads it in either form', () => {
  expect(encodeGbk('€').toString('hex')).toBe('a2e3');
  expect(gbkLength('€1')).toBe(3);
  expect(decodeGbk(Buffer.from('80a2e3', 'hex'))).toBe('€€');
});

it('names the characters that GBK lacks, each once', () => {
  expect(findUnencodableInGbk('粤B88888')).toEqual([]);
  expect(findUnencodableInGbk('a😀b😀ñ')).toEqual(['😀', 'ñ']);
  expect(() => encodeGbk('halt 😀')).toThrow(/😀/);
});

it('reads GB18030, cuts NULs at both ends and keeps spaces', () => {
  expect(decodeGbk(Buffer.from('0000d4c14238202000', 'hex'))).toBe('粤B8  ');
  expect(decodeGbk(Buffer.from('8130813094398130', 'hex'))).not.toContain('?');
  expect(decodeGbk(Buffer.alloc(7))).toBe('');
});
