import type { TSchema } from 'typebox';
import type { Route } from './route.ts';

/** What an OpenAPI document says beside its routes. */
export interface OpenApiInfo {
  readonly title: string;
  readonly version: string;
  readonly description: string;
  readonly basePath: string;
  /** JSON Schema of the error body. */
  readonly errorSchema: TSchema;
}

/** The OpenAPI 3.1 document of a route table: the same schemas that validate, so that the two cannot drift. */
export function openApiDocument(info: OpenApiInfo, routes: readonly Route[]): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = info.basePath + route.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method]: operation(route) };
  }
  return {
    openapi: '3.1.0',
    info: { title: info.title, version: info.version, description: info.description },
    paths,
    components: {
      schemas: { Error: info.errorSchema },
      securitySchemes: { apiKey: { type: 'apiKey', in: 'header', name: 'x-api-key' } },
    },
  };
}

function operation(route: Route): Record<string, unknown> {
  const schema = route.response ?? { type: 'string', format: 'binary' };
  const content = Object.fromEntries(
    [route.contentType ?? 'application/json'].flat().map((type) => [type, { schema }]),
  );
  const responses: Record<string, unknown> = { 200: { description: 'Success', content } };
  for (const [status, description] of Object.entries(route.otherSuccesses ?? {}))
    responses[status] = { description, content };
  for (const [status, error] of Object.entries(route.errors)) {
    const schema = typeof error === 'string' ? { $ref: '#/components/schemas/Error' } : error.schema;
    responses[status] = {
      description: typeof error === 'string' ? error : error.description,
      ...(status === '429'
        ? { headers: { 'Retry-After': { schema: { type: 'integer' }, description: 'Seconds to wait' } } }
        : {}),
      content: { 'application/json': { schema } },
    };
  }
  return {
    operationId: route.operationId,
    summary: route.summary,
    ...(route.description === undefined ? {} : { description: route.description }),
    tags: route.tags ?? [],
    ...(route.secured === false ? { security: [] } : { security: [{ apiKey: [] }, {}] }),
    parameters: [...parameters(route.params, 'path'), ...parameters(route.query, 'query')],
    ...(route.body === undefined
      ? {}
      : {
          requestBody: {
            required: route.bodyIsOptional !== true,
            content: { 'application/json': { schema: published(route.body) } },
          },
        }),
    responses,
  };
}

/** A schema without `errorMessage`, our validator's own keyword. */
function published(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(published);
  if (typeof schema !== 'object' || schema === null) return schema;
  const parts = Object.entries(schema).filter(([key]) => key !== 'errorMessage');
  return Object.fromEntries(parts.map(([key, part]) => [key, published(part)]));
}

function parameters(schema: Route['query'], where: 'path' | 'query'): unknown[] {
  if (schema === undefined) return [];
  const required = new Set<string>(schema.required ?? []);
  return Object.entries(published(schema.properties) as Record<string, TSchema & { description?: string }>).map(
    ([name, { description, ...rest }]) => ({
      name,
      in: where,
      required: where === 'path' || required.has(name),
      ...(description === undefined ? {} : { description }),
      schema: rest,
    }),
  );
}
