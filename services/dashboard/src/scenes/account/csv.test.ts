import { describe, expect, it } from '@jest/globals';
import { toCsv, toCsvCell } from './csv.ts';

describe('a CSV cell', () => {
  it.each([
    ['plain', 'plain'],
    ['a,b', '"a,b"'],
    ['say "no"', '"say ""no"""'],
    ['=1+1', "'=1+1"],
    ['@cmd', "'@cmd"],
    [-5, '-5'],
    [null, ''],
  ])('of %p is %p, and never a formula', (value, cell) => {
    expect(toCsvCell(value)).toBe(cell);
  });
});

it('a table has one line for each row', () => {
  expect(
    toCsv([
      ['id', 'name'],
      [7, 'Ann'],
    ]),
  ).toBe('id,name\r\n7,Ann\r\n');
});
