import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type InvalidValue, invalidQueryValues, invalidValues } from '../testing/invalid-values.ts';
import { type Operation, operationsOf, readDocument, resolveSchema } from '../testing/openapi-document.ts';
import { type ApiResponse, type Client, PlatformHarness } from '../testing/platform-harness.ts';
import { findDuplicatePaths, findValidatorPhrases } from '../testing/validator-phrases.ts';

// Covers every operation with every fault, which takes long on a busy machine.
jest.setTimeout(120_000);

let harness: PlatformHarness;
let client: Client;
beforeAll(async () => {
  harness = await PlatformHarness.open();
  const scopes = ['read', 'write', 'command', 'video', 'ingest', 'webhook'];
  const { data } = await harness.as(harness.ours.owner).post('/api/api-keys', { name: 'all', scopes });
  client = harness.as({ ...(await harness.user('superadmin')), apiKey: String(data['key']) });
});
afterAll(() => harness?.close());

const document = readDocument();
/**
 * Operations of users. Other operations, and those of partners with responses in their hubs' formats, have input tests
 * of their own.
 */
const operations = operationsOf(document).filter(
  ({ path, security }) => security.some((each) => 'bearer' in each) && !path.startsWith('/api/devices/partner/'),
);
const named = (some: readonly Operation[]) => some.map((each) => [`${each.method} ${each.path}`, each] as const);
const pathParameters = /\{(\w+)\}/g;

/** Returns a path with an id that no record has. */
const samplePath = ({ path }: Operation, id = '999999999'): string =>
  path.replaceAll(pathParameters, (_all, name: string) =>
    name === 'slug' && id === '999999999' ? 'x'.repeat(22) : id,
  );

/** Sends a request. A 400 must use plain words and name each field once. */
async function sendInvalid(operation: Operation, path: string, body?: unknown): Promise<ApiResponse> {
  const response = await send(operation, path, body);
  const { error, details = [] } = response.status === 400 ? describeFault(response) : { error: '' };
  expect({ path, words: findValidatorPhrases(error, details) }).toEqual({ path, words: [] });
  expect({ path, twice: findDuplicatePaths(details) }).toEqual({ path, twice: [] });
  return response;
}

function send({ method }: Operation, path: string, body: unknown): Promise<ApiResponse> {
  if (method === 'get') return client.get(path);
  return method === 'delete' ? client.delete(path, {}, body) : client[method](path, body);
}

interface Fault {
  readonly status: number;
  readonly code: string;
  readonly error: string;
  readonly details?: readonly { readonly path: string; readonly message: string }[];
}
const describeFault = ({ body }: ApiResponse) => body as Fault;
const errorPaths = (response: ApiResponse): string[] => (describeFault(response).details ?? []).map(({ path }) => path);

describe('query parameters', () => {
  const withQuery = operations.filter(({ parameters }) => parameters.some((each) => each.in === 'query'));

  it.each(named(withQuery))('%s rejects invalid parameters and names each', async (_name, operation) => {
    const wrong = operation.parameters
      .filter((each) => each.in === 'query')
      .map((parameter) => ({ name: parameter.name, values: invalidQueryValues(parameter) }));
    const rounds = Math.max(...wrong.map(({ values }) => values.length));
    for (let round = 0; round < rounds; round += 1) {
      const some = wrong.flatMap(({ name, values }): [string, string][] => {
        const value = values[round];
        return value === undefined ? [] : [[name, value]];
      });
      const query = new URLSearchParams(some).toString();
      const response = await sendInvalid(operation, `${samplePath(operation)}?${query}`);
      expect({ query, ...describeFault(response) }).toMatchObject({ query, status: 400 });
      expect({ query, places: errorPaths(response) }).toEqual({
        query,
        places: expect.arrayContaining(some.map(([name]) => `/${name}`)),
      });
    }
  });
});

describe('path parameters', () => {
  const withId = operations.filter(({ parameters }) =>
    parameters.some((each) => each.in === 'path' && each.schema.type === 'integer'),
  );

  it.each(named(withId))('%s returns 404 for an invalid id', async (_name, operation) => {
    for (const id of ['abc', '0', '-1', '1.5', '01', '9007199254740992', '%20', '1%00']) {
      const response = await sendInvalid(operation, samplePath(operation, id), {});
      expect({ id, ...describeFault(response) }).toMatchObject({ id, status: 404 });
    }
  });
});

describe('bodies', () => {
  const bodySchema = ({ requestBody }: Operation) => {
    const schema = requestBody?.content['application/json']?.schema;
    return schema === undefined ? undefined : resolveSchema(document, schema);
  };
  const withBody = operations.filter((operation) => bodySchema(operation)?.properties !== undefined);
  const requiredFields = (operation: Operation) =>
    Object.entries(bodySchema(operation)?.properties ?? {}).filter(([, schema]) => !('readOnly' in schema));

  it.each(named(withBody))('%s rejects bodies that are not objects', async (_name, operation) => {
    for (const body of ['[]', '"text"', '7', 'null', '{', '{"a":1,"a":2}']) {
      const response = await sendInvalid(operation, samplePath(operation), body);
      expect({ body, ...describeFault(response) }).toMatchObject({ body, status: 400 });
    }
  });

  it.each(named(withBody))('%s rejects deep nesting in known and unknown fields', async (_name, operation) => {
    const deep = '['.repeat(20_000) + ']'.repeat(20_000);
    for (const field of [...requiredFields(operation).map(([name]) => name), 'unknown']) {
      const response = await sendInvalid(operation, samplePath(operation), `{"${field}":${deep}}`);
      expect({ field, ...describeFault(response) }).toMatchObject({ field, status: 400 });
    }
  });

  it.each(named(withBody.filter((operation) => (bodySchema(operation)?.required ?? []).length > 0)))(
    '%s names every missing field',
    async (_name, operation) => {
      const response = await sendInvalid(operation, samplePath(operation), {});
      expect(describeFault(response)).toMatchObject({ status: 400, code: 'validation_failed' });
      const required = bodySchema(operation)?.required ?? [];
      expect(errorPaths(response)).toEqual(expect.arrayContaining(required.map((field) => `/${field}`)));
    },
  );

  const faults: readonly InvalidValue['fault'][] = ['another type', 'null', 'out of bounds'];
  /** A response names at most twenty faults, and some fields have several. */
  const invalidFields = 4;

  it.each(named(withBody))('%s names every invalid field', async (_name, operation) => {
    for (const fault of faults) {
      const wrong = requiredFields(operation).flatMap(([field, schema]) => {
        const found = invalidValues(document, schema).find((bad) => bad.fault === fault);
        return found === undefined ? [] : [[field, found.value] as const];
      });
      for (let at = 0; at < wrong.length; at += invalidFields) {
        const body = Object.fromEntries(wrong.slice(at, at + invalidFields));
        const response = await sendInvalid(operation, samplePath(operation), body);
        expect({ fault, body, ...describeFault(response) }).toMatchObject({
          fault,
          status: 400,
          code: 'validation_failed',
        });
        const paths = errorPaths(response).map((path) => path.split('/')[1]);
        expect({ fault, places: paths }).toEqual({ fault, places: expect.arrayContaining(Object.keys(body)) });
      }
    }
  });
});
