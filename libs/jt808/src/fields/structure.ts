import { EDITIONS, type Edition } from '../edition.ts';
import { BodyError, EncodeError } from '../errors.ts';
import type { Reader } from '../reader.ts';
import {
  describeFields,
  describePlain,
  describeValue,
  type Field,
  type Fields,
  type OptionalField,
  readFields,
  type Scope,
  snakeCase,
  type ValuesOf,
  writeFields,
} from './field.ts';

/** Nested group of fields. */
export function struct<F extends Fields>(fields: F): Field<ValuesOf<F>> {
  const entries = Object.entries(fields);
  return {
    type: entries.map(([, field]) => field.type).join(', '),
    shape: { kind: 'struct', fields },
    read: (reader, scope) => readFields(entries, reader, scope.edition) as ValuesOf<F>,
    write: (writer, value, scope) => writeFields(entries, writer, asRecord(value), scope.edition),
    describe: (out, key, value) => describePlain(out, key, describeFields(entries, asRecord(value))),
  };
}

function asRecord(value: unknown): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null) throw new EncodeError('missing');
  return value as Readonly<Record<string, unknown>>;
}

/** Options of a counted list. */
interface CountedOptions {
  /** 2011 has a second count, of the elements in this package. */
  packageCount2011?: Field<number>;
  /** Nothing at all follows for this value of an earlier field (clear everything). */
  noneWhen?: readonly [field: string, value: number];
}

/** Count and elements. A body that ends before the count has none of them. */
export function counted<T>(count: Field<number>, item: Field<T>, options: CountedOptions = {}): Field<T[]> {
  const { packageCount2011, noneWhen } = options;
  return {
    ...listOf(item, `${count.type} n, n x (${item.type})`),
    read(reader, scope) {
      if (noneWhen !== undefined && reader.remaining === 0) return [];
      const total = count.read(reader, scope);
      const second = scope.edition === '2011' ? packageCount2011 : undefined;
      if (second === undefined) return readItems(item, reader, scope, total, false);
      // The first count is that of the whole message: a single package may hold fewer.
      return readItems(item, reader, scope, Math.max(total, second.read(reader, scope)), true);
    },
    write(writer, value, scope) {
      const items = asList(value);
      if (noneWhen !== undefined && items.length === 0 && scope.body[noneWhen[0]] === noneWhen[1]) return;
      count.write(writer, items.length, scope);
      if (scope.edition === '2011') packageCount2011?.write(writer, items.length, scope);
      writeItems(item, items, writer, scope);
    },
  };
}

/** Elements to the end of the body; a last one that is cut short is left over. */
export function repeated<T>(item: Field<T>): Field<T[]> {
  return {
    ...listOf(item, `n x (${item.type})`),
    read: (reader, scope) => readWhole(item, reader, scope),
    write: (writer, value, scope) => writeItems(item, asList(value), writer, scope),
  };
}

function listOf<T>(item: Field<T>, type: string): Field<T[]> {
  return {
    type,
    shape: { kind: 'list', item: item.shape, max: 5 },
    read: (reader, scope) => readWhole(item, reader, scope),
    write: (writer, value, scope) => writeItems(item, asList(value), writer, scope),
    describe: (out, key, value) => {
      out[snakeCase(key)] = value.map((element) => describeValue(item, element));
    },
  };
}

function asList<T>(value: T[]): T[] {
  if (!Array.isArray(value)) throw new EncodeError('missing');
  return value;
}

