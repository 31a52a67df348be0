import { type Document, type Parameter, resolveSchema, type Schema } from './openapi-document.ts';

type Bounded = Schema & {
  readonly maximum?: number;
  readonly exclusiveMaximum?: number;
  readonly maxLength?: number;
};

/** A value that violates a schema, and the fault. */
export interface InvalidValue {
  readonly fault: 'another type' | 'null' | 'out of bounds';
  readonly value: unknown;
}

const ofOtherTypes = ['7', 7.5, true, [], {}] as const;
const typeOf = (value: unknown): string =>
  Array.isArray(value) ? 'array' : typeof value === 'number' && Number.isInteger(value) ? 'integer' : typeof value;

const typesOf = (document: Document, given: Schema): Set<string> => {
  const schema = resolveSchema(document, given);
  const own = schema.type === undefined ? [] : [schema.type].flat();
  const parts = (schema.anyOf ?? []).flatMap((part) => [...typesOf(document, part)]);
  const values = schema.const === undefined ? [] : [typeOf(schema.const)];
  return new Set([...own, ...parts, ...values]);
};

/**
 * Returns values of a body field that violate its schema, one for each fault. Returns none for a schema that accepts
 * anything.
 */
export function invalidValues(document: Document, given: Schema): InvalidValue[] {
  const schema: Bounded = resolveSchema(document, given);
  const types = typesOf(document, schema);
  if (types.size === 0) return [];
  if (types.has('number')) types.add('integer');
  const other = ofOtherTypes.find((value) => !types.has(typeOf(value)));
  return [
    ...(other === undefined ? [] : [{ fault: 'another type', value: other } as const]),
    ...(types.has('null') ? [] : [{ fault: 'null', value: null } as const]),
    ...outside(schema).map((value) => ({ fault: 'out of bounds', value }) as const),
  ];
}

/** Returns the value just beyond one bound. */
function outside(schema: Bounded): unknown[] {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems, items } = schema;
  if (schema.enum !== undefined) return ['none of them'];
  if (minimum !== undefined) return [minimum - 1];
  if (maximum !== undefined) return [maximum + 1];
  if (minLength !== undefined && minLength > 0) return [''];
  if (maxLength !== undefined) return ['x'.repeat(maxLength + 1)];
  if (minItems !== undefined && minItems > 0) return [[]];
  if (maxItems !== undefined && items?.type === 'integer') return [Array.from({ length: maxItems + 1 }, () => 1)];
  if (items?.type === 'integer' || items?.type === 'string') return [[{}]];
  return [];
}

/**
 * Returns invalid values of a query parameter. Values above the maximum of `limit` are valid and count as the maximum.
 */
export function invalidQueryValues({ name, schema: given }: Parameter): string[] {
  const schema: Bounded = given;
  const { minimum, maximum, maxLength } = schema;
  if (schema.type === 'integer' || schema.type === 'number')
    return [
      'x',
      '',
      ...(schema.type === 'integer' ? ['1.5', '01'] : []),
      ...(minimum === undefined ? [] : [String(minimum - 1)]),
      ...(maximum === undefined || name === 'limit' ? [] : [String(maximum + 1)]),
    ];
  if (schema.type === 'boolean') return ['perhaps'];
  if (schema.enum !== undefined) return ['none of them'];
  if (maxLength !== undefined) return ['x'.repeat(maxLength + 1)];
  return [];
}
