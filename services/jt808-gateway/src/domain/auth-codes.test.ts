import { describe, expect, it } from '@jest/globals';
import { AuthCodes, parseCandidateCodes } from './auth-codes.ts';

const codes = new AuthCodes('a secret of some length');

describe('AuthCodes', () => {
  it('derives a short ASCII code that is constant per terminal and differs between terminals and secrets', () => {
    const code = codes.createCode('13800138000', 0);
    expect(codes.createCode('13800138000', 0)).toBe(code);
    expect(code).toMatch(/^[0-9a-z]{33,60}$/);
    expect(codes.createCode('13800138001', 0)).not.toBe(code);
    expect(new AuthCodes('another secret of length').createCode('13800138000', 0)).not.toBe(code);
  });

  it('accepts codes of a former secret during a rotation, and creates codes with the first secret', () => {
    const [former, next] = ['the former secret', 'the next secret'];
    const steps = [former, `${former},${next}`, `${next},${former}`, next];
    const isValid = (creating: number, checking: number): boolean => {
      const code = new AuthCodes(steps[creating] ?? '').createCode('13800138000', 2);
      return new AuthCodes(steps[checking] ?? '').check('13800138000', code, 2).kind === 'valid';
    };
    for (const step of [0, 1, 2]) expect([isValid(step, step + 1), isValid(step + 1, step)]).toEqual([true, true]);
    expect(isValid(0, 3)).toBe(false);
  });

  it('accepts a code only for its terminal and epoch', () => {
    const code = codes.createCode('13800138000', 3);
    expect(codes.check('13800138000', code, 3)).toEqual({ kind: 'valid', epoch: 3 });
    expect(codes.check('13800138000', code, 4)).toEqual({ kind: 'wrong' });
    expect(codes.check('13800138001', code, 3)).toEqual({ kind: 'wrong' });
  });

  it('accepts a genuine code of any epoch while the current epoch is unknown, but no forged code', () => {
    const code = codes.createCode('13800138000', 37);
    expect(codes.check('13800138000', code, null)).toEqual({ kind: 'valid', epoch: 37 });
    const forged = (code.endsWith('0') ? '1' : '0').padStart(code.length, code.slice(0, -1));
    expect(codes.check('13800138000', forged, null)).toEqual({ kind: 'wrong' });
  });

  it.each(['', 'token', '0', '-1'.padEnd(34, '0'), 'x'.repeat(300), '\u0000'])('rejects the code %j', (code) => {
    expect(codes.check('13800138000', code, null)).toEqual({ kind: 'wrong' });
  });

  it('parses the code from a plain body, a 2019 body and mixed forms', () => {
    expect(parseCandidateCodes(Buffer.from('abc\0'), false)[0]).toBe('abc');
    const body2019 = Buffer.concat([Buffer.from([3]), Buffer.from('abc'), Buffer.alloc(35, 0x30)]);
    expect(parseCandidateCodes(body2019, true)[0]).toBe('abc');
    expect(parseCandidateCodes(Buffer.from('abc'), true)).toContain('abc');
    expect(parseCandidateCodes(body2019, false)).toContain('abc');
    expect(parseCandidateCodes(Buffer.alloc(0), true)).toEqual(['']);
  });
});
