import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import type { TSchema } from 'typebox';
import { lazyCheck } from '../runtime/lazy-check.ts';
import { AppError, type ErrorDetail } from './errors.ts';
import type { RequestContext } from './route.ts';
import { getSentNames, type SentNames } from './sent-names.ts';
import { maxDetails } from './validate.ts';
import { describeErrors } from './validation-messages.ts';

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
interface ParseState {
  /** JSON pointers to fields beside the known ones. */
  readonly unknown: string[];
  readonly names: SentNames;
}

const ignoredFields = new WeakMap<RequestContext, readonly string[]>();

/** JSON pointers to what a body had beside the known fields; empty without any. */
export const getIgnoredFields = (context: RequestContext): readonly string[] => ignoredFields.get(context) ?? [];

/**
 * Compiles the check of a Platform API body (platform-contract.md, sections 1.1 and 1.4): `data` as the only key is unwrapped; other spellings of a name are
 * taken; text is trimmed where its schema says so; unknown and read-only fields are left out and remembered for `meta.ignored_fields`, or refused with `X-Strict-Body: true`; every fault is a detail.
 */
export function compileBodyParser(schema: TSchema): (raw: unknown, context: RequestContext) => unknown {
  const check = lazyCheck(ajv, schema);
  return (raw, context) => {
    const unknown: string[] = [];
    const names = getSentNames(context);
    const value = pickKnownFields(schema, unwrapData(raw, schema), '', { unknown, names });
    if (unknown.length > 0 && context.request.get('x-strict-body') === 'true') throw unknownFieldsError(unknown);
    ignoredFields.set(context, unknown);
    if (check(value)) return value;
    throw names.error(validationError(describeErrors(check.errors ?? [])));
  };
}

/** The refusal of input with faults; the sentence is that of the first one. */
export function validationError(details: readonly ErrorDetail[]): AppError {
  const first = details[0];
  const name = first?.path.slice(1).replaceAll('/', '.') ?? '';
  const subject = name === '' ? 'The body' : `The field ${name}`;
  return new AppError('validation_failed', `${subject} ${first?.message ?? 'is invalid'}.`, {
    details: details.slice(0, maxDetails),
  });
}

function unwrapData(raw: unknown, schema: Schema): unknown {
  if (!isObject(raw) || Object.keys(raw).length !== 1 || !('data' in raw) || !isObject(raw['data'])) return raw;
  // A body that has a field of this name itself is no wrapping.
  return schema.properties !== undefined && 'data' in schema.properties ? raw : raw['data'];
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Returns a text without its outer blanks where the schema says so. `maxLength` counts what was sent: a longer text stays as it is, and fails the check. */
const trimText = (text: string, part: Schema | undefined): string =>
  part?.trim === true && !(Array.from(text).length > (part.maxLength ?? Number.POSITIVE_INFINITY)) ? text.trim() : text;

/** Copies a value with the known fields alone, under their own names. */
function pickKnownFields(schema: Schema | undefined, value: unknown, path: string, state: ParseState): unknown {
  if (typeof value === 'string') return trimText(value, findSubschema(schema, 'trim'));
  const items = findSubschema(schema, 'items')?.items;
  if (Array.isArray(value))
    return value.map((item: unknown, index): unknown => pickKnownFields(items, item, `${path}/${index}`, state));
  const object = findSubschema(schema, 'properties');
  if (!isObject(value) || object?.properties === undefined) return value;
  const remaining = new Map(Object.entries(value));
  const copy: Record<string, unknown> = {};
  for (const [name, part] of Object.entries(object.properties)) {
    if (part.readOnly === true) continue;
    if (part.alias !== undefined && !remaining.has(name) && remaining.has(part.alias))
      state.names.add(`${path}/${name}`, part.alias);
    const given = takeField(remaining, name, part.alias, path);
    if (given !== undefined) copy[name] = pickKnownFields(part, given, `${path}/${name}`, state);
  }
  for (const [name, given] of remaining) {
    if (object.additionalProperties !== undefined && object.additionalProperties !== false) copy[name] = given;
    else state.unknown.push(`${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`);
  }
  return copy;
}

/** The schema itself, or the one of its alternatives, that has a keyword. */
const findSubschema = (schema: Schema | undefined, keyword: 'items' | 'properties' | 'trim'): Schema | undefined =>
  schema?.[keyword] === undefined ? schema?.anyOf?.find((part) => part[keyword] !== undefined) : schema;

function takeField(remaining: Map<string, unknown>, name: string, alias: string | undefined, path: string): unknown {
  const values = [name, ...(alias === undefined ? [] : [alias])].filter((each) => remaining.has(each));
  const [first, second] = values.map((each) => remaining.get(each));
  for (const spelling of values) remaining.delete(spelling);
  if (values.length === 2 && JSON.stringify(first) !== JSON.stringify(second))
    throw new AppError('conflicting_parameters', `The fields ${name} and ${alias} say different things.`, {
      details: [{ path: `${path}/${name}`, message: `differs from ${alias}` }],
    });
  return first;
}

const unknownFieldsError = (paths: readonly string[]): AppError =>
  new AppError(
    'unknown_field',
    `The body has fields that are not known here: ${paths.slice(0, maxDetails).join(', ')}.`,
    {
      details: paths.slice(0, maxDetails).map((path) => ({ path, message: 'is not known' })),
    },
  );
