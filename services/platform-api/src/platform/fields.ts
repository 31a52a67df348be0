import { AppError, parseSort, type Sort, validationError } from '@fleet/service-kit';
import { type Static, type TSchema, Type } from 'typebox';
import { normalizePhone } from './phone.ts';
import { recordId } from './schemas.ts';

/** Schemas of fields that many domains have (docs/reference/conventions.md). */

/** A field that null clears. One list of types instead of `anyOf`, so that a fault is told once. */
export function nullableField<T extends TSchema>(schema: T) {
  // With null it is another schema than the one of that name.
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

/** One of some words. */
export const stringEnum = <const T extends readonly string[]>(
  values: T,
  options: { description?: string; default?: T[number] } = {},
) => Type.Unsafe<T[number]>({ type: 'string', enum: [...values], ...options });

/** A list of ids; each counts once. */
export const idList = (maxItems = 10_000) => Type.Array(recordId, { maxItems });

const nulMessage = 'must not have the NUL character';

/** Text without the NUL character, which databases do not store. */
export const text = (minLength: number, maxLength: number, options: { description?: string } = {}) =>
  Type.String({ minLength, maxLength, pattern: '^[^\\u0000]*$', errorMessage: { pattern: nulMessage }, ...options });

/** Text that people read, such as a name or a note: blanks at its ends are removed, and what has nothing else is empty. */
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

/** What the parameter `query` of a list may hold. */
export const searchText = (fields: string) =>
  Type.Optional(text(0, 200, { description: `Case-insensitive part of ${fields}.` }));

/** A colour as pages show it. */
export const color = Type.String({
  pattern: '^#[0-9A-Fa-f]{6}$',
  errorMessage: 'must be a colour such as #1976D2',
  examples: ['#1976D2'],
});

export const email = Type.String({ format: 'email', maxLength: 254 });

/** As the caller writes it; `phoneAt` reads it. */
export const phone = trimmedText(1, 40, { description: 'E.164 with +; spaces, dashes and brackets are left out.' });

/** E.164 of what a caller wrote at a field, or 400. */
export function parsePhoneField(path: string, input: string): string {
  const number = normalizePhone(input);
  if (number !== null) return number;
  throw validationError([{ path, message: 'must be a phone number with + and country code, such as +14155550100' }]);
}

/** What `sort` of a list says, by the stored names of its fields where they are other ones. */
export function toSorting(sort: string | undefined, storedNames: Readonly<Record<string, string>> = {}): Sort {
  const { field, direction } = parseSort(sort);
  return { field: storedNames[field] ?? field, direction };
}

/** Values that lists are ordered by, as MongoDB compares them: null first, and texts by their code. */
type Sortable = string | number | Date | null;

/** A list that is not read from a collection, in the order that `sort` says; the id breaks ties. `valuesOf` has the fields beside it, by their names there. */
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

/** Free data of the caller. */
export const attributes = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  description: 'Free data, 8 KiB of JSON at most.',
});
const maxAttributesBytes = 8 * 1024;

/** Free data as it is stored: as text, since databases do not take every field name. 400 above the limit. */
export function serializeAttributes(input: Record<string, unknown>, path = '/attributes'): string {
  const json = JSON.stringify(input);
  if (Buffer.byteLength(json) <= maxAttributesBytes) return json;
  throw validationError([{ path, message: 'must not be larger than 8 KiB' }]);
}

/** Free data as it is shown. */
export const parseAttributes = (stored: string): Record<string, unknown> =>
  JSON.parse(stored) as Record<string, unknown>;

/** The same fields, without those that are undefined: what a partial update changes. */
export const omitUndefined = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;

/** The first of the ids that is not among those found is 404, so that foreign ids and wrong ones look the same. */
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
