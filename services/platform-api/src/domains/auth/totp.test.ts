import { describe, expect, it } from '@jest/globals';
import { computeTotpCode } from '../../testing/totp-code.ts';
import { createOtpauthUrl, generateTotpSecret, matchTotp, toTotpStep } from './totp.ts';

/** The shared secret of RFC 6238, appendix B, and of RFC 4226, appendix D. */
const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ';

describe('TOTP', () => {
  it.each([
    [59, '94287082'],
    [1_111_111_109, '07081804'],
    [1_111_111_111, '14050471'],
    [1_234_567_890, '89005924'],
    [2_000_000_000, '69279037'],
    [20_000_000_000, '65353130'],
  ])('accepts at %i seconds the last six digits of %s (RFC 6238, appendix B)', (seconds, code) => {
    const now = new Date(seconds * 1000);
    expect(matchTotp(secret, code.slice(-6), now, 0)).toBe(toTotpStep(now));
  });

  it.each([
    [0, '755224'],
    [1, '287082'],
    [9, '520489'],
  ])('accepts in step %i the code %s (RFC 4226, appendix D)', (step, code) => {
    expect(matchTotp(secret, code, new Date(step * 30_000), -1)).toBe(step);
  });

  it('accepts the codes of the current, previous and next step once each', () => {
    const now = new Date(1_700_000_000_000);
    const step = toTotpStep(now);
    for (const near of [step - 1, step, step + 1])
      expect(matchTotp(secret, computeTotpCode(secret, near), now, 0)).toBe(near);
    for (const far of [step - 2, step + 2]) expect(matchTotp(secret, computeTotpCode(secret, far), now, 0)).toBeNull();
    expect(matchTotp(secret, computeTotpCode(secret, step), now, step)).toBeNull();
    expect(matchTotp(secret, '12345', now, 0)).toBeNull();
    expect(matchTotp(secret, 'abcdef', now, 0)).toBeNull();
  });

  it('creates secrets of 160 bits and their URL', () => {
    const created = generateTotpSecret();
    expect(created).toMatch(/^[A-Z2-7]{32}$/);
    const url = new URL(createOtpauthUrl(created, 'ann@fleet.example'));
    expect(decodeURIComponent(url.pathname)).toContain('Fleet platform:ann@fleet.example');
    expect(Object.fromEntries(url.searchParams)).toEqual({
      issuer: 'Fleet platform',
      secret: created,
      algorithm: 'SHA1',
      digits: '6',
      period: '30',
    });
  });
});
