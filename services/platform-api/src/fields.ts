import { AppError, invalid, readSorting, type Sorting } from '@fleet/service-kit';
import { type Static, type TSchema, Type } from 'typebox';
import { normalPhone } from './phone.ts';
import { recordId } from './schemas.ts';

/** Schemas of fields that many domains have (platform-contract.md, sections 1.2 and 27). */

/** A field that null clears. One list of types in the place of `anyOf`, so that a fault is told once. */
export function clearable<T extends TSchema>(schema: T) {
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
export const oneOfWords = <const T extends readonly string[]>(
  words: T,
  more: { description?: string; default?: T[number] } = {},
) => Type.Unsafe<T[number]>({ type: 'string', enum: [...words], ...more });

/** A list of ids; each counts once. */
export const idList = (maxItems = 10_000) => Type.Array(recordId, { maxItems });

const hasNul = 'must not have the NUL character';

/** Text without the NUL character, which databases do not store. */
export const text = (minLength: number, maxLength: number, more: { description?: string } = {}) =>
  Type.String({ minLength, maxLength, pattern: '^[^\\u0000]*$', errorMessage: { pattern: hasNul }, ...more });

/** Text that people read, such as a name or a note: blanks at its ends are removed, and what has nothing else is empty. */
export const trimmedText = (
  minLength: number,
  maxLength: number,
  more: { description?: string; examples?: string[] } = {},
) =>
  Type.String({
    minLength,
    maxLength,
    pattern: minLength === 0 ? '^[^\\u0000]*$' : '^\\s*[^\\s\\u0000][^\\u0000]*$',
    errorMessage: { pattern: (given: unknown) => (String(given).trim() === '' ? 'must not be empty' : hasNul) },
    trim: true,
    ...more,
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
export function phoneAt(path: string, given: string): string {
  const number = normalPhone(given);
  if (number !== null) return number;
  throw invalid([{ path, message: 'must be a phone number with + and country code, such as +14155550100' }]);
}

/** What `sort` of a list says, by the stored names of its fields where they are other ones. */
export function sortingOf(sort: string | undefined, stored: Readonly<Record<string, string>> = {}): Sorting {
  const { field, direction } = readSorting(sort);
  return { field: stored[field] ?? field, direction };
}

/** Values that lists are ordered by, as MongoDB compares them: null first, and texts by their code. */
type Ordered = string | number | Date | null;

/** A list that is not read from a collection, in the order that `sort` says; the id breaks ties. `valuesOf` has the fields beside it, by their names there. */
export function inOrder<T>(
  items: readonly T[],
  { field, direction }: Sorting,
  idOf: (item: T) => number,
  valuesOf: Readonly<Record<string, (item: T) => Ordered>> = {},
): T[] {
  const valueOf = valuesOf[field] ?? idOf;
  return items.toSorted((a, b) => direction * (compared(valueOf(a), valueOf(b)) || idOf(a) - idOf(b)));
}

function compared(a: Ordered, b: Ordered): number {
  if (a === null || b === null) return Number(a !== null) - Number(b !== null);
  return a < b ? -1 : Number(a > b);
}

/** Free data of the caller. */
export const attributes = Type.Unsafe<Record<string, unknown>>({
  type: 'object',
  additionalProperties: true,
  description: 'Free data, 8 KiB of JSON at most.',
});
const attributesLimitBytes = 8 * 1024;

/** Free data as it is stored: as text, since databases do not take every field name. 400 above the limit. */
export function storedAttributes(given: Record<string, unknown>, path = '/attributes'): string {
  const json = JSON.stringify(given);
  if (Buffer.byteLength(json) <= attributesLimitBytes) return json;
  throw invalid([{ path, message: 'must not be larger than 8 KiB' }]);
}

/** Free data as it is shown. */
export const shownAttributes = (stored: string): Record<string, unknown> =>
  JSON.parse(stored) as Record<string, unknown>;

/** The same fields, without those that are undefined: what a partial update changes. */
export const given = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;

/** The first of the ids that is not among those found is 404, so that foreign ids and wrong ones look the same. */
export function requireAll(
  what: 'vehicle' | 'driver' | 'group' | 'geofence' | 'route',
  ids: readonly number[],
  found: Iterable<number>,
): void {
  const known = new Set(found);
  const missing = ids.find((id) => !known.has(id));
  if (missing === undefined) return;
  throw new AppError(what === 'vehicle' ? 'vehicle_not_found' : 'not_found', `There is no ${what} ${missing}.`);
}
