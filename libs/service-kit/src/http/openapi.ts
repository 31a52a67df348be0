import type { TSchema } from 'typebox';
import { apiError } from './error-handlers.ts';
import { createErrorExample, type ErrorTexts } from './openapi-errors.ts';
import { ExampleBuilder, type ExampleValues } from './openapi-examples.ts';
import { createParameters, type ParameterDescriptions } from './openapi-parameters.ts';
import { Schemas } from './openapi-schemas.ts';
import type { OwnErrorResponse, Route } from './route.ts';

/** Content of an OpenAPI document in addition to its routes. */
interface OpenApiInfo {
  readonly title: string;
  readonly version: string;
  readonly description: string;
  readonly basePath: string;
  /** Tags of the routes in document order, with descriptions. */
  readonly tags: Readonly<Record<string, string>>;
  /** JSON Schema of the error body, with a title. */
  readonly errorSchema: TSchema;
  /** Security of a service that supports more than API keys. */
  readonly security?: SecurityInfo;
  /** Request headers that a route supports, by name. */
  readonly requestHeaders?: (route: Route) => Readonly<Record<string, HeaderInfo>>;
  /** Descriptions of common parameters by name, for parameters without one. */
  readonly parameters?: ParameterDescriptions;
  /** Returns text that is added to a route's description. */
  readonly remark?: (route: Route) => string;
  /** Example values of fields, in addition to the examples of the schemas. */
  readonly exampleValues?: ExampleValues;
  /** Creates the error body; by default that of the Device API. */
  readonly renderError?: Route['renderError'];
  /** Texts of example errors that differ from the usual ones. */
  readonly errorTexts?: ErrorTexts;
}

/** Ways to authenticate. */
export interface SecurityInfo {
  /** Security Scheme Objects by name. */
  readonly schemes: Readonly<Record<string, object>>;
  /** Security requirements of a route: any one of these, each a set of schemes that apply together. */
  readonly requirements: (route: Route) => readonly Readonly<Record<string, readonly string[]>>[];
}

/** A request header. */
export interface HeaderInfo {
  readonly description: string;
  readonly schema: TSchema;
}

/**
 * Returns the OpenAPI 3.1 document of a route table. It uses the schemas that validate, so that the two cannot differ.
 * A schema whose `title` has the form of a name (`UploadedVideo`) becomes a component.
 */
export function createOpenApiDocument(info: OpenApiInfo, routes: readonly Route[]): Record<string, unknown> {
  const schemas = new Schemas();
  const examples = new ExampleBuilder(info.exampleValues);
  const error = schemas.convert(info.errorSchema);
  const errorStatuses = new Set([
    ...Object.keys(commonErrorNames),
    ...routes.flatMap(({ errors }) => Object.keys(errors)),
  ]);
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    const path = info.basePath + route.path.replace(/:(\w+)/g, '{$1}');
    paths[path] = { ...paths[path], [route.method]: createOperation(route, { info, schemas, examples, error }) };
  }
  return {
    openapi: '3.1.0',
    info: { title: info.title, version: info.version, description: info.description },
    servers: [{ url: '/', description: 'The host that serves this document.' }],
    tags: Object.entries(info.tags).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: schemas.components(),
      responses: commonErrors(error),
      examples: Object.fromEntries(
        [...errorStatuses].map((status) => [
          `Error${status}`,
          { value: createErrorExample(Number(status), info.renderError ?? apiError, info.errorTexts) },
        ]),
      ),
      headers: routes.some(({ isStatic }) => isStatic === true) ? headers : commonHeaders,
      securitySchemes: (info.security ?? apiKeySecurity).schemes,
    },
  };
}

const apiKeySecurity: SecurityInfo = {
  schemes: {
    apiKey: {
      type: 'apiKey',
      in: 'header',
      name: 'x-api-key',
      description: 'Required if the service runs with DEVICE_API_AUTH=key; otherwise the header is ignored.',
    },
  },
  requirements: (route) => (route.isSecured === false ? [] : [{ apiKey: [] }, {}]),
};

const countSchema = { type: 'integer', minimum: 0 };
const commonHeaders = {
  'X-Request-Id': {
    description: "The client's X-Request-Id (1 to 64 of A-Z, a-z, 0-9, '.', '_', '-'), or a generated one.",
    schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$' },
  },
  'Retry-After': {
    description: 'Seconds to wait before a retry.',
    required: true,
    schema: { type: 'integer', minimum: 1 },
  },
  'X-RateLimit-Limit': { description: 'Burst size.', schema: countSchema },
  'X-RateLimit-Remaining': { description: 'Remaining requests of the burst.', schema: countSchema },
  'X-RateLimit-Reset': {
    description: 'When the full burst is available again, in seconds since 1970.',
    schema: countSchema,
  },
};

const headers = {
  ...commonHeaders,
  ETag: { description: 'Identifies this version of the response.', schema: { type: 'string' } },
};

type HeaderName = keyof typeof headers;

const headerRefs = (...names: readonly HeaderName[]): Record<string, unknown> =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const rateLimitHeaders: readonly HeaderName[] = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];

/** Common parts of the operations of a document. */
interface OperationContext {
  readonly info: OpenApiInfo;
  readonly schemas: Schemas;
  readonly examples: ExampleBuilder;
  /** Published schema of errors. */
  readonly error: unknown;
}

