import { describe, expect, it } from '@jest/globals';
import { decodeBody } from './message.ts';
import { locationReport } from './messages/location.ts';
import { readPower } from './power-items.ts';
import { onlyFrame, readSharedFile, type Vector } from './testing/shared.ts';

const item = (id: number, hex: string) => ({ id, bytes: Buffer.from(hex, 'hex') });
const none = { batteryPercent: null, externalVoltage: null };

describe('readPower', () => {
  it.each<[string, number, string, Partial<typeof none> | { [key: string]: number }]>([
    ['a percentage in one byte', 0xfe, '45', { batteryPercent: 69 }],
    ['an empty battery', 0xd4, '00', { batteryPercent: 0 }],
    ['the charge in tenths', 0x56, '0900', { batteryPercent: 90 }],
    ['the charge in hundredths of a percent', 0x68, '1d4c', { batteryPercent: 75 }],
    ['the voltage in hundredths of a volt', 0x61, '055f', { externalVoltage: 13.75 }],
    ['the voltage in tenths of a volt', 0xd3, '00f5', { externalVoltage: 24.5 }],
    [
      'charge and voltage in packed items',
      0xeb,
      '000400ce0a57000300a84c',
      { batteryPercent: 76, externalVoltage: 26.47 },
    ],
  ])('reads %s', (_form, id, hex, expected) => {
    expect(readPower([item(id, hex)])).toEqual({ ...none, ...expected });
  });

  it.each([
    ['a charging battery', 0xe1, 'ff'],
    ['signal strength', 0x30, '14'],
    ['satellites', 0x31, '0b'],
    ["the standard's carriage temperature", 0x06, '0014'],
    ["another vendor's length", 0xe1, '00735443'],
    ['a charge above ten tenths', 0x56, '5a00'],
    ['a voltage that no vehicle has', 0x61, 'ffff'],
    ['radio cells in 0xEB', 0xeb, '01cc0000000c40f89f27b0'],
    ['packed items that overrun', 0xeb, '000300a8'],
    ['an empty item', 0xfe, ''],
  ])('returns null for %s', (_form, id, hex) => {
    expect(readPower([item(id, hex)])).toEqual(none);
  });

  it('uses the first item that reports a value', () => {
    const items = [item(0xfe, '001e'), item(0xfe, '2d'), item(0xe1, '09'), item(0x61, '04d2')];
    expect(readPower(items)).toEqual({ batteryPercent: 45, externalVoltage: 12.34 });
  });
});

const vectors = (readSharedFile('jt808-vectors.json') ?? []) as (Vector & { project_asserts?: string })[];
const levelVectors = vectors.flatMap((vector): [string, Vector, number][] => {
  const level = /KEY_BATTERY_LEVEL, (\d+)/.exec(vector.project_asserts ?? '')?.[1];
  return level === undefined || vector.message_id !== '0x0200' ? [] : [[vector.frame, vector, Number(level)]];
});

(levelVectors.length > 0 ? describe : describe.skip)('captured reports', () => {
  it.each(levelVectors)("%s has the charge that the project's decoder reads", (frame, vector, level) => {
    const { extras } = decodeBody(locationReport, onlyFrame(frame).body, vector.edition);
    expect(readPower(extras).batteryPercent).toBe(level);
  });
});
