import { describe, expect, it } from '@jest/globals';
import { type TSchema, Type } from 'typebox';
import type { AppError } from './errors.ts';
import { createOpenApiDocument } from './openapi.ts';
import { defineRoute, type Route } from './route.ts';

const errorSchema = Type.Object({ status: Type.Integer() }, { title: 'ApiError' });
const handle = async (): Promise<undefined> => undefined;
const createDocument = (...routes: Route[]) =>
  createOpenApiDocument(
    {
      title: 'T',
      version: '1',
      description: 'D',
      basePath: '/base',
      tags: { Things: 'Descriptions of things.' },
      errorSchema,
    },
    routes,
  ) as {
    tags: unknown;
    paths: Record<string, Record<string, unknown>>;
    components: { schemas: Record<string, unknown> };
  };

const read = defineRoute({
  method: 'get',
  path: '/things/:id/parts',
  operationId: 'readParts',
  summary: 'Parts',
  tags: ['Things'],
  params: Type.Object({ id: Type.Integer({ description: 'Number.' }) }),
  query: Type.Object({
    name: Type.String({ pattern: 'x', errorMessage: 'must be x', examples: ['xx'] }),
    page: Type.Optional(Type.Integer({ default: 1, examples: [3] })),
  }),
  bucket: 'reads',
  response: Type.Object({ ok: Type.Boolean() }),
  errors: {
    404: 'Not there.',
    429: 'Too many.',
    503: { description: 'Ill.', schema: Type.Object({ ill: Type.Boolean() }), example: { ill: true } },
  },
  handle,
});

