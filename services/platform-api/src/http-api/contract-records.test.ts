import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { type ContractType, parseContractTypes } from '../testing/contract-types.ts';
import { readDocument, resolveSchema, type Schema } from '../testing/openapi-document.ts';

const document = readDocument();
const { schemas } = document.components;

const contractFile = resolve('../shared/platform-contract.md');
if (!existsSync(contractFile)) console.log('platform-contract.md is absent, skipped the comparison of records');
const types = existsSync(contractFile) ? parseContractTypes(readFileSync(contractFile, 'utf8')) : new Map();
const describeContract = types.size > 0 ? describe : describe.skip;

/** Enumerations that are not records. */
const words = ['SubscriptionStatus', 'State'];
/** Records that the document names differently. */
const namesHere: Readonly<Record<string, string>> = { Components: 'AddressComponents' };
/** Every listed record has an integer id; the hex id is a second field. */
const hexIds: Readonly<Record<string, string>> = {
  Delivery: 'delivery_id',
  Command: 'command_id',
  Capture: 'capture_id',
};
/** Fields that sections 28 and 29 of the contract add or redefine. */
const laterFields = parseContractTypes(
  '\n## 27. Records\n```ts\nDownload = { video_id: string, requested_by: int?, percent: int?, bytes_per_second: int?, ' +
    'seconds_left: int?, mp4: { status: "queued"|"running"|"completed"|"failed"|"canceled", percent: int, url: string?, ' +
    'size_bytes: int?, error: string? }? }\n```',
);
/** Values added to enumerations of the contract: files of an alarm, and section 28. */
const moreWords: Readonly<Record<string, readonly string[]>> = {
  'Media.kind': ['other'],
  'Capture.media[].kind': ['other'],
  'Attempt.error_code': ['connection_reset'],
};
/** Enumerations that the contract defines elsewhere (sections 2.1 and 3). */
const namedWords: Readonly<Record<string, readonly string[]>> = {
  Role: ['superadmin', 'dealer', 'owner', 'admin', 'manager', 'viewer', 'driver'],
  VehicleType: 'car truck bus van motorcycle tanker trailer mining_truck excavator other'.split(' '),
  FuelType: 'petrol diesel cng lpg electric hybrid other'.split(' '),
};
/** Parts of records, and records of a single response, which have no id. */
const withoutId = new Set(
  `TokenSet Location Stream DataUsage Trip Schedule SnapResult Components ReverseResult Place Suggestion RouteResult NotificationType Attempt ExtractResult`.split(
    ' ',
  ),
);

/** Schema types for the type names of the contract. */
const isTypeOf: Readonly<Record<string, (schema: Schema) => boolean>> = {
  string: ({ type }) => type === 'string',
  int: ({ type }) => type === 'integer',
  number: ({ type }) => type === 'number' || type === 'integer',
  boolean: ({ type }) => type === 'boolean',
  time: ({ type, format }) => type === 'string' && format === 'date-time',
  date: ({ type, format }) => type === 'string' && format === 'date',
  ms: ({ type }) => type === 'integer',
  object: ({ type }) => type === 'object',
};

/** Returns a schema without null, and whether null was allowed. */
function unwrapNull(given: Schema): { schema: Schema; isNullable: boolean } {
  const schema = resolveSchema(document, given);
  if (schema.anyOf !== undefined) {
    const parts = schema.anyOf.filter(({ type }) => type !== 'null');
    const [first = schema] = parts;
    const rest = parts.length === 1 ? resolveSchema(document, first) : { ...schema, anyOf: parts };
    return { schema: rest, isNullable: parts.length < schema.anyOf.length };
  }
  if (!Array.isArray(schema.type)) return { schema, isNullable: false };
  const [type = 'null'] = (schema.type as string[]).filter((each) => each !== 'null');
  const enumOf = schema.enum === undefined ? {} : { enum: schema.enum.filter((each) => each !== null) };
  return { schema: { ...schema, type, ...enumOf }, isNullable: schema.type.includes('null') };
}

const enumValues = (schema: Schema): readonly unknown[] =>
  schema.enum ?? schema.anyOf?.map((part) => part.const) ?? (schema.const === undefined ? [] : [schema.const]);

/** Returns each position at which a schema differs from a type of the contract. */
function findDifferences(type: ContractType, given: Schema, at: string): string[] {
  const { schema, isNullable } = unwrapNull(given);
  const expected = type.kind === 'nullable' ? type.of : type;
  const nulls = isNullable === (type.kind === 'nullable') ? [] : [`${at}: null is ${isNullable ? 'not ' : ''}possible`];
  return [...nulls, ...differencesOfValues(expected, schema, at)];
}

