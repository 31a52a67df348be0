import * as fc from 'fast-check';
import type { Edition } from '../edition.ts';
import type { Fields, Scope, Shape } from '../fields/index.ts';

type Values = Record<string, unknown>;

const sampleCharacters = 'ABCxyz0189 .;:/-_测试粤京沪张李王苏，。'.split('');

function text(maxBytes: number, padTo: number | undefined): fc.Arbitrary<string> {
  return fc.array(fc.constantFrom(...sampleCharacters), { maxLength: maxBytes }).map((characters) => {
    let value = '';
    let size = 0;
    for (const character of characters) {
      const bytes = character.charCodeAt(0) < 0x80 ? 1 : 2;
      if (size + bytes > maxBytes) break;
      value += character;
      size += bytes;
    }
    return padTo === undefined ? value : value + ' '.repeat(padTo - size);
  });
}

const pad = (value: number, size = 2): string => String(value).padStart(size, '0');
const clock = fc
  .tuple(fc.nat(23), fc.nat(59), fc.nat(59))
  .map(([hour, minute, second]) => `${pad(hour)}:${pad(minute)}:${pad(second)}`);
const date = (firstYear: number): fc.Arbitrary<string> =>
  fc
    .tuple(fc.integer({ min: firstYear, max: 2099 }), fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 28 }))
    .map(([year, month, day]) => `${year}-${pad(month)}-${pad(day)}`);

const timeArbitraries: Readonly<Record<'cameraTime' | 'cameraDate' | 'clockTime', fc.Arbitrary<unknown>>> = {
  cameraTime: fc.oneof(
    { weight: 6, arbitrary: fc.tuple(date(2000), clock).map(([day, time]) => `${day}T${time}`) },
    { weight: 1, arbitrary: fc.constantFrom(null, { bcd: '000000083000' }, { invalidBcd: '24010A000000' }) },
  ),
  cameraDate: fc.oneof(date(1000), fc.constantFrom(null, { bcd: '20241301' }, { invalidBcd: 'FFFFFFFF' })),
  clockTime: fc.tuple(clock, fc.nat(9999)).map(([time, fraction]) => `${time}.${pad(fraction, 4)}`),
};

const bytes = (min: number, max: number): fc.Arbitrary<Buffer> =>
  fc.uint8Array({ minLength: min, maxLength: max }).map((value) => Buffer.from(value));

/** Generates values of a shape, before conditions on other fields are applied. */
function rawValue(shape: Shape, edition: Edition): fc.Arbitrary<unknown> {
  switch (shape.kind) {
    case 'integer':
      return fc.integer({ min: shape.min, max: shape.max });
    case 'bigint':
      return fc.bigInt({ min: 0n, max: (1n << 64n) - 1n });
    case 'scaled':
    case 'coordinate':
      return fc.nat(Math.min(shape.max, 0x7fff_ffff)).map((value) => value / shape.divisor);
    case 'text':
      return text(shape.maxBytes, shape.padTo);
    case 'digits':
      return fc
        .array(fc.constantFrom(...'0123456789F'.split('')), { minLength: shape.length, maxLength: shape.length })
        .map((all) => all.join(''));
    case 'bytes':
      return bytes(shape.min, shape.max);
    case 'cameraTime':
    case 'cameraDate':
    case 'clockTime':
      return timeArbitraries[shape.kind];
    case 'count':
      return fc.constant(0);
    case 'constant':
      return fc.constantFrom(...shape.values);
    case 'list':
      return fc.array(rawValue(shape.item, edition), { maxLength: shape.max });
    case 'tuple':
      return fc.tuple(...shape.items.map((item) => rawValue(item, edition)));
    case 'object':
      return fc.record(
        Object.fromEntries(Object.entries(shape.fields).map(([key, field]) => [key, rawValue(field, edition)])),
      );
    case 'struct':
      return bodyArbitrary(shape.fields, edition);
    case 'byEdition':
      return rawValue(shape.shapes[edition], edition);
    case 'optional':
      return rawValue(shape.shape, edition);
  }
}

/** Returns the value of a field once the preceding fields are known; undefined if it is absent. */
function applyConditions(shape: Shape, value: unknown, includeOptional: boolean, scope: Scope, all: Values): unknown {
  switch (shape.kind) {
    case 'optional': {
      const present = shape.present(scope);
      const isPresent = present === 'maybe' ? includeOptional : present;
      return isPresent ? applyConditions(shape.shape, value, includeOptional, scope, all) : undefined;
    }
    case 'count': {
      const counted = all[shape.of];
      return Array.isArray(counted) || Buffer.isBuffer(counted) ? counted.length : 0;
    }
    case 'coordinate':
      return (Number(scope.body['status']) >>> shape.statusBit) & 1 ? -Number(value) : value;
    default:
      return value;
  }
}

/** Generates random bodies of a set of fields in an edition, in decoded form. */
export function bodyArbitrary(fields: Fields, edition: Edition): fc.Arbitrary<Values> {
  const entries = Object.entries(fields);
  const values = fc.record(Object.fromEntries(entries.map(([key, field]) => [key, rawValue(field.shape, edition)])));
  return fc.tuple(values, fc.nat(entries.length)).map(([all, includedCount]) => {
    const body: Values = {};
    const scope: Scope = { edition, body };
    entries.forEach(([key, field], index) => {
      const value = applyConditions(field.shape, all[key], index < includedCount, scope, all);
      if (value !== undefined) body[key] = value;
    });
    return body;
  });
}
