import { describe, expect, it } from '@jest/globals';
import { packPhone, terminalKey } from './terminal-number.ts';

describe('terminalKey', () => {
  it.each([
    ['the 12-digit form', '013800138000', '13800138000'],
    ['the 20-digit form of the same number', '00000000013800138000', '13800138000'],
    ['a number without zeros', '123456789012', '123456789012'],
    ['20 significant digits', '12345678901234567890', '12345678901234567890'],
    ['an IMEI packed into 48 bits, whose check digit is computed', '4F07788EF676', '868935060005020'],
    ['the same in a 2019 header', '000000004F07788EF676', '868935060005020'],
    ['the same in lower case', '4f07788ef676', '868935060005020'],
    ['the IMEI itself', '868935060005020', '868935060005020'],
    ['a long number with letters, unchanged', '1234567890ABCDEF0000', '1234567890ABCDEF0000'],
  ])('normalises %s', (_name, number, key) => expect(terminalKey(number)).toBe(key));

  it.each(['', '000000000000', '00000000000000000000', '12a4z', ' 138', '-1', '123456789012345678901', '１２３'])(
    'rejects "%s"',
    (number) => expect(terminalKey(number)).toBeNull(),
  );
});

describe('packPhone', () => {
  it('pads with zeros in front and preserves the digits', () => {
    expect(packPhone('13800138000', '2013').toString('hex')).toBe('013800138000');
    expect(packPhone('13800138000', '2019').toString('hex')).toBe('00000000013800138000');
    expect(packPhone('00000000013800138000', '2013').toString('hex')).toBe('013800138000');
  });

  it.each([
    ['1234567890123', '2013' as const],
    ['xyz', '2019' as const],
  ])('rejects %s', (phone, header) => {
    expect(() => packPhone(phone, header)).toThrow(/phone/);
  });
});
