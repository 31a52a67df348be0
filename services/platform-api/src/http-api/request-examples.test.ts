import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Operation, operationsOf, readDocument } from '../testing/openapi-document.ts';
import { type Client, PlatformHarness } from '../testing/platform-harness.ts';

// Covers every operation with a body, which takes long on a busy machine.
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

/** Fields whose validity depends on the environment: a host must resolve. */
const environmentPaths = new Set(['/command_url']);

const document = readDocument();
const exampleOf = ({ requestBody }: Operation): unknown =>
  (requestBody?.content['application/json'] as { example?: unknown } | undefined)?.example;
const operations = operationsOf(document).filter((operation) => exampleOf(operation) !== undefined);

describe('the example of a request body', () => {
  it.each(operations.map((operation) => [operation.operationId, operation] as const))(
    'of %s passes the validation of the service',
    async (_name, operation) => {
      const path = operation.path
        .replace('{slug}', 'x'.repeat(22))
        .replace('{videoId}', '0123456789abcdef01234567')
        .replaceAll(/\{\w+\}/g, '999999999');
      const body = exampleOf(operation) as object;
      const response =
        operation.method === 'delete'
          ? await client.delete(path, {}, body)
          : await client[operation.method as 'post'](path, body);
      const { error = '', details = [] } = response.body as { error?: string; details?: { path: string }[] };
      // Duplicates and missing records are no faults of the body.
      const faults = response.status === 400 ? details.filter((detail) => !environmentPaths.has(detail.path)) : [];
      expect({ error, faults }).toEqual({ error, faults: [] });
      expect([error, response.status === 400 && details.length === 0]).toEqual([error, false]);
    },
  );
});