function readItems<T>(item: Field<T>, reader: Reader, scope: Scope, count: number, mayEnd: boolean): T[] {
  const items: T[] = [];
  for (let i = 0; i < count; i += 1) {
    if (mayEnd && reader.remaining === 0) break;
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
export function readWhole<T>(item: Field<T>, reader: Reader, scope: Scope): T[] {
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

/** Writes elements one after the other, naming the one that does not fit. */
export function writeItems<T>(
  item: Field<T>,
  items: readonly T[],
  writer: Parameters<Field<T>['write']>[0],
  scope: Scope,
) {
  let index = 0;
  try {
    for (; index < items.length; index += 1) item.write(writer, items[index] as T, scope);
  } catch (error) {
    if (error instanceof EncodeError) throw error.within(String(index));
    throw error;
  }
}

/** Latitude and longitude side by side, as vertices are. */
export function pair(first: Field<number>, second: Field<number>): Field<[number, number]> {
  return {
    type: `${first.type}, ${second.type}`,
    shape: { kind: 'tuple', items: [first.shape, second.shape] },
    read: (reader, scope) => [first.read(reader, scope), second.read(reader, scope)],
    write(writer, value, scope) {
      first.write(writer, value[0], scope);
      second.write(writer, value[1], scope);
    },
    describe: describePlain,
  };
}

function optional<T>(
  inner: Field<T>,
  present: (scope: Scope) => boolean | 'maybe',
  read: (reader: Reader, scope: Scope) => T | undefined,
  write: Field<T | undefined>['write'],
): OptionalField<T> {
  return {
    optional: true,
    type: inner.type,
    shape: { kind: 'optional', shape: inner.shape, present },
    read,
    write,
    describe: (out, key, value) => (value === undefined ? undefined : inner.describe(out, key, value)),
  };
}

/** Field that is there only under a condition on earlier fields or the edition. */
export function when<T>(present: (scope: Scope) => boolean, inner: Field<T>): OptionalField<T> {
  return optional(
    inner,
    present,
    (reader, scope) => (present(scope) ? inner.read(reader, scope) : undefined),
    (writer, value, scope) => {
      if (!present(scope)) return;
      if (value === undefined && !('optional' in inner)) throw new EncodeError('missing');
      inner.write(writer, value as T, scope);
    },
  );
}

/** Field that is there when an earlier number satisfies a condition. */
export function whenField<T>(key: string, holds: (value: number) => boolean, inner: Field<T>): OptionalField<T> {
  return when((scope) => holds(Number(scope.body[key])), inner);
}

/** Field that is there when a bit of an earlier number is set. */
export function whenBit<T>(key: string, bit: number, inner: Field<T>): OptionalField<T> {
  return whenField(key, (flags) => ((flags >>> bit) & 1) === 1, inner);
}

/** Field of some editions only. */
export function inEditions<T>(editions: readonly Edition[], inner: Field<T>): OptionalField<T> {
  return when((scope) => editions.includes(scope.edition), inner);
}

/** Field that the end of the body may leave out: read when at least `minBytes` are left, written when given. */
export function ifLeft<T>(inner: Field<T>, minBytes = 1): OptionalField<T> {
  return optional(
    inner,
    () => 'maybe',
    (reader, scope) => (reader.remaining >= minBytes ? inner.read(reader, scope) : undefined),
    (writer, value, scope) => (value === undefined ? undefined : inner.write(writer, value, scope)),
  );
}

/** One name, another wire form in each edition. */
export function byEdition<T>(forms: Readonly<Record<Edition, Field<T>>>): Field<T> {
  return {
    type: [...new Set(EDITIONS.map((edition) => forms[edition].type))].join(' / '),
    shape: {
      kind: 'byEdition',
      shapes: { '2011': forms['2011'].shape, '2013': forms['2013'].shape, '2019': forms['2019'].shape },
    },
    read: (reader, scope) => forms[scope.edition].read(reader, scope),
    write: (writer, value, scope) => forms[scope.edition].write(writer, value, scope),
    describe: (out, key, value) => forms['2013'].describe(out, key, value),
  };
}

/** Fact about the layout that is not itself on the wire: found by looking ahead, used when writing. */
export function found<T>(
  look: (reader: Reader, scope: Scope) => T | undefined,
  values: readonly (T | undefined)[],
  describe: Field<T>['describe'] = () => undefined,
): OptionalField<T> {
  return {
    optional: true,
    type: '',
    shape: { kind: 'constant', values },
    read: look,
    write: () => undefined,
    describe: (out, key, value) => (value === undefined ? undefined : describe(out, key, value)),
  };
}
