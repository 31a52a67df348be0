import type { Edition } from '../edition.ts';
import { BodyError, EncodeError } from '../errors.ts';
import { Reader } from '../reader.ts';
import type { Writer } from '../writer.ts';

/** Context of a field beside its own bytes: the edition and the preceding fields. */
export interface Scope {
  readonly edition: Edition;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Values that a field can carry. Tests generate random bodies of every message from it. */
export type Shape =
  | { kind: 'integer'; min: number; max: number }
  | { kind: 'bigint' }
  | { kind: 'scaled'; max: number; divisor: number }
  | { kind: 'coordinate'; max: number; divisor: number; statusBit: number }
  | { kind: 'text'; maxBytes: number; padTo?: number }
  | { kind: 'digits'; length: number }
  | { kind: 'bytes'; min: number; max: number }
  | { kind: 'cameraTime' | 'cameraDate' | 'clockTime' }
  | { kind: 'count'; of: string }
  | { kind: 'constant'; values: readonly unknown[] }
  | { kind: 'list'; item: Shape; max: number }
  | { kind: 'tuple'; items: readonly Shape[] }
  | { kind: 'object'; fields: Readonly<Record<string, Shape>> }
  | { kind: 'struct'; fields: Fields }
  | { kind: 'byEdition'; shapes: Readonly<Record<Edition, Shape>> }
  | { kind: 'optional'; shape: Shape; present: (scope: Scope) => boolean | 'maybe' };

/** One field of a message: wire type, reader, writer and log form. */
export interface Field<T> {
  /** The standard's type, for the generated tables: WORD, STRING, ... */
  readonly type: string;
  readonly shape: Shape;
  read(reader: Reader, scope: Scope): T;
  write(writer: Writer, value: T, scope: Scope): void;
  /** Adds the value to the log form under its snake_case name. */
  format(out: Record<string, unknown>, key: string, value: T): void;
}

/** Field that may be absent: not among the type's required keys. */
export interface OptionalField<T> extends Field<T | undefined> {
  readonly optional: true;
}

/** Fields of a message in wire order. */
export type Fields = Readonly<Record<string, Field<unknown>>>;

type FieldValue<F> = F extends Field<infer T> ? T : never;
type OptionalKeys<F> = { [K in keyof F]: F[K] extends { optional: true } ? K : never }[keyof F];

/** Object that a set of fields reads and writes. */
export type ValuesOf<F> = { -readonly [K in Exclude<keyof F, OptionalKeys<F>>]: FieldValue<F[K]> } & {
  -readonly [K in OptionalKeys<F>]?: FieldValue<F[K]> | undefined;
} extends infer V
  ? { [K in keyof V]: V[K] }
  : never;

/** Returns the snake_case of a field name, as used in logs and the reference. */
export function snakeCase(name: string): string {
  return name
    .replaceAll(/([A-Z])/g, '_$1')
    .replaceAll(/([a-z])(\d+[a-z])/g, '$1_$2')
    .toLowerCase();
}

/** Returns upper-case hex with 0x and at least `digits` digits. */
export function hexId(value: number | bigint, digits: number): string {
  return `0x${value.toString(16).toUpperCase().padStart(digits, '0')}`;
}

/** Reads fields in order; an error names the field at which the bytes ended. */
export function readFields(entries: readonly (readonly [string, Field<unknown>])[], reader: Reader, edition: Edition) {
  const body: Record<string, unknown> = {};
  const scope: Scope = { edition, body };
  let key = '';
  try {
    for (const entry of entries) {
      key = entry[0];
      const value = entry[1].read(reader, scope);
      if (value !== undefined) body[key] = value;
    }
  } catch (error) {
    if (error instanceof BodyError) throw error.within(key);
    throw error;
  }
  return body;
}

/** Reads fields that must fill the bytes exactly; returns undefined if they do not. */
export function readExactly<F extends Fields>(fields: F, bytes: Buffer, edition: Edition): ValuesOf<F> | undefined {
  try {
    const reader = new Reader(bytes);
    const values = readFields(Object.entries(fields), reader, edition);
    return reader.remaining === 0 ? (values as ValuesOf<F>) : undefined;
  } catch (error) {
    if (error instanceof BodyError) return undefined;
    throw error;
  }
}

/** Writes fields in order; an error names the field whose value does not fit. */
export function writeFields(
  entries: readonly (readonly [string, Field<unknown>])[],
  writer: Writer,
  body: Readonly<Record<string, unknown>>,
  edition: Edition,
): void {
  const scope: Scope = { edition, body };
  let key = '';
  try {
    for (const entry of entries) {
      key = entry[0];
      const value = body[key];
      if (value === undefined && !('optional' in entry[1])) throw new EncodeError('missing');
      entry[1].write(writer, value, scope);
    }
  } catch (error) {
    if (error instanceof EncodeError) throw error.within(key);
    throw error;
  }
}

/** Returns the log form of fields: snake_case names, ISO times, hex ids. */
export function formatFields(
  entries: readonly (readonly [string, Field<unknown>])[],
  body: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  for (const [key, field] of entries) {
    if (body[key] !== undefined) field.format(out, key, body[key]);
  }
  return out;
}

/** Returns the log form of a single value. */
export function formatValue<T>(field: Field<T>, value: T): unknown {
  const out: Record<string, unknown> = {};
  field.format(out, 'v', value);
  return out['v'];
}

/** Logs a value unchanged under its snake_case name, as most fields do. */
export function formatPlain(out: Record<string, unknown>, key: string, value: unknown): void {
  out[snakeCase(key)] = value;
}
