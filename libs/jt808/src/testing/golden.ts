import * as jt from '../index.ts';

/** Building blocks of golden bodies: values, and their bytes as constants with the suffix `Hex`. */
export const time = '2026-08-01T10:00:00';
export const timeHex = '260801100000';
export const textHex = (value: string): string => Buffer.from(value).toString('hex');
export const nulPaddedHex = (value: string, size: number): string => textHex(value).padEnd(size * 2, '0');

export const location = {
  alarm: 0x0010_0001,
  status: 0x0004_0003,
  latitudeDeg: 31.5,
  longitudeDeg: 121.25,
  altitudeM: 18,
  speedKmh: 60.5,
  directionDeg: 90,
  time,
  extras: [],
};
export const locationHex = `00100001 00040003 01e0a6e0 073a20d0 0012 025d 005a ${timeHex}`;

/** A body and its bytes in one edition. */
export type GoldenRow = [
  name: string,
  definition: jt.MessageDefinition,
  edition: jt.Edition,
  body: Record<string, unknown>,
  hex: string,
];

/** Encodes and decodes a golden row: `encoded` must equal `bytes`, `decoded` the body. */
export function roundTrip(definition: jt.MessageDefinition, edition: jt.Edition, body: GoldenRow[3], hex: string) {
  const bytes = hex.replaceAll(' ', '').toLowerCase();
  return {
    encoded: jt.encodeBody(definition, body, edition).toString('hex'),
    bytes,
    decoded: jt.decodeBody(definition, Buffer.from(bytes, 'hex'), edition),
  };
}
