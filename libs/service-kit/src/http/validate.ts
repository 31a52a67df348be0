import { Ajv, type ErrorObject } from 'ajv';
import addFormats from 'ajv-formats';
import type { TObject, TSchema } from 'typebox';
import { lazyCheck } from '../runtime/lazy-check.ts';
import { AppError, type ErrorDetail } from './errors.ts';
import { parseFiniteNumber } from './finite-number.ts';
import { SentNames } from './sent-names.ts';
import { getSchemaMessage } from './validation-messages.ts';

// verbose: the schema may contain the message for the caller (errorMessage). strictNumbers: JSON's 1e999 is Infinity.
// validateSchema: tests validate the schemas
// themselves (compileSchemas), because that takes half of the time to compile one.
const ajvOptions = {
  useDefaults: true,
  strict: false,
  strictNumbers: true,
  verbose: true,
  validateSchema: false,
} as const;
const ajv = new Ajv({ ...ajvOptions, allErrors: false });
addFormats.default(ajv);
/** Reports every fault of parameters. */
const parameterAjv = new Ajv({ ...ajvOptions, allErrors: true });
addFormats.default(parameterAjv);
/** Largest number of faults in one response. */
export const maxDetails = 20;
const uint64Max = 2n ** 64n - 1n;
// Ajv does not support bigint: this keyword validates such parameters instead of their type.
for (const each of [ajv, parameterAjv]) {
  each.addKeyword({
    keyword: 'isUint64',
    validate: (_schema: unknown, value: unknown) => typeof value === 'bigint' && value >= 0n && value <= uint64Max,
    error: { message: `must be an integer from 0 to ${uint64Max}` },
  });
  each.addFormat('uint64', true);
}

/**
 * Compiles a validator that applies defaults and returns the value, or throws a 400 whose message names the faulty
 * part. A field of the format `uint64` is a bigint, as in `compileParameters`.
 */
export function compileBody(schema: TSchema, describe: DescribeFaults = describeFaults): (value: unknown) => unknown {
  const check = lazyCheck(ajv, toCheckableBody(schema));
  return (value) => {
    convertUint64Fields(schema, value);
    if (!check(value)) {
      const details = describe(check.errors ?? []);
      throw new AppError('validation_failed', formatSentence('The body', 'body field', details[0]), { details });
    }
    const name = findNegativeZero(schema, value);
    if (name === undefined) return value;
    const subject = name === '' ? 'The body' : `The body field ${name}`;
    const message = 'must be an integer, not negative zero';
    const path = name === '' ? '' : `/${name.replaceAll('.', '/')}`;
    throw new AppError('validation_failed', `${subject} ${message}.`, { details: [{ path, message }] });
  };
}

/** Returns whether an object has fields of the format `uint64`. */
export const hasUint64 = (schema: BodySchema): boolean => Object.values(schema.properties ?? {}).some(isUint64);

const toCheckableBody = (schema: BodySchema): TSchema =>
  hasUint64(schema) ? { ...schema, properties: toCheckableProperties(schema.properties ?? {}) } : schema;

/** Converts integers that JSON gives as numbers, and applies defaults. */
function convertUint64Fields({ properties = {} }: BodySchema, value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  const fields = value as Record<string, unknown>;
  for (const [name, property] of Object.entries<ParameterSchema>(properties)) {
    if (!isUint64(property)) continue;
    const field = fields[name] ?? (name in fields ? null : property.default);
    if (typeof field === 'number' && Number.isInteger(field) && !Object.is(field, -0)) fields[name] = BigInt(field);
  }
}

type BodySchema = TSchema & { type?: unknown; properties?: Record<string, TSchema>; items?: TSchema };

/** Returns the path of an integer that JSON gives as `-0`: the schema sees 0, but no caller who means 0 writes that. */
function findNegativeZero(schema: BodySchema, value: unknown, path: readonly string[] = []): string | undefined {
  if (Object.is(value, -0)) return schema.type === 'integer' ? path.join('.') : undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  const parts = Array.isArray(value)
    ? value.map((item: unknown, index) => [String(index), schema.items, item] as const)
    : Object.entries(schema.properties ?? {}).map(
        ([name, part]) => [name, part, (value as Record<string, unknown>)[name]] as const,
      );
  for (const [name, part, inner] of parts) {
    const found = part === undefined ? undefined : findNegativeZero(part, inner, [...path, name]);
    if (found !== undefined) return found;
  }
  return undefined;
}

