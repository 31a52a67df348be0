import { Ajv } from 'ajv';
import type { TSchema } from 'typebox';
import { AppError } from '../http/errors.ts';
import type { RequestContext, Route } from '../http/route.ts';
import { compileBody, compileParameters } from '../http/validate.ts';

const ajv = new Ajv({ strict: false });

/**
 * Compiles the schemas of a route, which the service does at its first request. Throws if one violates the meta-schema.
 */
export function compileSchemas(
  { query, params, body }: Route,
  compile: (schema: TSchema) => (raw: unknown, context: RequestContext) => unknown = compileBody,
): void {
  const context = {} as RequestContext;
  for (const schema of [query, params, body]) if (schema !== undefined) void ajv.validateSchema(schema, true);
  if (query !== undefined) ignoreRefusal(() => compileParameters(query, 'query')({}));
  if (params !== undefined) ignoreRefusal(() => compileParameters(params, 'path')({}));
  if (body !== undefined) ignoreRefusal(() => compile(body)({}, context));
}

function ignoreRefusal(check: () => unknown): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
  }
}
