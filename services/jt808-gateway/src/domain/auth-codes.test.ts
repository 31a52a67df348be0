import { describe, expect, it } from '@jest/globals';
import { AuthCodes, parseCandidateCodes } from './auth-codes.ts';

const codes = new AuthCodes('a secret of some length');

describe('authentication codes', () => {
  it('gives one terminal the same code each time, short ASCII, and other terminals others', () => {
    const code = codes.createCode('13800138000', 0);
    expect(codes.createCode('13800138000', 0)).toBe(code);
    expect(code).toMatch(/^[0-9a-z]{33,60}$/);
    expect(codes.createCode('13800138001', 0)).not.toBe(code);
    expect(new AuthCodes('another secret of length').createCode('13800138000', 0)).not.toBe(code);
  });

  it('is valid for its terminal and epoch alone', () => {
    const code = codes.createCode('13800138000', 3);
    expect(codes.check('13800138000', code, 3)).toEqual({ kind: 'valid', epoch: 3 });
    expect(codes.check('13800138000', code, 4)).toEqual({ kind: 'wrong' });
    expect(codes.check('13800138001', code, 3)).toEqual({ kind: 'wrong' });
  });

  it('accepts a real code of any epoch while the epoch in force is unknown, and still no forged one', () => {
    const code = codes.createCode('13800138000', 37);
    expect(codes.check('13800138000', code, null)).toEqual({ kind: 'valid', epoch: 37 });
    const forged = (code.endsWith('0') ? '1' : '0').padStart(code.length, code.slice(0, -1));
    expect(codes.check('13800138000', forged, null)).toEqual({ kind: 'wrong' });
  });

  it.each(['', 'token', '0', '-1'.padEnd(34, '0'), 'x'.repeat(300), '\u0000'])('refuses %j', (code) => {
    expect(codes.check('13800138000', code, null)).toEqual({ kind: 'wrong' });
  });

  it('reads the code of a plain body, of a 2019 body, and of mixed ones', () => {
    expect(parseCandidateCodes(Buffer.from('abc\0'), false)[0]).toBe('abc');
    const body2019 = Buffer.concat([Buffer.from([3]), Buffer.from('abc'), Buffer.alloc(35, 0x30)]);
    expect(parseCandidateCodes(body2019, true)[0]).toBe('abc');
    expect(parseCandidateCodes(Buffer.from('abc'), true)).toContain('abc');
    expect(parseCandidateCodes(body2019, false)).toContain('abc');
    expect(parseCandidateCodes(Buffer.alloc(0), true)).toEqual(['']);
  });
});
