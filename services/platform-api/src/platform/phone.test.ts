import { describe, expect, it } from '@jest/globals';
import { normalizePhone } from './phone.ts';

describe('normalizePhone', () => {
  it.each([
    ['+91 98765-43210', '+919876543210'],
    ['+1 (202) 555-0123', '+12025550123'],
    ['+44 (0)20 7946 0018', '+442079460018'],
    ['+49 30 901820', '+4930901820'],
    ['+8613800138000', '+8613800138000'],
    ['9876543210', null],
    ['0091 98765 43210', null],
    ['+', null],
    ['+999999999999', null],
    ['+91 98765 4321x', null],
    ['+9198', null],
    ['', null],
  ])('converts %s to %s', (text, expected) => {
    expect(normalizePhone(text)).toBe(expected);
  });
});
