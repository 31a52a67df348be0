import { campaignSize, campaignTimeoutMs } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { formatCounts, fuzz, type KnownValues } from './testing/fuzzer.ts';
import { getJson, type ProductHarness, startHarness } from './testing/harness.ts';

/** FUZZ_SEED selects other requests, PLATFORM_FUZZ_EXAMPLES a larger number. */
const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_121);
const examples = campaignSize({
  what: 'requests of an operation',
  normal: 3,
  setting: 'PLATFORM_FUZZ_EXAMPLES',
});

/**
 * Would remove the user, the key or the session of the requests that follow. Ids of responses and undocumented methods
 * are tried too.
 */
const leftOut = [
  '/api/auth/logout',
  '/api/accounts/{id}',
  '/api/users/{id}',
  '/api/api-keys/{id}',
  '/api/auth/sessions/{id}',
];

interface Parameter {
  name: string;
  in: string;
  example?: unknown;
}
interface Document {
  paths: Record<string, Record<string, { operationId: string; parameters: Parameter[]; security?: unknown[] }>>;
}

let harness: ProductHarness;
let headers: Record<string, string>;
const ids: Record<string, number> = {};
let slug = '';

async function post(path: string, body: object): Promise<Record<string, unknown> & { id: number }> {
  const { status, body: response } = await getJson(`${harness.product.runtime.base_url}/api${path}`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect({ status: status < 300, response }).toEqual({ status: true, response });
  return (response as { data: Record<string, unknown> & { id: number } }).data;
}

const limits = ['PLATFORM_PER_MINUTE', 'PLATFORM_BURST', 'LOGIN_PER_MINUTE', 'CODES_PER_HOUR', 'GEOCODE_PER_MINUTE'];
const more = [
  'EXTRACTION_PER_MINUTE',
  'USER_SEARCH_PER_MINUTE',
  'SHARE_LINK_PER_MINUTE',
  'PARTNER_PER_SECOND',
  'DEVICE_LOOKUP_PER_MINUTE',
];

beforeAll(async () => {
  harness = await startHarness(
    Object.fromEntries([...limits, ...more].map((name) => [`RATE_LIMIT_${name}`, '1000000'])),
  );
  const { demo } = harness.product.runtime;
  const logIn = async (): Promise<void> => {
    const { access_token: token } = await post('/auth/login', { identifier: demo.email, password: demo.password });
    headers = { 'x-api-key': demo.api_key, authorization: `Bearer ${String(token)}` };
  };
  headers = {};
  await logIn();
  const password = 'correct horse battery';
  ids['user'] = (await post('/users', { name: 'Fuzz', email: 'fuzz@fleet.example', role: 'viewer' })).id;
  ids['vehicle'] = (await post('/vehicles', { vehicle_no: 'FUZZ 1' })).id;
  ids['driver'] = (await post('/drivers', { name: 'Fuzz' })).id;
  ids['group'] = (await post('/vehicle-groups', { name: 'Fuzz' })).id;
  slug = String((await post('/share-links', { vehicle_id: ids['vehicle'] }))['slug']);
  await post('/users', { name: 'Own', email: 'own@fleet.example', role: 'owner', password });
  const { access_token: token } = await post('/auth/login', { identifier: 'own@fleet.example', password });
  headers = { ...headers, authorization: `Bearer ${String(token)}` };
  const scopes = ['read', 'write', 'command', 'video', 'ingest', 'webhook'];
  headers['x-api-key'] = String((await post('/api-keys', { name: 'own', scopes, can_mint_tokens: true }))['key']);
}, 240_000);
afterAll(() => harness?.stop(), 60_000);

/** The document with records of this product as examples, without the excluded operations. */
function withOwnRecords(document: Document): Document {
  const copy = structuredClone(document);
  const values: Record<string, unknown> = { vehicleId: ids['vehicle'], userId: ids['user'], id: ids['user'] };
  for (const [path, methods] of Object.entries(copy.paths))
    for (const [method, operation] of Object.entries(methods)) {
      // Unknown headers are ignored, whatever a document says.
      operation.parameters = operation.parameters.filter((parameter) => parameter.in !== 'header');
      operation.security = [];
      for (const parameter of operation.parameters) {
        if (parameter.in === 'path' && parameter.name in values) parameter.example = values[parameter.name];
        if (path.endsWith('{slug}') && method === 'get' && parameter.name === 'slug') parameter.example = slug;
      }
    }
  return {
    ...copy,
    paths: Object.fromEntries(Object.entries(copy.paths).filter(([path]) => !leftOut.includes(path))),
  };
}

describe('requests of every kind that the document of the Platform API allows or forbids', () => {
  it(
    'get only responses that the document describes',
    async () => {
      const { base_url: baseUrl } = harness.product.runtime;
      const document = withOwnRecords((await getJson(`${baseUrl}/api/openapi.json`)).body as Document);
      const known: KnownValues = {
        vehicleId: { values: [ids['vehicle'] ?? 0], share: 0.8 },
        'body.url': { values: ['https://93.184.216.34/fuzz', 'https://127.0.0.1/'], share: 1 },
        'body.vehicle_id': { values: [ids['vehicle'] ?? 0], share: 0.8 },
        'body.driver_id': { values: [ids['driver'] ?? 0], share: 0.8 },
        'body.parent_group': { values: [ids['group'] ?? 0], share: 0.8 },
      };
      const settings = { seed, examples, known, operations: {}, headers, settingsFile: 'platform.toml' };
      const result = await fuzz({ document, baseUrl, ...settings });
      console.log(`Contract fuzz of the Platform API, seed ${seed}: ${formatCounts(result)}`);
      if (result.exitCode !== 0)
        throw new Error(`schemathesis reported failures:
${result.output}`);
      const described = Object.entries(document.paths).flatMap(([at, methods]) =>
        Object.keys(methods).map((method) => `${method.toUpperCase()} ${at}`),
      );
      expect([...result.operations.keys()].toSorted()).toEqual(described.toSorted());
      // The user was still logged in at the end.
      const me = await getJson(`${baseUrl}/api/auth/me`, { headers });
      expect(me.status).toBe(200);
    },
    campaignTimeoutMs(600_000),
  );
});
