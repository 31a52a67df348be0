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
  /** Second accepted spelling of the name: the interface writes some names in camelCase. */
  alias?: string;
  /** True for text whose outer blanks are removed before the check. */
  trim?: boolean;
  maxLength?: number;
  additionalProperties?: unknown;
};

/** Findings of a body. */
interface ParseState {
  /** JSON pointers to unknown fields. */
  readonly unknown: string[];
  readonly names: SentNames;
}

const ignoredFields = new WeakMap<RequestContext, readonly string[]>();

/** Returns the JSON pointers to the unknown fields of a body; empty without any. */
export const getIgnoredFields = (context: RequestContext): readonly string[] => ignoredFields.get(context) ?? [];

/**
 * Compiles the validator of a Platform API body. It unwraps `data` as the only key, accepts other spellings of a name
 * and trims text where the schema says so. Unknown and read-only fields are reported in `meta.ignored_fields`, or
 * rejected with `X-Strict-Body: true`. Every fault is a detail.
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

/** Returns the error of invalid input; its message is that of the first fault. */
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
  // A body with a field of this name is not wrapped.
  return schema.properties !== undefined && 'data' in schema.properties ? raw : raw['data'];
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Returns a text without outer blanks if the schema says so. `maxLength` counts the sent text: a longer one is
 * unchanged and fails the check.
 */
const trimText = (text: string, part: Schema | undefined): string =>
  part?.trim === true && !(Array.from(text).length > (part.maxLength ?? Number.POSITIVE_INFINITY)) ? text.trim() : text;

/** Copies the known fields of a value under their own names. */
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
    const sentValue = takeField(remaining, name, part.alias, path);
    if (sentValue !== undefined) copy[name] = pickKnownFields(part, sentValue, `${path}/${name}`, state);
  }
  for (const [name, given] of remaining) {
    if (object.additionalProperties !== undefined && object.additionalProperties !== false) copy[name] = given;
    else state.unknown.push(`${path}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`);
  }
  return copy;
}

/** Returns the schema, or its alternative, that has a keyword. */
const findSubschema = (schema: Schema | undefined, keyword: 'items' | 'properties' | 'trim'): Schema | undefined =>
  schema?.[keyword] === undefined ? schema?.anyOf?.find((part) => part[keyword] !== undefined) : schema;

function takeField(remaining: Map<string, unknown>, name: string, alias: string | undefined, path: string): unknown {
  const values = [name, ...(alias === undefined ? [] : [alias])].filter((spelling) => remaining.has(spelling));
  const [first, second] = values.map((spelling) => remaining.get(spelling));
  for (const spelling of values) remaining.delete(spelling);
  if (values.length === 2 && JSON.stringify(first) !== JSON.stringify(second))
    throw new AppError('conflicting_parameters', `The fields ${name} and ${alias} have different values.`, {
      details: [{ path: `${path}/${name}`, message: `differs from ${alias}` }],
    });
  return first;
}

const unknownFieldsError = (paths: readonly string[]): AppError =>
  new AppError('unknown_field', `Unknown fields: ${paths.slice(0, maxDetails).join(', ')}.`, {
    details: paths.slice(0, maxDetails).map((path) => ({ path, message: 'is not known' })),
  });