const rateLimits = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset'];
const headers = (...names: string[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

/** Responses of every operation, which are components of the document. */
const ofAll = {
  408: { $ref: '#/components/responses/RequestTimeout' },
  431: { $ref: '#/components/responses/HeadersTooLarge' },
};

describe('createOpenApiDocument', () => {
  it('describes path, parameters and responses by the validating schemas', () => {
    expect(createDocument(read).paths).toEqual({
      '/base/things/{id}/parts': {
        get: {
          operationId: 'readParts',
          summary: 'Parts',
          tags: ['Things'],
          security: [{ apiKey: [] }, {}],
          parameters: [
            { name: 'id', in: 'path', required: true, description: 'Number.', schema: { type: 'integer' } },
            { name: 'name', in: 'query', required: true, example: 'xx', schema: { type: 'string', pattern: 'x' } },
            { name: 'page', in: 'query', required: false, schema: { type: 'integer', default: 1, examples: [3] } },
          ],
          responses: {
            200: {
              description: 'Success.',
              headers: headers('X-Request-Id', ...rateLimits),
              content: { 'application/json': { schema: read.response, example: { ok: false } } },
            },
            404: {
              description: 'Not there.',
              headers: headers('X-Request-Id'),
              content: {
                'application/json': {
                  schema: { $ref: '#/components/schemas/ApiError' },
                  examples: { error: { $ref: '#/components/examples/Error404' } },
                },
              },
            },
            429: expect.objectContaining({ headers: headers('X-Request-Id', 'Retry-After', ...rateLimits) }),
            503: {
              description: 'Ill.',
              headers: headers('X-Request-Id'),
              content: {
                'application/json': { schema: expect.objectContaining({ required: ['ill'] }), example: { ill: true } },
              },
            },
            ...ofAll,
          },
        },
      },
    });
  });

  it('has an example of each error status, as the API renders it', () => {
    const info = { title: 'T', version: '1', description: 'D', basePath: '', tags: {}, errorSchema };
    const renderError = ({ status, code, message, details }: AppError, request: string) => ({
      status,
      code,
      message,
      details,
      hasRequest: request !== '',
    });
    const { components } = createOpenApiDocument(
      { ...info, renderError, errorTexts: { not_found: 'There is no thing 7.' } },
      [read],
    ) as { components: { examples: Record<string, { value: unknown }> } };
    expect(Object.keys(components.examples)).toEqual(['Error408', 'Error431', 'Error404', 'Error429', 'Error503']);
    expect(components.examples['Error404']?.value).toEqual({
      status: 404,
      code: 'not_found',
      message: 'There is no thing 7.',
      details: [],
      hasRequest: true,
    });
  });

  it('joins the methods of one path, with bodies, streams and public routes', () => {
    const base = { summary: 's', errors: {}, handle } as const;
    const { paths } = createDocument(
      defineRoute({
        ...base,
        method: 'get',
        path: '/x',
        operationId: 'a',
        contentType: 'video/x-flv',
        isSecured: false,
      }),
      defineRoute({
        ...base,
        method: 'post',
        path: '/x',
        operationId: 'b',
        body: Type.Object({ t: Type.String({ errorMessage: 'must be t' }) }),
      }),
    );
    expect(Object.keys(paths)).toEqual(['/base/x']);
    expect(paths['/base/x']?.['get']).toMatchObject({
      security: [],
      responses: { 200: { content: { 'video/x-flv': { schema: { type: 'string', format: 'binary' } } } } },
    });
    expect(paths['/base/x']?.['post']).toMatchObject({
      requestBody: { required: true, content: { 'application/json': { schema: { required: ['t'] } } } },
    });
    expect(JSON.stringify(paths)).not.toContain('errorMessage');
  });

  it('describes credentials, headers and statuses other than 200', () => {
    const bearer = { type: 'http', scheme: 'bearer' };
    const header = { description: 'Strict.', schema: Type.Boolean() };
    const row = defineRoute({
      method: 'post',
      path: '/x',
      operationId: 'd',
      summary: 's',
      description: 'Makes an x.',
      body: Type.Object({ phone_number: Type.String({ alias: 'phoneNumber', description: 'Own.' }) }),
      extraSuccesses: { 201: 'Made.' },
      returns200: false,
      errors: {},
      handle,
    });
    const info = { title: 'T', version: '1', description: 'D', basePath: '', tags: {}, errorSchema };
    const { paths, components } = createOpenApiDocument(
      {
        ...info,
        security: { schemes: { bearer }, requirements: () => [{ bearer: [] }] },
        requestHeaders: () => ({ 'X-Strict': header }),
        remark: ({ method }) => `By ${method}.`,
      },
      [row],
    ) as { paths: Record<string, Record<string, { responses: object }>>; components: object };
    expect(components).toMatchObject({ securitySchemes: { bearer } });
    const operation = paths['/x']?.['post'];
    expect(operation).toMatchObject({
      description: 'Makes an x.\n\nBy post.',
      security: [{ bearer: [] }],
      parameters: [{ name: 'X-Strict', in: 'header', ...header }],
    });
    expect(Object.keys(operation?.responses ?? {})).toEqual(['201', '408', '431']);
    const described = 'Own. Also accepted as `phoneNumber`.';
    expect(JSON.stringify(operation)).toContain(JSON.stringify({ type: 'string', description: described }));
  });

  it('describes each content type, and successes in addition to 200', () => {
    const { paths } = createDocument(
      defineRoute({
        method: 'get',
        path: '/file',
        operationId: 'c',
        summary: 's',
        contentType: ['video/mp4', 'application/octet-stream'],
        extraSuccesses: { 206: 'The requested part.' },
        errors: {},
        handle,
      }),
    );
    const content = {
      'video/mp4': { schema: { type: 'string', format: 'binary' } },
      'application/octet-stream': { schema: { type: 'string', format: 'binary' } },
    };
    expect(paths['/base/file']?.['get']).toMatchObject({
      responses: {
        200: { description: 'Success.', content },
        206: { description: 'The requested part.', content },
      },
    });
  });

  it('lists a named schema once, and keeps properties of any name', () => {
    const part = Type.Object({ title: Type.String(), errorMessage: Type.Number() }, { title: 'Part' });
    const row = (path: string, schema: TSchema) =>
      defineRoute({ method: 'get', path, operationId: path, summary: 's', response: schema, errors: {}, handle });
    const { paths, components } = createDocument(row('/one', part), row('/many', Type.Array(part)));
    const statusResponse = (schema: unknown) => ({
      responses: { 200: { content: { 'application/json': { schema } } } },
    });
    const getSchema = (path: string) => paths[path]?.['get'];
    const reference = { $ref: '#/components/schemas/Part' };
    expect(getSchema('/base/one')).toMatchObject(statusResponse(reference));
    expect(getSchema('/base/many')).toMatchObject(statusResponse({ type: 'array', items: reference }));
    expect(components.schemas).toEqual({
      ApiError: { type: 'object', required: ['status'], properties: { status: { type: 'integer' } } },
      Part: {
        type: 'object',
        required: ['title', 'errorMessage'],
        properties: { title: { type: 'string' }, errorMessage: { type: 'number' } },
      },
    });
    const other = Type.Object({ other: Type.String() }, { title: 'Part' });
    expect(() => createDocument(row('/one', part), row('/other', other))).toThrow('Two schemas have the title Part');
  });
});
