import type { TSchema } from 'typebox';

/** Keywords that the tests read in the schema of a parameter or a body field. */
export type FieldSchema = TSchema & {
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly enum?: readonly unknown[];
  readonly examples?: readonly unknown[];
  readonly default?: unknown;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly maxLength?: number;
  readonly minLength?: number;
  readonly properties?: Readonly<Record<string, FieldSchema>>;
  readonly required?: readonly string[];
};

/** Returns a valid value: its example, unless one follows from the other keywords. */
export function createSample(schema: FieldSchema): unknown {
  const example = schema.examples?.[0] ?? schema.default ?? schema.enum?.[0] ?? schema.minimum;
  if (example !== undefined) return example;
  if (schema.type === 'boolean') return true;
  if (schema.type === 'object') {
    const properties = (schema.required ?? []).map((name) => [name, createSample(getField(schema, name))] as const);
    return Object.fromEntries(properties);
  }
  throw new Error('this parameter needs an example in its schema');
}

export function getField(schema: FieldSchema, name: string): FieldSchema {
  const field = schema.properties?.[name];
  if (field === undefined) throw new Error(`the schema has no ${name}`);
  return field;
}

const oversized = '9'.repeat(5_000);
/** Returns the digits of a text in another script. */
const toArabicDigits = (text: string): string =>
  text.replace(/\d/g, (digit) => String.fromCodePoint(0x0660 + Number(digit)));

/** Returns invalid texts of a query parameter, by its schema. */
export function invalidTexts(schema: FieldSchema): string[] {
  const sample = String(createSample(schema));
  const common = ['', ' ', `${sample} `, ` ${sample}`, `${sample}\n`, `${sample}\0`, oversized, '\ufffd'];
  if (schema.type === 'integer') return [...common, ...invalidIntegers(schema)];
  if (schema.type === 'boolean')
    return [...common, '0', '1', '-0', 'TRUE', 'True', 'yes', 'on', 'null', 'NaN', `${sample},${sample}`];
  // A text without a rule except its length.
  if (schema.pattern === undefined && schema.enum === undefined && schema.format === undefined) return [oversized];
  return /\d/.test(sample) ? [...common, toArabicDigits(sample)] : common;
}

function invalidIntegers(schema: FieldSchema): string[] {
  const numbers = (schema.enum ?? []) as readonly number[];
  const isUint64 = schema.format === 'uint64';
  const maximum = schema.enum === undefined ? schema.maximum : Math.max(...numbers);
  const minimum = schema.enum === undefined ? schema.minimum : Math.min(...numbers);
  const bounds = [
    ...(maximum === undefined ? [] : [String(maximum + 1)]),
    ...(minimum === undefined ? [] : [String(minimum - 1), '-1']),
    isUint64 ? '18446744073709551616' : '18446744073709551615',
  ];
  const malformed = [
    '-0',
    '+1',
    '00',
    '01',
    '1.0',
    '1.5',
    '.1',
    '1.',
    '1e0',
    '1e3',
    '1E3',
    '0x1',
    '0b1',
    '0o1',
    '1_0',
    '1,0',
  ];
  const words = ['NaN', 'Infinity', '-Infinity', 'null', 'undefined', 'true', 'one', '[1]', '{}', '--1', '1-1'];
  return [...bounds, ...malformed, ...words, '\u0661', '\uff11', '\u00b2', '1\u200b'];
}

/** Returns invalid JSON texts of a body field, by its schema. */
export function invalidJsonTexts(schema: FieldSchema): string[] {
  const types = typeof schema.type === 'string' ? [schema.type] : (schema.type ?? []);
  const samplesByType: Record<string, string[]> = {
    null: ['null'],
    boolean: ['true', 'false'],
    string: ['""', '"1"', '"true"', '"x"'],
    integer: ['1'],
    array: ['[]', '[1]', '["x"]', '[null]', '[[[[[[[[]]]]]]]]'],
    object: ['{}', '{"a":1}', '{"__proto__":{}}'],
  };
  const others = Object.entries(samplesByType).flatMap(([type, texts]) => (types.includes(type) ? [] : texts));
  const numbers = ['1.5', '-1.5', '1e-3', '1e999', '-1e999'];
  if (!types.includes('integer')) return [...others, ...numbers, '0', '-0'];
  const { minimum, maximum } = schema;
  const beyond = [minimum === undefined ? [] : minimum - 1, maximum === undefined ? [] : maximum + 1]
    .flat()
    .map(String);
  // Written as 1e3, 1000 is an integer.
  const thousand = maximum !== undefined && maximum < 1000 ? ['1e3'] : [];
  return [...others, ...numbers, ...beyond, '-0', ...thousand, '18446744073709551616'];
}
