import { AppError, parseSort, type Sort, validationError } from '@fleet/service-kit';
import { type Static, type TSchema, Type } from 'typebox';
import { normalizePhone } from './phone.ts';
import { recordId } from './schemas.ts';

/** Schemas of fields that several domains have (docs/reference/conventions.md). */

/**
 * Returns the schema of a field that null clears. Uses a list of types instead of `anyOf`, so that a fault is reported
 * once.
 */
export function nullableField<T extends TSchema>(schema: T) {
  // With null the schema is a different one, and must not have the same title.
  const {
    type,
    enum: values,
    title: _name,
    ...rest
  } = schema as T & {
    type?: string;
    title?: string;
    enum?: readonly unknown[];
  };
  return Type.Unsafe<Static<T> | null>({
    ...rest,
    type: [type, 'null'],
    ...(values === undefined ? {} : { enum: [...values, null] }),
  });
}

/** Returns the schema of one of several strings. */
export const stringEnum = <const T extends readonly string[]>(
  values: T,
  options: { description?: string; default?: T[number] } = {},
) => Type.Unsafe<T[number]>({ type: 'string', enum: [...values], ...options });

/** Returns the schema of a list of ids; duplicates count once. */
export const idList = (maxItems = 10_000) => Type.Array(recordId, { maxItems });

const nulMessage = 'must not have the NUL character';

/** Returns the schema of text without the NUL character, which databases do not store. */
export const text = (minLength: number, maxLength: number, options: { description?: string } = {}) =>
  Type.String({ minLength, maxLength, pattern: '^[^\\u0000]*$', errorMessage: { pattern: nulMessage }, ...options });

/**
 * Returns the schema of text that people read, such as a name or a note. Leading and trailing blanks are removed, so
 * blank text is empty.
 */
export const trimmedText = (
  minLength: number,
  maxLength: number,
  options: { description?: string; examples?: string[] } = {},
) =>
  Type.String({
    minLength,
    maxLength,
    pattern: minLength === 0 ? '^[^\\u0000]*$' : '^\\s*[^\\s\\u0000][^\\u0000]*$',
    errorMessage: { pattern: (input: unknown) => (String(input).trim() === '' ? 'must not be empty' : nulMessage) },
    trim: true,
    ...options,
  });

/** Returns the schema of the parameter `query` of a list. */
export const searchText = (fields: string) =>
  Type.Optional(text(0, 200, { description: `Case-insensitive part of ${fields}.` }));

/** A colour in the notation of web pages. */
export const color = Type.String({
  pattern: '^#[0-9A-Fa-f]{6}$',
  errorMessage: 'must be a colour such as #1976D2',
  examples: ['#1976D2'],
});

export const email = Type.String({ format: 'email', maxLength: 254 });

/** A phone number as the caller writes it; `parsePhoneField` converts it. */
export const phone = trimmedText(1, 40, { description: 'E.164 with +; spaces, dashes and brackets are ignored.' });

/** Converts the phone number of a field to E.164. Throws 400 if it is invalid. */
export function parsePhoneField(path: string, input: string): string {
  const number = normalizePhone(input);
  if (number !== null) return number;
  throw validationError([{ path, message: 'must be a phone number with + and country code, such as +14155550100' }]);
}

/** Parses the parameter `sort` of a list and maps it to the stored names of fields. */
export function toSorting(sort: string | undefined, storedNames: Readonly<Record<string, string>> = {}): Sort {
  const { field, direction } = parseSort(sort);
  return { field: storedNames[field] ?? field, direction };
}

/** Values that lists are sorted by, as MongoDB compares them: null first, text by code units. */
type Sortable = string | number | Date | null;

/**
 * Sorts a list that is not read from a collection; the id breaks ties. `valueGetters` has the sortable fields except
 * the id.
 */
export function sortItems<T>(
  items: readonly T[],
  { field, direction }: Sort,
  getId: (item: T) => number,
  valueGetters: Readonly<Record<string, (item: T) => Sortable>> = {},
): T[] {
  const getValue = valueGetters[field] ?? getId;
  return items.toSorted((a, b) => direction * (compareValues(getValue(a), getValue(b)) || getId(a) - getId(b)));
}

function compareValues(a: Sortable, b: Sortable): number {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  return a < b ? -1 : Number(a > b);
}

/** Custom attributes of a record. */
export const attributes = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  description: 'Custom data of the client, at most 8 KiB of JSON.',
});
const maxAttributesBytes = 8 * 1024;

/**
 * Serializes attributes for storage. They are stored as text, because databases do not accept every field name. Throws
 * 400 above the limit.
 */
export function serializeAttributes(input: Record<string, unknown>, path = '/attributes'): string {
  const json = JSON.stringify(input);
  if (Buffer.byteLength(json) <= maxAttributesBytes) return json;
  throw validationError([{ path, message: 'must not be larger than 8 KiB' }]);
}

/** Parses stored attributes. */
export const parseAttributes = (stored: string): Record<string, unknown> =>
  JSON.parse(stored) as Record<string, unknown>;

/** Returns the fields without those that are undefined, for partial updates. */
export const omitUndefined = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;

/** Throws 404 for the first id that was not found. Ids of other accounts and unknown ids get the same error. */
export function assertAllFound(
  what: 'vehicle' | 'driver' | 'group' | 'geofence' | 'route',
  ids: readonly number[],
  found: Iterable<number>,
): void {
  const known = new Set(found);
  const missing = ids.find((id) => !known.has(id));
  if (missing === undefined) return;
  throw new AppError(what === 'vehicle' ? 'vehicle_not_found' : 'not_found', `There is no ${what} ${missing}.`);
}
