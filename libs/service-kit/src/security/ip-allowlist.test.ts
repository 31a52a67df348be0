import { describe, expect, it } from '@jest/globals';
import { isCidr, isIpAllowed } from './ip-allowlist.ts';

describe('isIpAllowed', () => {
  it.each([
    [[], '1.2.3.4', true],
    [['1.2.3.4'], '1.2.3.4', true],
    [['1.2.3.4'], '1.2.3.5', false],
    [['1.2.3.0/24'], '1.2.3.255', true],
    [['1.2.3.0/24'], '::ffff:1.2.3.9', true],
    [['0.0.0.0/0'], '9.9.9.9', true],
    [['0.0.0.0/0'], '2001:db8::1', false],
    [['2001:db8::/32'], '2001:db8:1::1', true],
    [['2001:db8::/32', 'nonsense', '1.2.3.4/99'], '1.2.3.4', false],
    [['1.2.3.4'], '', false],
  ])('%j holds %s: %p', (networks, address, expected) => {
    expect(isIpAllowed(networks, address)).toBe(expected);
  });
});

describe('isCidr', () => {
  it.each([
    ['10.0.0.0/8', true],
    ['10.1.2.3', true],
    ['2001:db8::/32', true],
    ['10.0.0.0/33', false],
    ['10.0.0.0/', false],
    ['10.0.0.0/8/8', false],
    ['10.0.0.0/-1', false],
    ['example.com', false],
    ['', false],
  ])('%s: %p', (text, expected) => {
    expect(isCidr(text)).toBe(expected);
  });
});
