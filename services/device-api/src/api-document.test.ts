import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { compileBody, compileParameters, createApi, createLogger } from '@fleet/service-kit';
import { compileSchemas } from '@fleet/service-kit/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Validator } from '@seriousme/openapi-schema-validator';
import { Type } from 'typebox';
import { createApiDocument, createPartnerDocument, createVideoDocument } from './api-document.ts';
import { loadConfig } from './config.ts';
import type { Deps } from './deps.ts';
import { deviceApiRoutes } from './routes/index.ts';
import { DeviceApiHarness } from './testing/harness.ts';
import { videoRoutes } from './video-routes/index.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

interface Operation {
  operationId: string;
  description?: string;
  tags: string[];
  parameters: {
    name: string;
    in: string;
    required: boolean;
    description?: string;
    example?: string | number;
    schema: Record<string, unknown>;
  }[];
  responses: Record<string, ResponseObject>;
}
interface ResponseObject {
  description: string;
  headers: Record<string, unknown>;
  content: Record<string, { schema: Record<string, unknown> }>;
}
const document = createApiDocument() as {
  openapi: string;
  tags: { name: string }[];
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Record<string, unknown>>; responses: Record<string, ResponseObject> };
};
/** Common responses of every operation. */
const ofAll = { 408: '#/components/responses/RequestTimeout', 431: '#/components/responses/HeadersTooLarge' };

const ownResponses = ({ responses }: Operation): Operation['responses'] =>
  Object.fromEntries(Object.entries(responses).filter(([status]) => !(status in ofAll)));

let harness: DeviceApiHarness;
let api: Awaited<ReturnType<DeviceApiHarness['startService']>>;
beforeAll(async () => {
  harness = await DeviceApiHarness.open();
  api = await harness.startService();
});
afterAll(() => harness.close());

describe('openapi.json', () => {
  it.each([
    ['openapi.json', createApiDocument],
    ['video-openapi.json', createVideoDocument],
    ['partner-openapi.json', createPartnerDocument],
  ])('%s equals the schemas: run `npm run generate` after a change of a route', (name, createDocument) => {
    const file = readFileSync(fileURLToPath(new URL(`../${name}`, import.meta.url)), 'utf8');
    expect(JSON.parse(file)).toEqual(JSON.parse(JSON.stringify(createDocument())));
  });

  it.each([
    ['/api/v1', deviceApiRoutes, createApiDocument],
    ['', videoRoutes, createVideoDocument],
  ] as const)('has an operation for each route of Express below "%s", and no other', (base, table, createDocument) => {
    const routes = table({ config: loadConfig({}) } as Deps);
    const router = createApi({ log: createLogger('test', 'silent'), routes, bodyLimitBytes: 1 });
    const paths = router.stack.flatMap(({ route }) =>
      (route?.stack ?? []).map(({ method }) => `${method ?? 'all'} ${base}${route?.path.replace(/:(\w+)/g, '{$1}')}`),
    );
    const served = [...new Set(paths)].filter((path) => /^(get|post|put|delete) /.test(path));
    const described = Object.entries((createDocument() as unknown as typeof document).paths).flatMap(
      ([path, operations]) => Object.keys(operations).map((method) => `${method} ${path}`),
    );
    expect(served.toSorted()).toEqual(described.toSorted());
    expect(served).toHaveLength(routes.length);
    for (const route of routes) expect(() => compileSchemas(route)).not.toThrow();
  });

  it('is 304 for a client that has it', async () => {
    const etag = (await fetch(`${api.base}/api/v1/openapi.json`)).headers.get('etag') ?? '';
    const again = await fetch(`${api.base}/api/v1/openapi.json`, { headers: { 'if-none-match': etag } });
    expect([again.status, await again.text()]).toEqual([304, '']);
  });

  it('is served with a page that loads nothing from elsewhere', async () => {
    expect((await api.get('/openapi.json')).body).toEqual(JSON.parse(JSON.stringify(document)));
    for (const base of ['/docs', '/api/v1/docs']) {
      const page = await fetch(`${api.base}${base}`);
      expect(page.url).toBe(`${api.base}${base}/`);
      expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
      const html = await page.text();
      expect(html).not.toMatch(/https?:|<script>/);
      const sections = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, section]) => section ?? '');
      expect(sections.length).toBeGreaterThan(4);
      for (const section of sections) expect((await fetch(new URL(section, page.url))).status).toBe(200);
    }
    expect(await (await fetch(`${api.base}/docs/initializer.js`)).text()).toContain('"/api/v1/openapi.json"');
  });
});