function differencesOfValues(type: ContractType, schema: Schema, at: string): string[] {
  switch (type.kind) {
    case 'name':
      return differencesOfNamed(type.name, schema, at);
    case 'literal':
      return differencesOfWords([type], schema, at);
    case 'union':
      return differencesOfWords(type.of, schema, at);
    case 'list': {
      const items = schema.items;
      return schema.type === 'array' && items !== undefined
        ? findDifferences(type.of, items, `${at}[]`)
        : [`${at}: list`];
    }
    case 'tuple': {
      const isPair = schema.minItems === type.of.length && schema.maxItems === type.of.length;
      return isPair
        ? type.of.flatMap((part) => findDifferences(part, schema.items ?? {}, `${at}[]`))
        : [`${at}: tuple`];
    }
    case 'map': {
      const [values] = [schema.additionalProperties, ...Object.values(schema.patternProperties ?? {})].filter(
        (each) => typeof each === 'object',
      );
      return values === undefined ? [`${at}: map`] : findDifferences(type.of, values, `${at}.*`);
    }
    case 'object':
      return Object.entries(type.fields).flatMap(([name, field]) => {
        const part = schema.properties?.[name];
        if (part === undefined) return [`${at}.${name}: is missing`];
        const isSure = schema.required?.includes(name) === true;
        return [...(isSure ? [] : [`${at}.${name}: is required`]), ...findDifferences(field, part, `${at}.${name}`)];
      });
    default:
      return [`${at}: unsupported kind ${type.kind}`];
  }
}

function differencesOfNamed(name: string, schema: Schema, at: string): string[] {
  const check = isTypeOf[name];
  // An id, or the whole record if the request expands it.
  const choices = schema.anyOf ?? [schema];
  if (check !== undefined)
    return choices.some((each) => check(resolveSchema(document, each))) ? [] : [`${at}: ${name}`];
  const list = namedWords[name];
  if (list !== undefined) return sameWords(list, schema, at);
  const type = types.get(name);
  return type === undefined ? [`${at}: unknown type ${name}`] : differencesOfValues(type, schema, at);
}

function differencesOfWords(parts: readonly ContractType[], schema: Schema, at: string): string[] {
  const values = parts.map((part) => (part.kind === 'literal' ? part.value : part.kind));
  // A format, not a value.
  if (values[0] === 'HH:MM') return schema.pattern === undefined ? [`${at}: HH:MM`] : [];
  return sameWords([...values, ...(moreWords[at] ?? [])], schema, at);
}

function sameWords(list: readonly unknown[], schema: Schema, at: string): string[] {
  const found = new Set(enumValues(schema));
  return found.size === list.length && list.every((word) => found.has(word)) ? [] : [`${at}: ${list.join(' ')}`];
}

/** Returns the type with the fields that later sections define. Fields of interface.md have tests of their own. */
function withLaterFields(name: string, type: ContractType): ContractType {
  const later = laterFields.get(name);
  const own = type.kind === 'all' ? (type.of.find(({ kind }) => kind === 'object') ?? type) : type;
  if (own.kind !== 'object' || later?.kind !== 'object') return own;
  return { kind: 'object', fields: { ...own.fields, ...later.fields } };
}

/** Applies the local name of hex ids. */
function toOwnName(name: string, type: ContractType): ContractType {
  const hexId = hexIds[name];
  if (hexId === undefined || type.kind !== 'object') return type;
  const { id, ...fields } = type.fields;
  return { kind: 'object', fields: id === undefined ? fields : { ...fields, [hexId]: id } };
}

const commonFields = parseContractTypes(
  '\n## 27. Records\n```ts\nRecord = { id: int, created_at: time, updated_at: time, version: int }\n```',
).get('Record');

describeContract('records of platform-contract.md', () => {
  it('documents all records except those of the dashcam', () => {
    const missing = [...types.keys()].filter((name) => schemas[namesHere[name] ?? name] === undefined);
    expect(new Set(missing)).toEqual(new Set(words));
    expect(types.size).toBeGreaterThan(30);
  });

  const compared = [...types.keys()].filter((name) => !words.includes(name));
  it.each(compared)('%s has the fields, types, values and nulls of the contract', (name) => {
    const type: ContractType = types.get(name);
    const schema = schemas[namesHere[name] ?? name] ?? {};
    const common = withoutId.has(name) || commonFields === undefined ? [] : findDifferences(commonFields, schema, name);
    expect([...common, ...findDifferences(toOwnName(name, withLaterFields(name, type)), schema, name)]).toEqual([]);
  });
});
