import type { TSchema } from 'typebox';

/**
 * Example values of fields by name, so that a field has the same value in every record. `Driver.name` is the field of
 * the schema with that title, of the operation with that id, or of the field `Driver`. The id of an operation names its
 * whole body.
 */
export type ExampleValues = Readonly<Record<string, unknown>>;

/** A part of a schema, with the keywords that determine its example. */
interface Part {
  readonly title?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly examples?: readonly unknown[];
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly readOnly?: boolean;
  readonly anyOf?: readonly Part[];
  readonly properties?: Readonly<Record<string, Part>>;
  readonly items?: Part;
  readonly minItems?: number;
}

const formatExamples: Readonly<Record<string, string>> = {
  'date-time': '2026-01-31T08:15:30.000Z',
  date: '2026-01-31',
  email: 'ann@fleet.example',
  uri: 'https://fleet.example.com',
};

/** Creates examples of whole bodies from the examples of their fields. */
export class ExampleBuilder {
  readonly #values: ExampleValues;

  constructor(values: ExampleValues = {}) {
    this.#values = values;
  }

  /** Returns an example of a request body, or undefined if a part of it has none. */
  createRequest(schema: TSchema, operationId: string): unknown {
    return this.#values[operationId] ?? this.#create(schema, { owner: operationId, isRequest: true });
  }

  /** Returns an example of a response, or undefined if it has none. */
  createResponse(schema: TSchema, operationId: string): unknown {
    return this.#create(schema, { owner: operationId, isRequest: false });
  }

  #create(schema: Part, place: Place): unknown {
    const named = this.#findNamed(schema, place);
    if (named !== undefined) return named;
    const own = schema.examples?.[0] ?? schema.const ?? schema.default ?? schema.enum?.[0];
    if (own !== undefined) return own;
    if (schema.anyOf !== undefined) return this.#createAny(schema.anyOf, place);
    const owner = schema.title ?? place.name ?? place.owner;
    if (schema.properties !== undefined) return this.#createObject(schema.properties, { ...place, owner });
    if (schema.items !== undefined) return this.#createArray(schema, schema.items, { ...place, owner });
    return createScalar(schema);
  }

  #findNamed(schema: Part, { name, owner }: Place): unknown {
    if (name === undefined) return undefined;
    const values = [this.#values[`${owner}.${name}`], this.#values[name]];
    return values.find((value) => value !== undefined && hasType(schema, value));
  }

  // The schemas are recursive at no place.
  #createObject(properties: Readonly<Record<string, Part>>, { owner, isRequest }: Place): Record<string, unknown> {
    const fields = Object.entries(properties).filter(([, part]) => !(isRequest && part.readOnly === true));
    const values = fields.map(([name, part]) => [name, this.#create(part, { name, owner, isRequest })] as const);
    return Object.fromEntries(values.filter(([, value]) => value !== undefined));
  }

  #createArray({ minItems = 1 }: Part, items: Part, { name: _name, ...place }: Place): unknown[] {
    const item = this.#create(items, place);
    return item === undefined ? [] : Array.from({ length: Math.max(minItems, 1) }, () => item);
  }

  #createAny(parts: readonly Part[], place: Place): unknown {
    for (const part of parts.filter(({ type }) => type !== 'null')) {
      const value = this.#create(part, place);
      if (value !== undefined) return value;
    }
    return parts.some(({ type }) => type === 'null') ? null : undefined;
  }
}

/** Position of a part in its body. */
interface Place {
  /** Name of the field. */
  readonly name?: string;
  /** Title, operation or field whose field this is. */
  readonly owner: string;
  readonly isRequest: boolean;
}

function createScalar({ type, format }: Part): unknown {
  const types = [type ?? []].flat();
  if (types.includes('boolean')) return false;
  if (types.includes('object')) return {};
  return types.includes('string') && format !== undefined ? formatExamples[format] : undefined;
}

/** Returns whether a schema permits the type of a value and of its items, or has the value in its enumeration. */
function hasType(schema: Part, value: unknown): boolean {
  const { items } = schema;
  if (Array.isArray(value) && items !== undefined) return value.every((item) => hasType(items, item));
  if (schema.anyOf !== undefined) return schema.anyOf.some((part) => hasType(part, value));
  if (schema.const !== undefined) return schema.const === value;
  if (schema.enum !== undefined) return schema.enum.includes(value);
  if (schema.type === undefined) return true;
  return [schema.type].flat().some((type) => isOfType(type, value));
}

function isOfType(type: string, value: unknown): boolean {
  if (type === 'null') return value === null;
  if (type === 'array') return Array.isArray(value);
  if (type === 'integer') return Number.isInteger(value);
  if (type === 'object') return typeof value === 'object' && value !== null && !Array.isArray(value);
  return typeof value === type;
}
