import type { TSchema } from 'typebox';
import type { Schemas } from './openapi-schemas.ts';
import type { Route } from './route.ts';

/** Descriptions and examples of common parameters by name. */
export type ParameterDescriptions = Readonly<
  Record<string, { readonly description: string; readonly example?: unknown }>
>;

type ParameterSchemas = Record<
  string,
  TSchema & { description?: string; examples?: unknown[]; default?: unknown; enum?: unknown[] }
>;

/** Returns the Parameter Objects of the path or the query. */
export function createParameters(
  schema: Route['query'],
  location: 'path' | 'query',
  schemas: Schemas,
  descriptions: ParameterDescriptions = {},
): unknown[] {
  if (schema === undefined) return [];
  const required = new Set<string>(schema.required ?? []);
  return Object.entries(schemas.convertEach(schema.properties) as ParameterSchemas).map(
    ([name, { description = descriptions[name]?.description, examples, ...rest }]) => {
      const isRequired = location === 'path' || (required.has(name) && rest.default === undefined);
      const example = examples?.[0] ?? rest.enum?.[0] ?? descriptions[name]?.example;
      return {
        name,
        in: location,
        required: isRequired,
        ...(description === undefined ? {} : { description }),
        // Swagger UI sends the example of a parameter with a trial: only required parameters have one.
        ...(isRequired && example !== undefined ? { example } : {}),
        schema: { ...rest, ...(isRequired || examples === undefined ? {} : { examples }) },
      };
    },
  );
}
