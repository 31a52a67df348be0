import { apiDocument } from '../assembly/api-document.ts';

/** A JSON schema in the document. */
export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly format?: string;
  readonly pattern?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly examples?: readonly unknown[];
  readonly minimum?: number;
  readonly minLength?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly items?: Schema;
  readonly additionalProperties?: Schema | boolean;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly anyOf?: readonly Schema[];
}

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: boolean;
  readonly description?: string;
  readonly example?: unknown;
  readonly schema: Schema;
}

export interface Operation {
  readonly method: 'get' | 'post' | 'put' | 'delete';
  /** Path with `{name}` parameters. */
  readonly path: string;
  readonly operationId: string;
  readonly description: string;
  readonly tags: readonly string[];
  readonly security: readonly Readonly<Record<string, unknown>>[];
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> };
  readonly responses: Readonly<
    Record<string, { readonly description: string; readonly content?: Record<string, { schema: Schema }> }>
  >;
}

export interface Document {
  readonly openapi: string;
  readonly tags: readonly { readonly name: string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, Omit<Operation, 'path' | 'method'>>>>>;
  readonly components: {
    readonly securitySchemes: Readonly<Record<string, unknown>>;
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly responses: Operation['responses'];
  };
}

/** Reads the document as published. */
export const readDocument = (): Document => JSON.parse(JSON.stringify(apiDocument())) as Document;

/** Responses of all operations are shared components. */
const resolvedResponses = (document: Document, responses: Operation['responses']): Operation['responses'] =>
  Object.fromEntries(
    Object.entries(responses).map(([status, response]) => {
      const name = (response as { $ref?: string }).$ref?.split('/').at(-1);
      return [status, (name === undefined ? undefined : document.components.responses[name]) ?? response];
    }),
  );

export const operationsOf = (document: Document): Operation[] =>
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { responses, ...rest }]) => ({
      ...rest,
      path,
      method: method as Operation['method'],
      responses: resolvedResponses(document, responses),
    })),
  );

/** Returns the schema itself, or the schema that it refers to. */
export const resolveSchema = (document: Document, schema: Schema): Schema =>
  schema.$ref === undefined ? schema : (document.components.schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {});

/** Returns the fields of a value that its schema does not describe, as JSON pointers. */
export function undescribed(document: Document, given: Schema | undefined, value: unknown, at = ''): string[] {
  if (given === undefined || typeof value !== 'object' || value === null) return [];
  const schema = resolveSchema(document, given);
  if (schema.anyOf !== undefined) {
    const each = schema.anyOf.map((part) => undescribed(document, part, value, at));
    return each.toSorted((a, b) => a.length - b.length)[0] ?? [];
  }
  if (Array.isArray(value)) return value.flatMap((item, i) => undescribed(document, schema.items, item, `${at}/${i}`));
  const { properties, additionalProperties, patternProperties } = schema;
  if (properties === undefined || additionalProperties !== undefined || patternProperties !== undefined) return [];
  return Object.entries(value).flatMap(([name, part]) =>
    name in properties ? undescribed(document, properties[name], part, `${at}/${name}`) : [`${at}/${name}`],
  );
}
