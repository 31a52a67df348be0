import { describe, expect, it } from '@jest/globals';
import { formatCsv, parseCsv } from './csv.ts';

describe('a CSV file', () => {
  it('keeps quotes, delimiters and line breaks of its cells', () => {
    const rows = [
      ['number', 'name'],
      ['KL07CD1234', 'Truck "12", red\nand new'],
    ];
    expect(parseCsv(formatCsv(rows))).toEqual(rows);
  });

  it.each(['=1+1', '+cmd', '-cmd', '@SUM(A1)'])('escapes the formula %s, and reads it back', (formula) => {
    expect(formatCsv([[formula]])).toBe(`'${formula}\r\n`);
    expect(parseCsv(formatCsv([['a'], [formula]]))[1]).toEqual([formula]);
  });

  it('leaves negative numbers and offsets of numbers as they are', () => {
    expect(formatCsv([['-12.5', '80']])).toBe('-12.5,80\r\n');
  });

  it.each([
    ['plain', 'plain'],
    ['a,b', '"a,b"'],
    ['say "no"', '"say ""no"""'],
    [-5, '-5'],
    [null, ''],
  ])('has for the cell %p the text %p', (cell, text) => {
    expect(formatCsv([['id', cell]])).toBe(`id,${text}\r\n`);
  });

  it('is read with semicolons, a byte order mark and empty lines', () => {
    expect(parseCsv('\u{FEFF}number;name\r\n\r\nKL07;Truck, red\r\n;\r\n')).toEqual([
      ['number', 'name'],
      ['KL07', 'Truck, red'],
    ]);
  });
});
