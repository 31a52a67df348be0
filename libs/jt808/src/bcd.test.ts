import { describe, expect, it } from '@jest/globals';
import {
  readCameraDate,
  readCameraTime,
  readClockTime,
  writeCameraDate,
  writeCameraTime,
  writeClockTime,
} from './bcd.ts';

const hex = (text: string): Buffer => Buffer.from(text, 'hex');

describe('camera time (BCD[6])', () => {
  it.each([
    ['240229235959', '2024-02-29T23:59:59'],
    ['000101000000', '2000-01-01T00:00:00'],
    ['000000000000', null],
    ['230229120000', { bcd: '230229120000' }],
    ['201301120000', { bcd: '201301120000' }],
    ['000000083000', { bcd: '000000083000' }],
    ['240101240000', { bcd: '240101240000' }],
    ['2401010A0000', { invalidBcd: '2401010A0000' }],
    ['FFFFFFFFFFFF', { invalidBcd: 'FFFFFFFFFFFF' }],
  ])('decodes and encodes %s', (wire, time) => {
    expect(readCameraTime(hex(wire))).toEqual(time);
    expect(writeCameraTime(time).toString('hex').toUpperCase()).toBe(wire);
  });

  it.each(['2024-02-29 23:59:59', '1999-01-01T00:00:00', '2100-01-01T00:00:00', '2024-02-29T23:59:59Z'])(
    'rejects %s when encoding',
    (time) => expect(() => writeCameraTime(time)).toThrow(/YYYY/),
  );
});

it.each([
  ['20340409', '2034-04-09'],
  ['00000000', null],
  ['20190631', { bcd: '20190631' }],
  ['2019063A', { invalidBcd: '2019063A' }],
])('decodes and encodes the date %s (BCD[4])', (wire, date) => {
  expect(readCameraDate(hex(wire))).toEqual(date);
  expect(writeCameraDate(date).toString('hex').toUpperCase()).toBe(wire);
});

it.each([
  ['0000235959', '00:00:23.5959'],
  ['2500000000', { bcd: '2500000000' }],
  ['00AA000000', { invalidBcd: '00AA000000' }],
])('decodes and encodes the time of day %s (BCD[5])', (wire, time) => {
  expect(readClockTime(hex(wire))).toEqual(time);
  expect(writeClockTime(time).toString('hex').toUpperCase()).toBe(wire);
});
