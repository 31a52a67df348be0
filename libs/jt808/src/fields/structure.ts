import { type Edition, editions } from '../edition.ts';
import { BodyError, EncodeError } from '../errors.ts';
import type { Reader } from '../reader.ts';
import {
  type Field,
  type Fields,
  formatFields,
  formatPlain,
  formatValue,
  type OptionalField,
  readFields,
  type Scope,
  snakeCase,
  type ValuesOf,
  writeFields,
} from './field.ts';

/** Creates a nested group of fields. */
export function struct<F extends Fields>(fields: F): Field<ValuesOf<F>> {
  const entries = Object.entries(fields);
  return {
    type: entries.map(([, field]) => field.type).join(', '),
    shape: { kind: 'struct', fields },
    read: (reader, scope) => readFields(entries, reader, scope.edition) as ValuesOf<F>,
    write: (writer, value, scope) => writeFields(entries, writer, asRecord(value), scope.edition),
    format: (out, key, value) => formatPlain(out, key, formatFields(entries, asRecord(value))),
  };
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) throw new EncodeError('missing');
  return value as Readonly<Record<string, unknown>>;
}

/** Options of a counted list. */
interface CountedOptions {
  /** Second count in 2011: the elements in this package. */
  packageCount2011?: Field<number>;
  /** Value of an earlier field after which nothing follows (clear everything). */
  emptyWhen?: readonly [field: string, value: number];
}

/** Creates a count and its elements. A body that ends before the count has no elements. */
export function countedList<T>(count: Field<number>, item: Field<T>, options: CountedOptions = {}): Field<T[]> {
  const { packageCount2011, emptyWhen } = options;
  return {
    ...listField(item, `${count.type} n, n x (${item.type})`),
    read(reader, scope) {
      if (emptyWhen !== undefined && reader.remaining === 0) return [];
      const total = count.read(reader, scope);
      const packageCount = scope.edition === '2011' ? packageCount2011 : undefined;
      if (packageCount === undefined) return readItems(item, reader, scope, total, false);
      // The first count covers the whole message: a single package may contain fewer elements.
      return readItems(item, reader, scope, Math.max(total, packageCount.read(reader, scope)), true);
    },
    write(writer, value, scope) {
      const items = asList(value);
      if (emptyWhen !== undefined && items.length === 0 && scope.body[emptyWhen[0]] === emptyWhen[1]) return;
      count.write(writer, items.length, scope);
      if (scope.edition === '2011') packageCount2011?.write(writer, items.length, scope);
      writeItems(item, items, writer, scope);
    },
  };
}

/** Creates a list of elements to the end of the body; an incomplete last element is left unread. */
export function listToEnd<T>(item: Field<T>): Field<T[]> {
  return {
    ...listField(item, `n x (${item.type})`),
    read: (reader, scope) => readToEnd(item, reader, scope),
    write: (writer, value, scope) => writeItems(item, asList(value), writer, scope),
  };
}

function listField<T>(item: Field<T>, type: string): Field<T[]> {
  return {
    type,
    shape: { kind: 'list', item: item.shape, max: 5 },
    read: (reader, scope) => readToEnd(item, reader, scope),
    write: (writer, value, scope) => writeItems(item, asList(value), writer, scope),
    format: (out, key, value) => {
      out[snakeCase(key)] = value.map((element) => formatValue(item, element));
    },
  };
}

function asList<T>(value: T[]): T[] {
  if (!Array.isArray(value)) throw new EncodeError('missing');
  return value;
}

function readItems<T>(item: Field<T>, reader: Reader, scope: Scope, count: number, mayBeIncomplete: boolean): T[] {
  const items: T[] = [];
  for (let i = 0; i < count; i += 1) {
    if (mayBeIncomplete && reader.remaining === 0) break;
    try {
      items.push(item.read(reader, scope));
    } catch (error) {
      if (error instanceof BodyError) throw error.within(String(i));
      throw error;
    }
  }
  return items;
}

/** Reads elements until the bytes end; an incomplete last element stays in the reader. */
function readToEnd<T>(item: Field<T>, reader: Reader, scope: Scope): T[] {
  const items: T[] = [];
  while (reader.remaining > 0) {
    const { at } = reader;
    try {
      items.push(item.read(reader, scope));
    } catch (error) {
      if (!(error instanceof BodyError)) throw error;
      reader.at = at;
      break;
    }
  }
  return items;
}