describe.each([
  ['Device API', createApiDocument],
  ['video service', createVideoDocument],
])('the document of the %s', (_name, createDocument) => {
  const all = createDocument() as unknown as typeof document;
  const operations = Object.values(all.paths)
    .flatMap((path) => Object.values(path))
    .map((operation) => ({ ...operation, responses: ownResponses(operation) }));

  it('is valid OpenAPI 3.1 by its official schema, and all references resolve', async () => {
    expect(await new Validator({}).validate(structuredClone(all) as never)).toEqual({ valid: true });
    const validator = new Validator({});
    await validator.validate(structuredClone(all) as never);
    expect(validator.version).toBe('3.1');
    expect(() => validator.resolveRefs()).not.toThrow(/./);
  });

  it('has schemas that compile, and unique operation ids', () => {
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
    for (const { parameters } of operations)
      for (const { schema } of parameters) expect(() => compileBody(schema)).not.toThrow(/./);
    expect(JSON.stringify(all)).not.toContain('errorMessage');
  });

  it('describes every operation, parameter, response and field, with examples of all required ones', () => {
    const tags = all.tags.map(({ name }) => name);
    const silent: string[] = [];
    for (const { operationId, description, parameters, responses, tags: own } of operations) {
      expect(tags).toEqual(expect.arrayContaining(own));
      if (description === undefined) silent.push(operationId);
      for (const parameter of parameters) {
        if (parameter.description === undefined) silent.push(`${operationId}: ${parameter.name}`);
        const isDocumented = parameter.required
          ? parameter.example !== undefined
          : ['default', 'enum', 'examples'].some((keyword) => keyword in parameter.schema);
        if (!isDocumented) silent.push(`${operationId}: example of ${parameter.name}`);
      }
      for (const response of Object.values(responses)) expect(response.description).toMatch(/^[A-Z`].+\.$/);
    }
    for (const [name, schema] of Object.entries(all.components.schemas))
      for (const [field, section] of Object.entries((schema['properties'] ?? {}) as Record<string, object>))
        if (!('description' in section) && !('$ref' in section)) silent.push(`${name}: ${field}`);
    expect(silent).toEqual([]);
  });

  it('has valid examples', () => {
    for (const { parameters } of operations)
      for (const { name, schema, example } of parameters) {
        const check = compileParameters(Type.Object({ [name]: schema }), 'query');
        const examples = [example, ...((schema['examples'] ?? []) as (string | number)[])];
        for (const one of examples.filter((value) => value !== undefined))
          expect(() => check({ [name]: String(one) })).not.toThrow(/./);
      }
  });

  it('lists 408 and 431 for every operation', () => {
    const { 408: late, 431: large } = Object.fromEntries(
      Object.entries(ofAll).map(([status, $ref]) => [status, { $ref }]),
    );
    for (const path of Object.values(all.paths))
      for (const { responses } of Object.values(path)) expect(responses).toMatchObject({ 408: late, 431: large });
    for (const response of Object.values(all.components.responses))
      expect(response).toMatchObject({
        description: expect.stringMatching(/^[A-Z`].+\.$/),
        content: { 'application/json': { schema: { $ref: '#/components/schemas/ApiError' } } },
      });
  });

  it('lists Retry-After with every 429', () => {
    const refusals = operations.flatMap(({ responses }) => responses[429] ?? []);
    expect(refusals.length).toBe(operations.length);
    for (const { headers } of refusals)
      expect(headers['Retry-After']).toEqual({ $ref: '#/components/headers/Retry-After' });
  });
});

describe('the document', () => {
  it('names the records as the interface does', () => {
    expect(Object.keys(document.components.schemas)).toEqual([
      'ApiError',
      'ComponentHealth',
      'HealthCheckEntityResponse',
      'HealthCheckResponse',
      'SendCtrlCmd',
      'SendText',
      'SendTextOptions',
      'TerminalGeneralResponse',
      'TerminalResourceListResponse',
      'UploadGeneralResponse',
      'UploadedVideo',
      'UploadedVideoListResp',
      'VideoResource',
      'WakeupResponse',
    ]);
  });

  it('lists the statuses of the interface', () => {
    const command = '200 400 401 403 404 429 500 502 503 504';
    const withBody = '200 400 401 403 404 413 415 429 500 502 503 504';
    const stream = '200 400 401 403 404 429 500 502';
    const statuses = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => [
        `${method} ${path.replace('/api/v1', '')}`,
        Object.keys(ownResponses(operation)).join(' '),
      ]),
    );
    expect(Object.fromEntries(statuses)).toEqual({
      'get /health': '200 429 503',
      'get /health/camera': '200 400 429 503',
      'get /health/device': '200 400 429 503',
      'post /send-control-command': withBody,
      'post /send-text': withBody,
      'get /wakeup': command,
      'get /realtime/start-stream': command,
      'get /realtime/stream.flv': stream,
      'get /realtime/control-stream': command,
      'get /history/list-videos': command,
      'get /history/start-stream': command,
      'get /history/stream.flv': stream,
      'get /history/control-stream': command,
      'get /videos/upload': '200 400 401 403 404 409 429 500 502 503 504',
      'get /videos': '200 400 401 403 404 429 500',
      'delete /videos': '200 400 401 403 404 429 500 502',
      'get /videos/file': '200 206 400 401 403 404 409 416 422 429 500 502 503',
      'get /videos/control': '200 400 401 403 404 409 429 500 502 504',
      'get /videos/list': '200 400 401 403 429 500',
    });
  });

  it('describes the actual responses', async () => {
    const getSchema = (path: string, status: number): Record<string, unknown> => {
      const content = document.paths[`/api/v1${path}`]?.['get']?.responses[status]?.content['application/json'];
      // References are into the document.
      return { ...content?.schema, components: document.components };
    };
    for (const [path, query] of [
      ['/health', ''],
      ['/health/device', '?imei=123456789012'],
      ['/health/camera', '?imei=123456789012&channel=1'],
      ['/wakeup', '?imei=123456789012'],
      ['/wakeup', ''],
      ['/realtime/stream.flv', '?imei=123456789012&channel=1'],
    ] as const) {
      const { status, body } = await api.get(path + query);
      expect(compileBody(getSchema(path, status))(body)).toEqual(body);
    }
  });
});
