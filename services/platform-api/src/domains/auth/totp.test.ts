import { describe, expect, it } from '@jest/globals';
import { base32, fromBase32, matchTotp, newTotpSecret, otpauthUrl, stepOf, totpCode } from './totp.ts';

/** The shared secret of RFC 6238, appendix B, and of RFC 4226, appendix D. */
const secret = base32(Buffer.from('12345678901234567890'));

describe('TOTP', () => {
  it.each([
    [59, '94287082'],
    [1_111_111_109, '07081804'],
    [1_111_111_111, '14050471'],
    [1_234_567_890, '89005924'],
    [2_000_000_000, '69279037'],
    [20_000_000_000, '65353130'],
  ])('at %i seconds the code is %s (RFC 6238, appendix B)', (seconds, code) => {
    expect(totpCode(secret, stepOf(new Date(seconds * 1000)), 8)).toBe(code);
  });

  it.each([
    [0, '755224'],
    [1, '287082'],
    [9, '520489'],
  ])('of count %i the code is %s (RFC 4226, appendix D)', (count, code) => {
    expect(totpCode(secret, count)).toBe(code);
  });

  it.each([
    ['', ''],
    ['f', 'MY'],
    ['foob', 'MZXW6YQ'],
    ['foobar', 'MZXW6YTBOI'],
  ])('base32 of %p is %p (RFC 4648, section 10)', (text, encoded) => {
    expect(base32(Buffer.from(text))).toBe(encoded);
    expect(fromBase32(encoded).toString()).toBe(text);
  });

  it('takes the codes of the step, of the one before and the one after, each once', () => {
    const now = new Date(1_700_000_000_000);
    const step = stepOf(now);
    for (const near of [step - 1, step, step + 1]) expect(matchTotp(secret, totpCode(secret, near), now, 0)).toBe(near);
    for (const far of [step - 2, step + 2]) expect(matchTotp(secret, totpCode(secret, far), now, 0)).toBeNull();
    expect(matchTotp(secret, totpCode(secret, step), now, step)).toBeNull();
    expect(matchTotp(secret, '12345', now, 0)).toBeNull();
    expect(matchTotp(secret, 'abcdef', now, 0)).toBeNull();
  });

  it('makes secrets of 160 bits and their URL', () => {
    const made = newTotpSecret();
    expect(made).toMatch(/^[A-Z2-7]{32}$/);
    expect(otpauthUrl(made, 'ann@fleet.example')).toBe(
      `otpauth://totp/Fleet%20platform%3Aann%40fleet.example?secret=${made}&issuer=Fleet%20platform`,
    );
  });
});