function createOperation(route: Route, context: OperationContext): Record<string, unknown> {
  const { info, schemas } = context;
  const descriptions = [route.description, info.remark?.(route)].filter((text) => text !== undefined && text !== '');
  return {
    operationId: route.operationId,
    summary: route.summary,
    ...(descriptions.length === 0 ? {} : { description: descriptions.join('\n\n') }),
    tags: route.tags ?? [],
    security: (info.security ?? apiKeySecurity).requirements(route),
    parameters: [
      ...createParameters(route.params, 'path', schemas, info.parameters),
      ...createParameters(route.query, 'query', schemas, info.parameters),
      ...Object.entries({ ...info.requestHeaders?.(route), ...conditionalHeaders(route) }).map(([name, header]) => ({
        name,
        in: 'header',
        ...header,
      })),
    ],
    ...(route.body === undefined && route.bodyTypes === undefined
      ? {}
      : { requestBody: createRequestBody(route, context) }),
    responses: {
      ...successResponses(route, context),
      ...notModifiedResponse(route),
      ...errorResponses(route, context),
      ...commonErrorRefs,
    },
  };
}

/** Responses of every operation to requests that fail before routing. */
const commonErrorNames = { 408: 'RequestTimeout', 431: 'HeadersTooLarge' };
const commonErrorRefs = Object.fromEntries(
  Object.entries(commonErrorNames).map(([status, name]) => [status, { $ref: `#/components/responses/${name}` }]),
);

function commonErrors(error: unknown): Record<string, unknown> {
  const createResponse = (status: number, description: string) => ({
    description,
    content: { 'application/json': { schema: error, ...errorExamples(status) } },
  });
  return {
    [commonErrorNames[408]]: createResponse(408, 'The request did not arrive in time.'),
    [commonErrorNames[431]]: createResponse(431, 'The address and the headers of the request exceed 64 KiB together.'),
  };
}

const errorExamples = (status: number | string) => ({
  examples: { error: { $ref: `#/components/examples/Error${status}` } },
});

// A body that the route parses itself may have no schema.
const createRequestBody = (route: Route, { schemas, examples }: OperationContext): Record<string, unknown> => ({
  required: route.bodyIsOptional !== true,
  content: Object.fromEntries(
    (route.bodyTypes ?? ['application/json']).map((type) => [
      type,
      {
        schema: schemas.convert(route.body ?? {}),
        ...(type === 'application/json'
          ? withExample(examples.createRequest(route.body ?? {}, route.operationId))
          : {}),
      },
    ]),
  ),
});

const withExample = (example: unknown): { example?: unknown } => (example === undefined ? {} : { example });

const hasEtag = (route: Route): boolean => route.isStatic === true || route.hasEtag === true;

/** Returns a header with which a client revalidates a stored response. */
const conditionalHeaders = (route: Route): Readonly<Record<string, HeaderInfo>> =>
  hasEtag(route)
    ? {
        'If-None-Match': {
          description: 'The `ETag` of the stored response: 304 if it is unchanged.',
          schema: { type: 'string', maxLength: 200, pattern: '^[\\x20-\\x7e]*$' },
        },
      }
    : {};

const notModifiedResponse = (route: Route): Record<string, unknown> =>
  hasEtag(route)
    ? {
        304: {
          description: 'The response is unchanged.',
          headers: headerRefs('X-Request-Id', 'ETag', ...rateLimitHeadersFor(route)),
        },
      }
    : {};

const rateLimitHeadersFor = (route: Route): readonly HeaderName[] =>
  route.bucket === undefined ? [] : rateLimitHeaders;

function successResponses(route: Route, { schemas, examples }: OperationContext): Record<string, unknown> {
  const schema = route.response === undefined ? { type: 'string', format: 'binary' } : schemas.convert(route.response);
  const example =
    route.response === undefined ? {} : withExample(examples.createResponse(route.response, route.operationId));
  const content = Object.fromEntries(
    [route.contentType ?? 'application/json']
      .flat()
      .map((type) => [type, { schema, ...(type === 'application/json' ? example : {}) }]),
  );
  const tag: readonly HeaderName[] = hasEtag(route) ? ['ETag'] : [];
  const response = { headers: headerRefs('X-Request-Id', ...tag, ...rateLimitHeadersFor(route)), content };
  const descriptions = { ...(route.returns200 === false ? {} : { 200: 'Success.' }), ...route.extraSuccesses };
  return Object.fromEntries(
    // A websocket has neither a body nor headers of the route.
    Object.entries(descriptions).map(([status, description]) => [
      status,
      { description, ...(status === '101' ? {} : response) },
    ]),
  );
}

const errorResponses = (route: Route, context: OperationContext): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(route.errors).map(([status, errorResponse]) => [
      status,
      {
        description: typeof errorResponse === 'string' ? errorResponse : errorResponse.description,
        headers: headerRefs(
          'X-Request-Id',
          ...(status === '429' ? (['Retry-After', ...rateLimitHeadersFor(route)] as const) : []),
        ),
        content: {
          'application/json':
            typeof errorResponse === 'string'
              ? { schema: context.error, ...errorExamples(status) }
              : createOwnError(route, Number(status), errorResponse, context),
        },
      },
    ]),
  );

/** Returns the content of an error whose body is not the API's. */
function createOwnError(
  route: Route,
  status: number,
  { schema, example }: OwnErrorResponse,
  { info, schemas }: OperationContext,
) {
  const { renderError } = route;
  const rendered = renderError === undefined ? example : createErrorExample(status, renderError, info.errorTexts);
  return { schema: schemas.convert(schema), ...withExample(rendered) };
}
