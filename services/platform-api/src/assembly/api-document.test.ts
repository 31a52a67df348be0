import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { compileBody, compileBodyParser, compileParameters, createApi, createLogger } from '@fleet/service-kit';
import { compileSchemas } from '@fleet/service-kit/testing';
import { describe, expect, it } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Type } from 'typebox';
import { isPermitted, roles } from '../access/roles.ts';
import { operationsOf, readDocument, resolveSchema, type Schema } from '../testing/openapi-document.ts';
import { declaredRoutes } from './api-document.ts';

const document = readDocument();
const operations = operationsOf(document);

/** Returns every example and default of a schema at any depth. */
function collectExamples(value: unknown, name = ''): { schema: Schema; example: unknown }[] {
  if (Array.isArray(value)) return value.flatMap((part) => collectExamples(part));
  if (typeof value !== 'object' || value === null) return [];
  const schema = value as Schema;
  // Fields may have the same names as keywords; bodies have examples that document-examples.test.ts checks.
  const examples = Array.isArray(schema.examples) ? schema.examples : [];
  const given = name === 'properties' ? [] : [...examples, schema.default];
  const own = given.filter((example) => example !== undefined).map((example) => ({ schema, example }));
  const parts = Object.entries(value).filter(([key]) => !/^examples?$/.test(key));
  return [...own, ...parts.flatMap(([key, part]) => collectExamples(part, key))];
}

describe('openapi.json', () => {
  it('matches the schemas (after a change of a route run `npm run generate`)', () => {
    const file = readFileSync(fileURLToPath(new URL('../../openapi.json', import.meta.url)), 'utf8');
    expect(JSON.parse(file)).toEqual(document);
  });

  it('has an operation for each route of Express, and no other', () => {
    const routes = declaredRoutes();
    const router = createApi({ log: createLogger('test', 'silent'), routes, bodyLimitBytes: 1 });
    const served = router.stack.flatMap(({ route }) =>
      (route?.stack ?? []).map(({ method }) => `${method ?? 'all'} /api${route?.path.replace(/:(\w+)/g, '{$1}')}`),
    );
    const own = [...new Set(served)].filter((path) => /^(get|post|put|delete) /.test(path));
    expect(own.toSorted()).toEqual(operations.map(({ method, path }) => `${method} ${path}`).toSorted());
    expect(own).toHaveLength(routes.length);
  });

  it('consists of routes whose schemas compile', () => {
    for (const route of declaredRoutes()) expect(() => compileSchemas(route, compileBodyParser)).not.toThrow();
  });
});

