import type { ErrorObject } from 'ajv';
import { withoutOtherBranches } from './any-of-errors.ts';
import type { ErrorDetail } from './errors.ts';

type Scalar = string | number | boolean | null;

/** Schema keywords that these sentences read. */
interface FaultySchema {
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
  readonly errorMessage?: OwnMessage | Readonly<Record<string, OwnMessage>>;
}

type OwnMessage = string | ((value: unknown) => string | undefined);

/** Returns one fault for each field, in words that a caller understands who knows no JSON Schema. */
export function plainFaults(errors: readonly ErrorObject[]): ErrorDetail[] {
  const faults = new Map<string, ErrorDetail>();
  for (const error of withoutOtherBranches(errors)) {
    const path = pathOf(error);
    if (!faults.has(path)) faults.set(path, { path, message: messageOf(error) });
  }
  return [...faults.values()];
}

/** Returns the schema's own message (`errorMessage`, as ajv-errors has it: one for all keywords, or one for each). */
export function ownMessage({ parentSchema, data, keyword }: ErrorObject): string | undefined {
  const { errorMessage } = (parentSchema ?? {}) as FaultySchema;
  const own = typeof errorMessage === 'object' ? errorMessage[keyword] : errorMessage;
  return typeof own === 'function' ? own(data) : own;
}

/** Keywords whose errors are of a field of the value, and the parameter that names it. */
const fieldParameters: Readonly<Record<string, string>> = {
  required: 'missingProperty',
  additionalProperties: 'additionalProperty',
  propertyNames: 'propertyName',
};

function pathOf({ keyword, instancePath, params }: ErrorObject): string {
  const parameter = fieldParameters[keyword];
  if (parameter === undefined) return instancePath;
  const name = params[parameter] as string;
  return `${instancePath}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`;
}

function messageOf(error: ErrorObject): string {
  const schema = (error.parentSchema ?? {}) as FaultySchema;
  const { keyword, data } = error;
  // These are of a field, not of the object that the message of the schema is for.
  if (keyword === 'required') return 'is missing';
  if (keyword === 'additionalProperties') return 'is not a known field';
  if (keyword === 'propertyNames') return unknownName(schema);
  const own = ownMessage(error);
  if (own !== undefined) return keyword === 'type' && typesOf(schema).includes('null') ? `${own} or null` : own;
  if (keyword === 'type' && isTooLong(schema, data) && !isBound(schema.maximum)) return 'must have at most 15 digits';
  return messages[keyword]?.(schema, error) ?? `must be ${expected(schema)}`;
}

type Message = (schema: FaultySchema, error: ErrorObject) => string;

const messages: Readonly<Record<string, Message>> = {
  anyOf: (_schema, { schema }) => `must be ${eitherOf((schema as FaultySchema[]).map(kindOf))}`,
  oneOf: (_schema, { schema }) => `must be ${eitherOf((schema as FaultySchema[]).map(kindOf))}`,
  minimum: numberMessage,
  maximum: numberMessage,
  exclusiveMinimum: (_schema, { params }) => `must be greater than ${params['limit']}`,
  exclusiveMaximum: (_schema, { params }) => `must be less than ${params['limit']}`,
  multipleOf: (_schema, { params }) => `must be a multiple of ${params['multipleOf']}`,
  minLength: sizeMessage('minLength', 'maxLength', 'character'),
  maxLength: sizeMessage('minLength', 'maxLength', 'character'),
  minItems: sizeMessage('minItems', 'maxItems', 'item'),
  maxItems: sizeMessage('minItems', 'maxItems', 'item'),
  uniqueItems: () => 'must not have the same item twice',
  minProperties: (_schema, { params }) => `must have at least ${counted(params['limit'], 'field')}`,
  maxProperties: (_schema, { params }) => `must have at most ${counted(params['limit'], 'field')}`,
  pattern: ({ examples }) => likeExample(examples) ?? 'does not have the right form',
  format: ({ examples }, { params }) =>
    formats[String(params['format'])] ?? likeExample(examples) ?? 'does not have the right form',
};

