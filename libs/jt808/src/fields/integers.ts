import { EncodeError } from '../errors.ts';
import { type Field, formatPlain, hexId, type OptionalField, snakeCase } from './field.ts';

const typeNames = { 1: 'BYTE', 2: 'WORD', 4: 'DWORD' } as const;
type Size = keyof typeof typeNames;

/** Log form of an integer: plain, or an id in hex with this number of digits. */
interface IntegerOptions {
  hexDigits?: number;
}

function integer(size: Size, options: IntegerOptions = {}): Field<number> {
  const { hexDigits } = options;
  return {
    type: typeNames[size],
    shape: { kind: 'integer', min: 0, max: 2 ** (8 * size) - 1 },
    read: (reader) => (size === 1 ? reader.u8() : size === 2 ? reader.u16() : reader.u32()),
    write: (writer, value) => writer.uint(value, size),
    format: (out, key, value) => formatPlain(out, key, hexDigits === undefined ? value : hexId(value, hexDigits)),
  };
}

/** Creates a field for a BYTE. */
export const u8 = (options?: IntegerOptions): Field<number> => integer(1, options);
/** Creates a field for a WORD. */
export const u16 = (options?: IntegerOptions): Field<number> => integer(2, options);
/** Creates a field for a DWORD. */
export const u32 = (options?: IntegerOptions): Field<number> => integer(4, options);

/** Creates a field of 64 flag bits as one bigint, most significant byte first. */
export function u64(): Field<bigint> {
  return {
    type: 'BYTE[8]',
    shape: { kind: 'bigint' },
    read: (reader) => reader.u64(),
    write: (writer, value) => writer.u64(value),
    format: (out, key, value) => formatPlain(out, key, hexId(value, 16)),
  };
}

/** Creates a WORD field in tenths of the unit in the field's name. */
export function tenths(): Field<number> {
  return scaled(2, 10);
}

/** Creates a DWORD field in tenths of the unit in the field's name. */
export function tenthsU32(): Field<number> {
  return scaled(4, 10);
}

function scaled(size: Size, divisor: number): Field<number> {
  return {
    type: typeNames[size],
    shape: { kind: 'scaled', max: 2 ** (8 * size) - 1, divisor },
    read: (reader) => (size === 2 ? reader.u16() : reader.u32()) / divisor,
    write: (writer, value) => writer.uint(Math.round(value * divisor), size),
    format: formatPlain,
  };
}

/**
 * Creates the count of a later list or byte field. It is read as received; if the body does not state it, the length is
 * written.
 */
export function countOf(list: string, count: Field<number>): OptionalField<number> {
  return {
    optional: true,
    type: count.type,
    shape: { kind: 'count', of: list },
    read: (reader, scope) => count.read(reader, scope),
    write(writer, value, scope) {
      const items = scope.body[list];
      const length = Array.isArray(items) || Buffer.isBuffer(items) ? items.length : 0;
      count.write(writer, value ?? length, scope);
    },
    format: formatPlain,
  };
}

const microdegreesPerDegree = 1_000_000;

/**
 * Creates a DWORD field of 10^-6 degrees without a sign. The hemisphere is in attribute bits of the message, which the
 * sender sets.
 */
export function unsignedCoordinate(): Field<number> {
  return {
    type: 'DWORD',
    shape: { kind: 'scaled', max: 180 * microdegreesPerDegree, divisor: microdegreesPerDegree },
    read: (reader) => reader.u32() / microdegreesPerDegree,
    write: (writer, value) => writer.uint(Math.round(Math.abs(value) * microdegreesPerDegree), 4),
    format: formatPlain,
  };
}

/**
 * Creates a DWORD field of 10^-6 degrees whose sign is a bit of the status field (2 south, 3 west). Some terminals
 * also, or only, send two's complement. A negative value without its status bit is written in two's complement too.
 */
export function coordinate(statusBit: number): Field<number> {
  return {
    type: 'DWORD',
    shape: { kind: 'coordinate', max: 180 * microdegreesPerDegree, divisor: microdegreesPerDegree, statusBit },
    read(reader, scope) {
      const raw = reader.u32();
      const magnitude = raw >= 0x8000_0000 ? 0x1_0000_0000 - raw : raw;
      const isNegative = magnitude !== raw || isSet(scope.body['status'], statusBit);
      return (isNegative ? -magnitude : magnitude) / microdegreesPerDegree;
    },
    write(writer, value, scope) {
      const size = Math.round(Math.abs(value) * microdegreesPerDegree);
      const usesTwosComplement = value < 0 && size > 0 && !isSet(scope.body['status'], statusBit);
      writer.uint(usesTwosComplement ? 0x1_0000_0000 - size : size, 4);
    },
    format: formatPlain,
  };
}

function isSet(flags: unknown, bit: number): boolean {
  return typeof flags === 'number' && ((flags >>> bit) & 1) === 1;
}

/**
 * Creates a WORD field of metres above sea level. Unsigned by the text; values from 0x8000 on can only be negative, and
 * log as `altitude_raw`.
 */
export function altitude(): Field<number> {
  return {
    type: 'WORD',
    shape: { kind: 'integer', min: -0x8000, max: 0x7fff },
    read: (reader) => (reader.u16() << 16) >> 16,
    write(writer, value) {
      if (value < -0x8000) throw new EncodeError(`${value} does not fit in 16 bits`);
      writer.uint(value < 0 ? value + 0x1_0000 : value, 2);
    },
    format(out, key, value) {
      if (value < 0) out['altitude_raw'] = value + 0x1_0000;
      else out[snakeCase(key)] = value;
    },
  };
}

/**
 * Creates a WORD field of sign and magnitude: bit 15 = negative. Logs only positive values, since vendors disagree on
 * the negative form.
 */
export function signMagnitude(): Field<number> {
  return {
    type: 'WORD',
    shape: { kind: 'integer', min: 0, max: 0x7fff },
    read(reader) {
      const raw = reader.u16();
      return raw > 0x8000 ? -(raw & 0x7fff) : raw & 0x7fff;
    },
    write: (writer, value) => writer.uint(value < 0 ? 0x8000 - value : value, 2),
    format: (out, key, value) => (value < 0 ? undefined : formatPlain(out, key, value)),
  };
}
