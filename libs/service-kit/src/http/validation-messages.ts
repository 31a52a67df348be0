import type { ErrorObject } from 'ajv';
import { selectAnyOfBranches } from './any-of-errors.ts';
import type { ErrorDetail } from './errors.ts';

type Scalar = string | number | boolean | null;

/** Schema keywords that the sentences use. */
interface ErrorSchema {
  readonly type?: string | readonly string[];
  readonly enum?: readonly Scalar[];
  readonly const?: Scalar;
  readonly examples?: readonly Scalar[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly propertyNames?: { readonly enum?: readonly string[] };
  readonly errorMessage?: SchemaMessage | Readonly<Record<string, SchemaMessage>>;
}

type SchemaMessage = string | ((value: unknown) => string | undefined);

/** Returns one fault for each field, in words for callers who do not know JSON Schema. */
export function describeErrors(errors: readonly ErrorObject[]): ErrorDetail[] {
  const faults = new Map<string, ErrorDetail>();
  for (const error of selectAnyOfBranches(errors)) {
    const path = getErrorPath(error);
    if (!faults.has(path)) faults.set(path, { path, message: describeError(error) });
  }
  return [...faults.values()];
}

/** Returns the schema's own message (`errorMessage`, as in ajv-errors: one for all keywords, or one for each). */
export function getSchemaMessage({ parentSchema, data, keyword }: ErrorObject): string | undefined {
  const { errorMessage } = (parentSchema ?? {}) as ErrorSchema;
  const message = typeof errorMessage === 'object' ? errorMessage[keyword] : errorMessage;
  return typeof message === 'function' ? message(data) : message;
}

/** Keywords whose errors concern a field of the value, and the parameter that names it. */
const fieldParameters: Readonly<Record<string, string>> = {
  required: 'missingProperty',
  additionalProperties: 'additionalProperty',
  propertyNames: 'propertyName',
};

function getErrorPath({ keyword, instancePath, params }: ErrorObject): string {
  const parameter = fieldParameters[keyword];
  if (parameter === undefined) return instancePath;
  const name = params[parameter] as string;
  return `${instancePath}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function describeError(error: ErrorObject): string {
  const schema = (error.parentSchema ?? {}) as ErrorSchema;
  const { keyword, data } = error;
  // They concern a field, not the object of the schema's message.
  if (keyword === 'required') return 'is missing';
  if (keyword === 'additionalProperties') return 'is not a known field';
  if (keyword === 'propertyNames') return describeUnknownName(schema);
  const message = getSchemaMessage(error);
  if (message !== undefined)
    return keyword === 'type' && listTypes(schema).includes('null') ? `${message} or null` : message;
  if (keyword === 'type' && isTooLong(schema, data) && !isBound(schema.maximum)) return 'must have at most 15 digits';
  return messageBuilders[keyword]?.(schema, error) ?? `must be ${describeExpected(schema)}`;
}

type MessageBuilder = (schema: ErrorSchema, error: ErrorObject) => string;

const messageBuilders: Readonly<Record<string, MessageBuilder>> = {
  anyOf: (_schema, { schema }) => `must be ${joinAlternatives((schema as ErrorSchema[]).map(describeKind))}`,
  oneOf: (_schema, { schema }) => `must be ${joinAlternatives((schema as ErrorSchema[]).map(describeKind))}`,
  minimum: describeNumber,
  maximum: describeNumber,
  exclusiveMinimum: (_schema, { params }) => `must be greater than ${params['limit']}`,
  exclusiveMaximum: (_schema, { params }) => `must be less than ${params['limit']}`,
  multipleOf: (_schema, { params }) => `must be a multiple of ${params['multipleOf']}`,
  minLength: createSizeMessage('minLength', 'maxLength', 'character'),
  maxLength: createSizeMessage('minLength', 'maxLength', 'character'),
  minItems: createSizeMessage('minItems', 'maxItems', 'item'),
  maxItems: createSizeMessage('minItems', 'maxItems', 'item'),
  uniqueItems: () => 'must not have the same item twice',
  minProperties: (_schema, { params }) => `must have at least ${pluralize(params['limit'], 'field')}`,
  maxProperties: (_schema, { params }) => `must have at most ${pluralize(params['limit'], 'field')}`,
  pattern: ({ examples }) => describeExample(examples) ?? 'does not have the right form',
  format: ({ examples }, { params }) =>
    formatMessages[String(params['format'])] ?? describeExample(examples) ?? 'does not have the right form',
};

const formatMessages: Readonly<Record<string, string>> = {
  email: 'must be an email address',
  'date-time': 'must be an RFC 3339 date-time, such as 2026-01-31T08:15:30Z',
  date: 'must be a date as YYYY-MM-DD, such as 2026-01-31',
  uri: 'must be an absolute address, such as https://fleet.example/a.jpg',
};

const describeExample = (examples: readonly Scalar[] | undefined): string | undefined =>
  examples?.[0] === undefined ? undefined : `must be written like ${String(examples[0])}`;

const describeUnknownName = ({ propertyNames }: ErrorSchema): string =>
  propertyNames?.enum === undefined
    ? 'is not a known field'
    : `is not a known field; known fields: ${joinWords(propertyNames.enum)}`;

/** Parameters are text: digits of an integer that a double cannot hold. */
const isTooLong = ({ type }: ErrorSchema, data: unknown): boolean =>
  type === 'integer' && typeof data === 'string' && /^-?[1-9]\d{15,}$/.test(data);

/** Returns what a schema accepts, for use after "must be". */
function describeExpected(schema: ErrorSchema): string {
  if (schema.const !== undefined) return String(schema.const);
  if (schema.enum !== undefined) return joinAlternatives(schema.enum.map(String), 'one of ');
  const types = listTypes(schema);
  return types.length === 0
    ? 'another value'
    : joinAlternatives(types.map((type) => typeName(type) + describeBounds(schema, type)));
}

/** Returns the same without bounds, for one of several alternatives. */
const describeKind = (schema: ErrorSchema): string =>
  schema.const === undefined && schema.enum === undefined
    ? joinAlternatives(listTypes(schema).map(typeName))
    : describeExpected(schema);

const listTypes = ({ type }: ErrorSchema): readonly string[] => (type === undefined ? [] : [type].flat());

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
};
const typeName = (type: string): string => typeNames[type] ?? type;

const describeBounds = (schema: ErrorSchema, type: string): string =>
  type === 'integer' || type === 'number'
    ? formatBounds(schema, { both: ' from', least: ' of at least', most: ' of at most' })
    : '';

/** Ignores a bound that means "as large as a number can be". */
const isBound = (bound: number | undefined): bound is number =>
  bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER;

function formatBounds({ minimum, maximum }: ErrorSchema, words: { both: string; least: string; most: string }): string {
  if (isBound(minimum) && isBound(maximum)) return `${words.both} ${minimum} to ${maximum}`;
  if (isBound(minimum)) return `${words.least} ${minimum}`;
  return isBound(maximum) ? `${words.most} ${maximum}` : '';
}

function describeNumber(schema: ErrorSchema, { keyword, params }: ErrorObject): string {
  const isFull = isBound(schema.minimum) && isBound(schema.maximum);
  if (isFull) return `must be${formatBounds(schema, { both: ' from', least: '', most: '' })}`;
  return `must be at ${keyword === 'minimum' ? 'least' : 'most'} ${params['limit']}`;
}

function createSizeMessage(
  least: 'minLength' | 'minItems',
  most: 'maxLength' | 'maxItems',
  unit: string,
): MessageBuilder {
  return (schema, { keyword, params }) => {
    const [min, max] = [schema[least] ?? 0, schema[most]];
    if (keyword === least && min === 1) return 'must not be empty';
    if (min > 1 && min === max) return `must have exactly ${pluralize(min, unit)}`;
    if (min > 1 && max !== undefined) return `must have ${min} to ${pluralize(max, unit)}`;
    return `must have at ${keyword === least ? 'least' : 'most'} ${pluralize(params['limit'], unit)}`;
  };
}

const pluralize = (count: unknown, unit: string): string => `${String(count)} ${unit}${count === 1 ? '' : 's'}`;

const joinWords = (words: readonly string[]): string => words.join(', ');

// "a", "a or b", "a, b or c".
const joinAlternatives = (words: readonly string[], several = ''): string =>
  words.length < 2
    ? (words[0] ?? 'another value')
    : `${words.length > 2 ? several : ''}${joinWords(words.slice(0, -1))} or ${words.at(-1)}`;