const formats: Readonly<Record<string, string>> = {
  email: 'must be an email address',
  'date-time': 'must be an RFC 3339 date-time, such as 2026-01-31T08:15:30Z',
  date: 'must be a date as YYYY-MM-DD, such as 2026-01-31',
  uri: 'must be an absolute address, such as https://fleet.example/a.jpg',
};

const likeExample = (examples: readonly Scalar[] | undefined): string | undefined =>
  examples?.[0] === undefined ? undefined : `must be written like ${String(examples[0])}`;

const unknownName = ({ propertyNames }: FaultySchema): string =>
  propertyNames?.enum === undefined
    ? 'is not a known field'
    : `is not a known field: there are ${listed(propertyNames.enum)}`;

/** Parameters are text: digits of an integer that a double does not hold. */
const isTooLong = ({ type }: FaultySchema, data: unknown): boolean =>
  type === 'integer' && typeof data === 'string' && /^-?[1-9]\d{15,}$/.test(data);

/** What a schema takes, behind "must be". */
function expected(schema: FaultySchema): string {
  if (schema.const !== undefined) return String(schema.const);
  if (schema.enum !== undefined) return eitherOf(schema.enum.map(String), 'one of ');
  const types = typesOf(schema);
  return types.length === 0 ? 'another value' : eitherOf(types.map((type) => typeName(type) + ofNumber(schema, type)));
}

/** The same, without bounds, for one of several alternatives. */
const kindOf = (schema: FaultySchema): string =>
  schema.const === undefined && schema.enum === undefined ? eitherOf(typesOf(schema).map(typeName)) : expected(schema);

const typesOf = ({ type }: FaultySchema): readonly string[] => (type === undefined ? [] : [type].flat());

const typeNames: Readonly<Record<string, string>> = {
  string: 'a string',
  integer: 'an integer',
  number: 'a number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
};
const typeName = (type: string): string => typeNames[type] ?? type;

const ofNumber = (schema: FaultySchema, type: string): string =>
  type === 'integer' || type === 'number'
    ? bounds(schema, { both: ' from', least: ' of at least', most: ' of at most' })
    : '';

/** A bound that stands for "as large as a number can be" is none. */
const isBound = (bound: number | undefined): bound is number =>
  bound !== undefined && Math.abs(bound) < Number.MAX_SAFE_INTEGER;

function bounds({ minimum, maximum }: FaultySchema, words: { both: string; least: string; most: string }): string {
  if (isBound(minimum) && isBound(maximum)) return `${words.both} ${minimum} to ${maximum}`;
  if (isBound(minimum)) return `${words.least} ${minimum}`;
  return isBound(maximum) ? `${words.most} ${maximum}` : '';
}

function numberMessage(schema: FaultySchema, { keyword, params }: ErrorObject): string {
  const isFull = isBound(schema.minimum) && isBound(schema.maximum);
  if (isFull) return `must be${bounds(schema, { both: ' from', least: '', most: '' })}`;
  return `must be at ${keyword === 'minimum' ? 'least' : 'most'} ${params['limit']}`;
}

function sizeMessage(least: 'minLength' | 'minItems', most: 'maxLength' | 'maxItems', unit: string): Message {
  return (schema, { keyword, params }) => {
    const [min, max] = [schema[least] ?? 0, schema[most]];
    if (keyword === least && min === 1) return 'must not be empty';
    if (min > 1 && min === max) return `must have exactly ${counted(min, unit)}`;
    if (min > 1 && max !== undefined) return `must have ${min} to ${counted(max, unit)}`;
    return `must have at ${keyword === least ? 'least' : 'most'} ${counted(params['limit'], unit)}`;
  };
}

const counted = (count: unknown, unit: string): string => `${String(count)} ${unit}${count === 1 ? '' : 's'}`;

const listed = (words: readonly string[]): string => words.join(', ');

/** "a", "a or b", "a, b or c". */
const eitherOf = (words: readonly string[], several = ''): string =>
  words.length < 2
    ? (words[0] ?? 'another value')
    : `${words.length > 2 ? several : ''}${listed(words.slice(0, -1))} or ${words.at(-1)}`;