describe('OpenAPI document of the Platform API', () => {
  it('is valid OpenAPI 3.1 by its official schema, and resolves every reference', async () => {
    const validator = new Validator({});
    expect(await validator.validate(structuredClone(document) as never)).toEqual({ valid: true });
    expect(validator.version).toBe('3.1');
    expect(() => validator.resolveRefs()).not.toThrow(/./);
  });

  it('has unique operation ids and no keywords of the validators', () => {
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
    expect(JSON.stringify(document)).not.toMatch(/"(errorMessage|alias|trim)":/);
  });

  it('describes every operation, parameter and response, with an example of each required parameter', () => {
    const tags = document.tags.map(({ name }) => name);
    const silent: string[] = [];
    for (const { operationId, description, parameters, responses, tags: own } of operations) {
      if (own.length === 0 || own.some((tag) => !tags.includes(tag)))
        silent.push(`${operationId}: a tag that api-document.ts describes`);
      if (description === '') silent.push(operationId);
      for (const parameter of parameters) {
        if (parameter.description === undefined) silent.push(`${operationId}: ${parameter.name}`);
        if (parameter.required === true && parameter.example === undefined)
          silent.push(`${operationId}: example of ${parameter.name}`);
      }
      for (const [status, response] of Object.entries(responses))
        if (!/^[A-Z`].+\.$/.test(response.description)) silent.push(`${operationId}: ${status}`);
    }
    expect(silent).toEqual([]);
  });

  it('declares limit, offset, page and sort for every list', () => {
    // Lists with another default order: by time, by file or by distance.
    const own = new Map([
      ['listDashcamMedia', '-taken_at'],
      ['listNotifications', '-timestamp'],
      ['listPlans', 'id'],
      ['listTollGates', undefined],
      ['listVehicleNotifications', '-timestamp'],
    ]);
    const isPaged = ({ responses }: (typeof operations)[number]) =>
      JSON.stringify(responses[200] ?? {}).includes('#/components/schemas/Pagination');
    const lists = operations.filter((operation) => operation.method === 'get' && isPaged(operation));
    const namesOf = ({ parameters }: (typeof operations)[number]) => parameters.map(({ name }) => name);
    for (const list of lists) expect(namesOf(list)).toEqual(expect.arrayContaining(['limit', 'offset', 'page']));
    const sortOf = ({ parameters }: (typeof operations)[number]) => parameters.find(({ name }) => name === 'sort');
    expect(lists.filter((list) => sortOf(list) === undefined).map(({ operationId }) => operationId)).toEqual([]);
    for (const list of lists) expect(sortOf(list)?.schema.enum).toEqual(expect.arrayContaining(['id', '-id']));
    const others = lists.filter((list) => sortOf(list)?.schema.default !== '-id');
    expect(new Map(others.map((list) => [list.operationId, sortOf(list)?.schema.default]))).toEqual(own);
  });

  it('has examples of parameters that are valid', () => {
    for (const { parameters } of operations)
      for (const { name, schema, example, in: where } of parameters) {
        const checked = Type.Unsafe<unknown>({ ...schema, components: document.components });
        const check = compileParameters(Type.Object({ [name]: checked }), where === 'path' ? 'path' : 'query');
        const examples = [example, ...(schema.examples ?? [])].filter((value) => value !== undefined);
        for (const one of examples as (string | number)[])
          expect(() => check({ [name]: String(one) })).not.toThrow(/./);
      }
  });

  it('has examples and defaults of fields that match their schemas', () => {
    const found = collectExamples(document);
    expect(found.length).toBeGreaterThan(100);
    for (const { schema, example } of found) {
      const check = compileBody({ properties: { value: schema }, components: document.components });
      expect(() => check({ value: structuredClone(example) })).not.toThrow(/./);
    }
  });

  it('lists records that each have an integer id', () => {
    const paged = operations.filter(({ responses }) =>
      JSON.stringify(responses['200'] ?? {}).includes('#/components/schemas/Pagination'),
    );
    expect(paged.length).toBeGreaterThan(20);
    for (const { operationId, responses } of paged) {
      const response = resolveSchema(document, responses['200']?.content?.['application/json']?.schema ?? {});
      const [envelope = {}] = [response, ...(response.anyOf ?? [])].filter(({ properties }) => properties?.['meta']);
      const { properties = {}, required } = resolveSchema(document, envelope.properties?.['data']?.items ?? {});
      const { type } = properties['id'] ?? {};
      expect([operationId, type, required?.includes('id')]).toEqual([operationId, 'integer', true]);
    }
  });

  it('describes every security scheme that operations require', () => {
    const requested = new Set(operations.flatMap(({ security }) => security.flatMap((each) => Object.keys(each))));
    expect(requested).toEqual(new Set(Object.keys(document.components.securitySchemes)));
  });

  it('has schemas of bodies and responses that compile', () => {
    const schemas = operations.flatMap(({ requestBody, responses }) =>
      [requestBody ?? { content: {} }, ...Object.values(responses)].flatMap(({ content }) =>
        Object.values(content ?? {}).map(({ schema }) => schema),
      ),
    );
    const different = [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()];
    const all = { anyOf: different, components: document.components };
    expect(() => compileBody(all as never)).not.toThrow(/./);
  });

  it('lists the roles of each operation as in the permission table', () => {
    for (const route of declaredRoutes()) {
      const { description = '' } = operations.find(({ operationId }) => operationId === route.operationId) ?? {};
      const isOpen = route.access.credentials === 'none';
      expect(description.includes('Requires no credentials.')).toBe(isOpen);
      const named = roles.filter((role) => description.includes(`\`${role}\``));
      expect(named).toEqual(roles.filter((role) => !isOpen && isPermitted(role, route.access.permission)));
    }
  });

  it('documents 201 for creation, 202 for started work, and 401 and 403 for secured operations', () => {
    const statuses = (id: string): string[] =>
      Object.keys(operations.find(({ operationId }) => operationId === id)?.responses ?? {});
    expect(statuses('createDriver')).toEqual([
      '201',
      '400',
      '401',
      '403',
      '404',
      '408',
      '409',
      '413',
      '415',
      '422',
      '429',
      '431',
      '500',
      '503',
    ]);
    expect(statuses('sendOneTimeCode')).toContain('202');
    expect(statuses('sendOneTimeCode')).not.toContain('200');
    const secured = operations.filter(({ security }) => security.length > 0);
    expect(secured.length).toBeGreaterThan(50);
    for (const { operationId } of secured)
      expect(statuses(operationId)).toEqual(expect.arrayContaining(['401', '403']));
  });
});
