import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import type { TSchema } from 'typebox';
import { AppError, type ErrorDetail } from './errors.ts';
import { lazyCheck } from './lazy-check.ts';
import { plainFaults } from './plain-faults.ts';
import type { RequestContext } from './route.ts';
import { type SentNames, sentNamesOf } from './sent-names.ts';
import { maxDetails } from './validate.ts';

const ajv = new Ajv({
  allErrors: true,
  useDefaults: true,
  strict: false,
  strictNumbers: true,
  verbose: true,
  validateSchema: false,
});
addFormats.default(ajv);

type Schema = TSchema & {
  type?: unknown;
  properties?: Record<string, Schema>;
  items?: Schema;
  anyOf?: Schema[];
  readOnly?: boolean;
  /** Another spelling of the name that is accepted too: the interface writes some names in camelCase. */
  alias?: string;
  /** True for text whose blanks at the ends do not count: they are removed before the check. */
  trim?: boolean;
  maxLength?: number;
  additionalProperties?: unknown;
};

/** What is found while a body is read. */
interface Found {
  /** JSON pointers to fields beside the known ones. */
  readonly unknown: string[];
  readonly names: SentNames;
}

const ignored = new WeakMap<RequestContext, readonly string[]>();

/** JSON pointers to what a body had beside the known fields; empty without any. */
export const ignoredFieldsOf = (context: RequestContext): readonly string[] => ignored.get(context) ?? [];

/**
 * Compiles the check of a Platform API body (platform-contract.md, sections 1.1 and 1.4): `data` as the only key is unwrapped; other spellings of a name are
 * taken; text is trimmed where its schema says so; unknown and read-only fields are left out and remembered for `meta.ignored_fields`, or refused with `X-Strict-Body: true`; every fault is a detail.
 */
export function compilePlatformBody(schema: TSchema): (raw: unknown, context: RequestContext) => unknown {
  const check = lazyCheck(ajv, schema);
  return (raw, context) => {
    const unknown: string[] = [];
    const names = sentNamesOf(context);
    const value = known(schema, unwrap(raw, schema), '', { unknown, names });
    if (unknown.length > 0 && context.request.get('x-strict-body') === 'true') throw unknownFields(unknown);
    ignored.set(context, unknown);
    if (check(value)) return value;
    throw names.error(invalid(plainFaults(check.errors ?? [])));
  };
}

/** The refusal of input with faults; the sentence is that of the first one. */
export function invalid(details: readonly ErrorDetail[]): AppError {
  const first = details[0];
  const name = first?.path.slice(1).replaceAll('/', '.') ?? '';
  const subject = name === '' ? 'The body' : `The field ${name}`;
  return new AppError('validation_failed', `${subject} ${first?.message ?? 'is invalid'}.`, {
    details: details.slice(0, maxDetails),
  });
}

function unwrap(raw: unknown, schema: Schema): unknown {
  if (!isObject(raw) || Object.keys(raw).length !== 1 || !('data' in raw) || !isObject(raw['data'])) return raw;
  // A body that has a field of this name itself is no wrapping.
  return schema.properties !== undefined && 'data' in schema.properties ? raw : raw['data'];
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns a text without its outer blanks where the schema says so. `maxLength` counts what was sent: a longer text stays as it is, and fails the check. */
const trimmed = (text: string, part: Schema | undefined): string =>
  part?.trim === true && !(Array.from(text).length > (part.maxLength ?? Number.POSITIVE_INFINITY)) ? text.trim() : text;

/** Copies a value with the known fields alone, under their own names. */
function known(schema: Schema | undefined, value: unknown, path: string, found: Found): unknown {
  if (typeof value === 'string') return trimmed(value, partOf(schema, 'trim'));
  const items = partOf(schema, 'items')?.items;
  if (Array.isArray(value))
    return value.map((item: unknown, at): unknown => known(items, item, `${path}/${at}`, found));
  const object = partOf(schema, 'properties');
  if (!isObject(value) || object?.properties === undefined) return value;
  const left = new Map(Object.entries(value));
  const copy: Record<string, unknown> = {};
  for (const [name, part] of Object.entries(object.properties)) {
    if (part.readOnly === true) continue;
    if (part.alias !== undefined && !left.has(name) && left.has(part.alias))
      found.names.add(`${path}/${name}`, part.alias);
    const given = takeEither(left, name, part.alias, path);
    if (given !== undefined) copy[name] = known(part, given, `${path}/${name}`, found);
  }
  for (const [name, given] of left) {
    if (object.additionalProperties !== undefined && object.additionalProperties !== false) copy[name] = given;
    else found.unknown.push(`${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`);
  }
  return copy;
}

/** The schema itself, or the one of its alternatives, that has a keyword. */
const partOf = (schema: Schema | undefined, keyword: 'items' | 'properties' | 'trim'): Schema | undefined =>
  schema?.[keyword] === undefined ? schema?.anyOf?.find((part) => part[keyword] !== undefined) : schema;

function takeEither(left: Map<string, unknown>, name: string, alias: string | undefined, path: string): unknown {
  const values = [name, ...(alias === undefined ? [] : [alias])].filter((each) => left.has(each));
  const [first, second] = values.map((each) => left.get(each));
  for (const each of values) left.delete(each);
  if (values.length === 2 && JSON.stringify(first) !== JSON.stringify(second))
    throw new AppError('conflicting_parameters', `The fields ${name} and ${alias} say different things.`, {
      details: [{ path: `${path}/${name}`, message: `differs from ${alias}` }],
    });
  return first;
}

const unknownFields = (paths: readonly string[]): AppError =>
  new AppError(
    'unknown_field',
    `The body has fields that are not known here: ${paths.slice(0, maxDetails).join(', ')}.`,
    {
      details: paths.slice(0, maxDetails).map((path) => ({ path, message: 'is not known' })),
    },
  );