/**
 * Compiles a validator of query or path parameters: the schema's type alone converts text to integers, numbers and
 * booleans. An integer has one spelling (no `1e2`, `1.0`, `+1`, `01`, `-0`); a number is any finite JSON number.
 * Duplicate parameters are rejected, unknown ones removed. An integer of the format `uint64` is a bigint, exact up to
 * 2^64 - 1.
 */
export function compileParameters(
  schema: TObject,
  kind: 'query' | 'path',
  describe: DescribeFaults = describeFaults,
): (raw: Readonly<Record<string, unknown>>, names?: SentNames) => unknown {
  const properties = Object.entries(schema.properties as Record<string, ParameterSchema>);
  const check = lazyCheck(parameterAjv, {
    ...schema,
    properties: toCheckableProperties(schema.properties),
  });
  return (raw, names = new SentNames()) => {
    const value: Record<string, unknown> = {};
    for (const [name, property] of properties) {
      const text = readParameter(raw, name, property.alias);
      if (property.alias !== undefined && raw[name] === undefined && text !== undefined)
        names.add(`/${name}`, property.alias);
      if (text === undefined) {
        // Ajv applies all other defaults.
        if (isUint64(property) && property.default !== undefined) value[name] = BigInt(property.default as number);
        continue;
      }
      if (typeof text !== 'string') throw names.error(duplicateParameterError(kind, name));
      value[name] = parseText(property, text);
    }
    if (check(value)) return value;
    const details = describe(check.errors ?? []);
    const message = formatSentence('The request', `${kind} parameter`, details[0]);
    throw names.error(new AppError('validation_failed', message, { details: details.slice(0, maxDetails) }));
  };
}

type ParameterSchema = TSchema & { type?: string; format?: string; default?: unknown; alias?: string };

/** Returns the value under either spelling of a name. */
function readParameter(raw: Readonly<Record<string, unknown>>, name: string, alias: string | undefined): unknown {
  const [value, aliasValue] = [raw[name], alias === undefined ? undefined : raw[alias]];
  if (value !== undefined && aliasValue !== undefined && value !== aliasValue)
    throw new AppError('conflicting_parameters', `The parameters ${name} and ${alias} have different values.`, {
      details: [{ path: `/${name}`, message: `differs from ${alias}` }],
    });
  return value ?? aliasValue;
}

const duplicateParameterError = (kind: string, name: string): AppError =>
  new AppError('validation_failed', `The ${kind} parameter ${name} is given more than once.`, {
    details: [{ path: `/${name}`, message: 'is given more than once' }],
  });

const isUint64 = (schema: ParameterSchema): boolean => schema.type === 'integer' && schema.format === 'uint64';

const toCheckableProperties = (properties: Record<string, ParameterSchema>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, isUint64(schema) ? { isUint64: true } : schema]),
  );

function parseText(schema: ParameterSchema, text: string): unknown {
  if (isUint64(schema)) return /^(0|[1-9]\d{0,19})$/.test(text) && BigInt(text) <= uint64Max ? BigInt(text) : text;
  if (schema.type === 'integer') return /^(0|-?[1-9]\d{0,14})$/.test(text) ? Number(text) : text;
  if (schema.type === 'number') return parseFiniteNumber(text) ?? text;
  if (schema.type === 'boolean') return text === 'true' ? true : text === 'false' ? false : text;
  return text;
}

function formatSentence(whole: string, part: string, fault: ErrorDetail | undefined): string {
  if (fault === undefined) return `${whole} is invalid.`;
  const name = fault.path.slice(1).replaceAll('/', '.');
  return `${name === '' ? whole : `The ${part} ${name}`} ${fault.message}.`;
}

/** Returns the faults of validator errors. */
export type DescribeFaults = (errors: readonly ErrorObject[]) => ErrorDetail[];

/** Describes faults in the words of the validator, for the Device API. */
const describeFaults: DescribeFaults = (errors) => errors.map(describeFault);

function describeFault(error: ErrorObject): ErrorDetail {
  if (error.keyword === 'required')
    return { path: `${error.instancePath}/${String(error.params['missingProperty'])}`, message: 'is missing' };
  const allowed = error.params['allowedValues'] as readonly unknown[] | undefined;
  const list = allowed === undefined ? '' : ` (${allowed.map(String).join(', ')})`;
  return { path: error.instancePath, message: getSchemaMessage(error) ?? `${error.message ?? 'is invalid'}${list}` };
}
