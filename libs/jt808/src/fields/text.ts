import {
  type CameraDate,
  type CameraTime,
  type ClockTime,
  packDigits,
  type RawBcd,
  readCameraDate,
  readCameraTime,
  readClockTime,
  writeCameraDate,
  writeCameraTime,
  writeClockTime,
} from '../bcd.ts';
import { EncodeError } from '../errors.ts';
import { unpackDigits } from '../terminal-number.ts';
import { decodeGbk, encodeGbk } from '../text.ts';
import { type Field, formatPlain, type OptionalField, snakeCase } from './field.ts';

/**
 * Creates a STRING field to the end of the body. 2011 ends it with a NUL: both forms are read; it is written without,
 * since terminals use the length.
 */
export function text(): Field<string> {
  return {
    type: 'STRING',
    shape: { kind: 'text', maxBytes: 60 },
    read: (reader) => decodeGbk(reader.takeRemaining()),
    write: (writer, value) => writer.put(encodeGbk(value)),
    format: formatPlain,
  };
}

function prefixedText(lengthBytes: 1 | 2): Field<string> {
  return {
    type: lengthBytes === 1 ? 'BYTE n + STRING' : 'WORD n + STRING',
    shape: { kind: 'text', maxBytes: 40 },
    read: (reader) => decodeGbk(reader.take(lengthBytes === 1 ? reader.u8() : reader.u16())),
    write(writer, value) {
      const bytes = encodeGbk(value);
      writer.uint(bytes.length, lengthBytes);
      writer.put(bytes);
    },
    format: formatPlain,
  };
}

/** Creates a STRING field with a length of one byte before it. */
export const text8 = (): Field<string> => prefixedText(1);
/** Creates a STRING field with a length of two bytes before it. */
export const text16 = (): Field<string> => prefixedText(2);

/** Position of the padding in fixed-width text. */
type Padding = 'nulBehind' | 'nulInFront' | 'spaceBehind';

/**
 * Creates a text field of fixed width. NULs at both ends are padding when reading, whichever side the standard
 * specifies.
 */
export function fixedText(size: number, padding: Padding = 'nulBehind'): Field<string> {
  return {
    type: `BYTE[${size}]`,
    shape: { kind: 'text', maxBytes: size, ...(padding === 'spaceBehind' ? { padTo: size } : {}) },
    read: (reader) => decodeGbk(reader.take(size)),
    write: (writer, value) => {
      const bytes = encodeGbk(value);
      const paddingBytes = size - bytes.length;
      if (paddingBytes < 0) throw new EncodeError(`${bytes.length} bytes exceed the width of ${size}`);
      if (padding === 'nulInFront') writer.fill(0, paddingBytes);
      writer.put(bytes);
      if (padding !== 'nulInFront') writer.fill(padding === 'spaceBehind' ? 0x20 : 0, paddingBytes);
    },
    format: formatPlain,
  };
}

/** Creates a fixed-width text field that ends the body and may be cut short or missing. */
export function fixedTextTail(size: number): OptionalField<string> {
  const inner = fixedText(size);
  return {
    optional: true,
    type: inner.type,
    shape: { kind: 'optional', shape: inner.shape, present: () => 'maybe' },
    read: (reader) => (reader.remaining === 0 ? undefined : decodeGbk(reader.take(Math.min(size, reader.remaining)))),
    write: (writer, value, scope) => (value === undefined ? undefined : inner.write(writer, value, scope)),
    format: formatPlain,
  };
}

/**
 * Creates a field of packed digits, preserved unchanged: `size` bytes are twice as many digits, A-F included (an ICCID
 * may end in F).
 */
export function digits(size: number): Field<string> {
  return {
    type: `BCD[${size}]`,
    shape: { kind: 'digits', length: size * 2 },
    read: (reader) => unpackDigits(reader.take(size), 0, size),
    write: (writer, value) => writer.put(packDigits(value, size)),
    format: formatPlain,
  };
}

/** Creates a field of raw bytes of fixed width. The value is a view on the received data. */
export function bytes(size: number): Field<Buffer> {
  return {
    type: `BYTE[${size}]`,
    shape: { kind: 'bytes', min: size, max: size },
    read: (reader) => reader.take(size),
    write(writer, value) {
      if (value.length !== size) throw new EncodeError(`expected ${size} bytes, got ${value.length}`);
      writer.put(value);
    },
    format: formatHex,
  };
}

/** Creates a field of raw bytes to the end of the body, possibly none. */
export function remainingBytes(): Field<Buffer> {
  return {
    type: 'BYTE[n]',
    shape: { kind: 'bytes', min: 0, max: 60 },
    read: (reader) => reader.takeRemaining(),
    write: (writer, value) => writer.put(value),
    format: formatHex,
  };
}

/** Creates a field of raw bytes to the end of the body; absent if there are none. */
export function optionalRemaining(): OptionalField<Buffer> {
  return {
    optional: true,
    type: 'BYTE[n]',
    shape: { kind: 'optional', shape: { kind: 'bytes', min: 1, max: 20 }, present: () => 'maybe' },
    read: (reader) => (reader.remaining === 0 ? undefined : reader.takeRemaining()),
    write: (writer, value) => (value === undefined ? undefined : writer.put(value)),
    format: (out, key, value) => (value === undefined ? undefined : formatHex(out, key, value)),
  };
}

/**
 * Creates a field of picture, audio or video data to the end of the body. Logs carry only its size and first 16 bytes.
 */
export function mediaData(): Field<Buffer> {
  return {
    ...remainingBytes(),
    format(out, key, value) {
      out[`${snakeCase(key)}_length`] = value.length;
      out[`${snakeCase(key)}_head_hex`] = value.subarray(0, 16).toString('hex').toUpperCase();
    },
  };
}

function formatHex(out: Record<string, unknown>, key: string, value: Buffer): void {
  out[`${snakeCase(key)}_hex`] = value.toString('hex').toUpperCase();
}

function formatRawBcd(value: RawBcd): Record<string, string> {
  return 'bcd' in value ? { bcd: value.bcd } : { invalid_bcd: value.invalidBcd };
}

function formatTime(out: Record<string, unknown>, key: string, value: CameraTime, suffix: string): void {
  out[snakeCase(key)] = typeof value === 'string' ? value + suffix : value === null ? null : formatRawBcd(value);
}

/** Creates a field for a time on the terminal's own clock, BCD[6]; GMT+8 by the standard. Null = no value. */
export function cameraTime(zone: '+08:00' | 'Z' = '+08:00'): Field<CameraTime> {
  return {
    type: 'BCD[6]',
    shape: { kind: 'cameraTime' },
    read: (reader) => readCameraTime(reader.take(6)),
    write: (writer, value) => writer.put(writeCameraTime(value)),
    format: (out, key, value) => formatTime(out, key, value, zone),
  };
}

/** Creates a field for a calendar date, BCD[4] YYYYMMDD. */
export function cameraDate(): Field<CameraDate> {
  return {
    type: 'BCD[4]',
    shape: { kind: 'cameraDate' },
    read: (reader) => readCameraDate(reader.take(4)),
    write: (writer, value) => writer.put(writeCameraDate(value)),
    format: (out, key, value) => formatTime(out, key, value, ''),
  };
}

/** Creates a field for a time of day, BCD[5] hh mm ss msms. */
export function clockTime(): Field<ClockTime> {
  return {
    type: 'BCD[5]',
    shape: { kind: 'clockTime' },
    read: (reader) => readClockTime(reader.take(5)),
    write: (writer, value) => writer.put(writeClockTime(value)),
    format: (out, key, value) => formatTime(out, key, value, ''),
  };
}
