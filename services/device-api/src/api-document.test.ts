import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { compileBody, createApi, createLogger } from '@fleet/service-kit';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { apiDocument, videoDocument } from './api-document.ts';
import { loadConfig } from './config.ts';
import type { Deps } from './deps.ts';
import { deviceApiRoutes } from './routes/index.ts';
import { World } from './testing/world.ts';
import { videoRoutes } from './video-routes/index.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

interface Operation {
  operationId: string;
  parameters: { name: string; in: string; required: boolean; schema: Record<string, unknown> }[];
  responses: Record<string, { content: Record<string, { schema: Record<string, unknown> }> }>;
}
const document = apiDocument() as {
  openapi: string;
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Record<string, unknown>> };
};

let world: World;
let api: Awaited<ReturnType<World['service']>>;
beforeAll(async () => {
  world = await World.open();
  api = await world.service();
});
afterAll(() => world.close());

describe('openapi.json', () => {
  it.each([
    ['openapi.json', apiDocument],
    ['video-openapi.json', videoDocument],
  ])('%s is what the schemas say: run `npm run generate` after a change of a route', (name, make) => {
    const file = readFileSync(fileURLToPath(new URL(`../${name}`, import.meta.url)), 'utf8');
    expect(JSON.parse(file)).toEqual(JSON.parse(JSON.stringify(make())));
  });

  it.each([
    ['/api/v1', deviceApiRoutes, apiDocument],
    ['', videoRoutes, videoDocument],
  ] as const)('has an operation for each route of Express below "%s", and no other', (base, table, make) => {
    const routes = table({ config: loadConfig({}) } as Deps);
    const router = createApi({ log: createLogger('test', 'silent'), routes, bodyLimitBytes: 1 });
    const paths = router.stack.flatMap(({ route }) =>
      (route?.stack ?? []).map(({ method }) => `${method ?? 'all'} ${base}${route?.path.replace(/:(\w+)/g, '{$1}')}`),
    );
    const served = [...new Set(paths)].filter((path) => /^(get|post|put|delete) /.test(path));
    const described = Object.entries((make() as unknown as typeof document).paths).flatMap(([path, operations]) =>
      Object.keys(operations).map((method) => `${method} ${path}`),
    );
    expect(served.toSorted()).toEqual(described.toSorted());
    expect(served).toHaveLength(routes.length);
  });

  it('is served, with a page over it that takes nothing from elsewhere', async () => {
    expect((await api.get('/openapi.json')).body).toEqual(JSON.parse(JSON.stringify(document)));
    for (const base of ['/docs', '/api/v1/docs']) {
      const page = await fetch(`${api.base}${base}`);
      expect(page.url).toBe(`${api.base}${base}/`);
      expect(page.headers.get('content-security-policy')).toContain("default-src 'none'");
      const html = await page.text();
      expect(html).not.toMatch(/https?:|<script>/);
      const parts = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, part]) => part ?? '');
      expect(parts.length).toBeGreaterThan(4);
      for (const part of parts) expect((await fetch(new URL(part, page.url))).status).toBe(200);
    }
    expect(await (await fetch(`${api.base}/docs/initializer.js`)).text()).toContain('"/api/v1/openapi.json"');
  });
});

describe('the document', () => {
  it('is OpenAPI 3.1 whose schemas compile and whose operations have names of their own', () => {
    expect(document.openapi).toBe('3.1.0');
    const operations = Object.values(document.paths).flatMap((path) => Object.values(path));
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
    for (const { parameters } of operations)
      for (const { schema } of parameters) {
        expect(() => compileBody(schema)).not.toThrow(/./);
        expect(schema).not.toHaveProperty('errorMessage');
      }
  });

  it('lists the statuses that the interface lists', () => {
    const statuses = (path: string) => Object.keys(document.paths[`/api/v1${path}`]?.['get']?.responses ?? {});
    const command = ['200', '400', '401', '403', '404', '429', '500', '502', '503', '504'];
    expect(statuses('/wakeup')).toEqual(command);
    expect(statuses('/realtime/start-stream')).toEqual(command);
    expect(statuses('/realtime/control-stream')).toEqual(command);
    expect(statuses('/realtime/stream.flv')).toEqual(['200', '400', '401', '403', '404', '429', '500', '502']);
    expect(statuses('/health')).toEqual(['200', '429', '503']);
    expect(statuses('/health/camera')).toEqual(['200', '400', '429', '503']);
    expect(statuses('/health/device')).toEqual(['200', '400', '429', '503']);
  });

  it('describes what is really answered', async () => {
    const schemaOf = (path: string, status: number): Record<string, unknown> => {
      const content = document.paths[`/api/v1${path}`]?.['get']?.responses[status]?.content['application/json'];
      const schema = content?.schema ?? {};
      return '$ref' in schema ? (document.components.schemas['Error'] ?? {}) : schema;
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
      expect(compileBody(schemaOf(path, status))(body)).toEqual(body);
    }
  });
});
