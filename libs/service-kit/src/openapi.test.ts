import { describe, expect, it } from '@jest/globals';
import { Type } from 'typebox';
import { openApiDocument } from './openapi.ts';
import { defineRoute, type Route } from './route.ts';

const errorSchema = Type.Object({ status: Type.Integer() });
const handle = async (): Promise<undefined> => undefined;
const documentOf = (...routes: Route[]) =>
  openApiDocument({ title: 'T', version: '1', description: 'D', basePath: '/base', errorSchema }, routes) as {
    paths: Record<string, Record<string, unknown>>;
  };

const read = defineRoute({
  method: 'get',
  path: '/things/:id/parts',
  operationId: 'readParts',
  summary: 'Parts',
  tags: ['Things'],
  params: Type.Object({ id: Type.Integer({ description: 'Number.' }) }),
  query: Type.Object({
    name: Type.String({ pattern: 'x', errorMessage: 'must be x' }),
    page: Type.Optional(Type.Integer({ default: 1 })),
  }),
  response: Type.Object({ ok: Type.Boolean() }),
  errors: {
    404: 'Not there.',
    429: 'Too many.',
    503: { description: 'Ill.', schema: Type.Object({ ill: Type.Boolean() }) },
  },
  handle,
});

describe('openApiDocument', () => {
  it('describes path, parameters and answers by the schemas that validate', () => {
    expect(documentOf(read).paths).toEqual({
      '/base/things/{id}/parts': {
        get: {
          operationId: 'readParts',
          summary: 'Parts',
          tags: ['Things'],
          security: [{ apiKey: [] }, {}],
          parameters: [
            { name: 'id', in: 'path', required: true, description: 'Number.', schema: { type: 'integer' } },
            { name: 'name', in: 'query', required: true, schema: { type: 'string', pattern: 'x' } },
            { name: 'page', in: 'query', required: false, schema: { type: 'integer', default: 1 } },
          ],
          responses: {
            200: { description: 'Success', content: { 'application/json': { schema: read.response } } },
            404: {
              description: 'Not there.',
              content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
            },
            429: expect.objectContaining({ headers: { 'Retry-After': expect.anything() } }),
            503: {
              description: 'Ill.',
              content: { 'application/json': { schema: expect.objectContaining({ required: ['ill'] }) } },
            },
          },
        },
      },
    });
  });

  it('joins the methods of one path, and shows bodies, streams and open routes', () => {
    const base = { summary: 's', errors: {}, handle } as const;
    const { paths } = documentOf(
      defineRoute({ ...base, method: 'get', path: '/x', operationId: 'a', contentType: 'video/x-flv', secured: false }),
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

  it('shows each content type, and the successes beside 200', () => {
    const { paths } = documentOf(
      defineRoute({
        method: 'get',
        path: '/file',
        operationId: 'c',
        summary: 's',
        contentType: ['video/mp4', 'application/octet-stream'],
        otherSuccesses: { 206: 'The part that was asked for.' },
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
        200: { description: 'Success', content },
        206: { description: 'The part that was asked for.', content },
      },
    });
  });
});