/** Writes elements in order; an error names the element that does not fit. */
function writeItems<T>(item: Field<T>, items: readonly T[], writer: Parameters<Field<T>['write']>[0], scope: Scope) {
  let index = 0;
  try {
    for (; index < items.length; index += 1) item.write(writer, items[index] as T, scope);
  } catch (error) {
    if (error instanceof EncodeError) throw error.within(String(index));
    throw error;
  }
}

/** Creates a pair of two numbers, such as the latitude and longitude of a vertex. */
export function pair(first: Field<number>, second: Field<number>): Field<[number, number]> {
  return {
    type: `${first.type}, ${second.type}`,
    shape: { kind: 'tuple', items: [first.shape, second.shape] },
    read: (reader, scope) => [first.read(reader, scope), second.read(reader, scope)],
    write(writer, value, scope) {
      first.write(writer, value[0], scope);
      second.write(writer, value[1], scope);
    },
    format: formatPlain,
  };
}

function optionalField<T>(
  inner: Field<T>,
  isPresent: (scope: Scope) => boolean | 'maybe',
  read: (reader: Reader, scope: Scope) => T | undefined,
  write: Field<T | undefined>['write'],
): OptionalField<T> {
  return {
    optional: true,
    type: inner.type,
    shape: { kind: 'optional', shape: inner.shape, present: isPresent },
    read,
    write,
    format: (out, key, value) => (value === undefined ? undefined : inner.format(out, key, value)),
  };
}

/** Creates a field that is present only under a condition on earlier fields or the edition. */
export function when<T>(isPresent: (scope: Scope) => boolean, inner: Field<T>): OptionalField<T> {
  return optionalField(
    inner,
    isPresent,
    (reader, scope) => (isPresent(scope) ? inner.read(reader, scope) : undefined),
    (writer, value, scope) => {
      if (!isPresent(scope)) return;
      if (value === undefined && !('optional' in inner)) throw new EncodeError('missing');
      inner.write(writer, value as T, scope);
    },
  );
}

/** Creates a field that is present if an earlier number satisfies a condition. */
export function whenField<T>(key: string, condition: (value: number) => boolean, inner: Field<T>): OptionalField<T> {
  return when((scope) => condition(Number(scope.body[key])), inner);
}

/** Creates a field that is present if a bit of an earlier number is set. */
export function whenBit<T>(key: string, bit: number, inner: Field<T>): OptionalField<T> {
  return whenField(key, (flags) => ((flags >>> bit) & 1) === 1, inner);
}

/** Creates a field that only some editions have. */
export function inEditions<T>(editions: readonly Edition[], inner: Field<T>): OptionalField<T> {
  return when((scope) => editions.includes(scope.edition), inner);
}

/** Creates a field that the end of the body may omit: read if at least `minBytes` remain, written if given. */
export function optionalTail<T>(inner: Field<T>, minBytes = 1): OptionalField<T> {
  return optionalField(
    inner,
    () => 'maybe',
    (reader, scope) => (reader.remaining >= minBytes ? inner.read(reader, scope) : undefined),
    (writer, value, scope) => (value === undefined ? undefined : inner.write(writer, value, scope)),
  );
}

/** Creates a field with one name and a different wire form per edition. */
export function byEdition<T>(forms: Readonly<Record<Edition, Field<T>>>): Field<T> {
  return {
    type: [...new Set(editions.map((edition) => forms[edition].type))].join(' / '),
    shape: {
      kind: 'byEdition',
      shapes: { '2011': forms['2011'].shape, '2013': forms['2013'].shape, '2019': forms['2019'].shape },
    },
    read: (reader, scope) => forms[scope.edition].read(reader, scope),
    write: (writer, value, scope) => forms[scope.edition].write(writer, value, scope),
    format: (out, key, value) => forms['2013'].format(out, key, value),
  };
}

/**
 * Creates a value that is not on the wire itself: a fact about the layout, detected by looking ahead and used for
 * writing.
 */
export function lookAhead<T>(
  detect: (reader: Reader, scope: Scope) => T | undefined,
  values: readonly (T | undefined)[],
  format: Field<T>['format'] = () => undefined,
): OptionalField<T> {
  return {
    optional: true,
    type: '',
    shape: { kind: 'constant', values },
    read: detect,
    write: () => undefined,
    format: (out, key, value) => (value === undefined ? undefined : format(out, key, value)),
  };
}
