import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Type } from 'typebox';
import { createLogger } from '../runtime/log.ts';
import { createMetrics } from '../runtime/metrics.ts';
import { listen } from './admin.ts';
import { createApi } from './api.ts';
import { createApp } from './app.ts';
import { createErrorHandlers } from './error-handlers.ts';
import { AppError } from './errors.ts';
import { defineRoute } from './route.ts';

const log = createLogger('test', 'silent');
const common = { method: 'get', summary: 's', errors: {} } as const;

const routes = [
  defineRoute({
    ...common,
    path: '/vehicles/:id',
    operationId: 'getVehicle',
    params: Type.Object({ id: Type.Integer() }),
    handle: async ({ params }) => params,
  }),
  defineRoute({
    ...common,
    path: '/failing',
    operationId: 'fail',
    handle: async () => {
      throw new AppError('unavailable', 'The database is unavailable.');
    },
  }),
  defineRoute({
    ...common,
    path: '/endless',
    operationId: 'stream',
    handle: async ({ context }) => {
      context.response.type('video/x-flv').write('FLV');
      await once(context.response, 'close');
      return undefined;
    },
  }),
];

const metrics = createMetrics('test');
let server: Awaited<ReturnType<typeof listen>>;
let url = '';

beforeAll(async () => {
  const app = createApp({ metrics });
  // A second port of the same process.
  createApp({ metrics });
  app.use('/api', createApi({ log, routes, bodyLimitBytes: 1024 }), ...createErrorHandlers(log));
  server = await listen(app, { host: '127.0.0.1', port: 0 });
  url = `http://127.0.0.1:${server.port}`;
});

afterAll(async () => {
  server.server.closeAllConnections();
  await server.close();
});

/** Returns the number of requests with these labels. */
async function countRequests(route: string, status: number): Promise<number> {
  const text = await metrics.metrics();
  const pattern = `^http_request_duration_seconds_count\\{(?=.*method="GET")(?=.*route="${route}")(?=.*status="${status}").*\\} (\\d+)$`;
  return Number(new RegExp(pattern, 'm').exec(text)?.[1] ?? 0);
}

describe('the durations of requests', () => {
  it('count requests by the pattern of their route, not by their path', async () => {
    await Promise.all([1, 2, 3].map((id) => fetch(`${url}/api/vehicles/${id}`)));
    expect(await countRequests('/api/vehicles/:id', 200)).toBe(3);
    expect(await metrics.metrics()).not.toContain('/vehicles/1');
  });

  it('count rejected and failed requests of a route by their status', async () => {
    await fetch(`${url}/api/vehicles/x`);
    await fetch(`${url}/api/failing`);
    expect(await countRequests('/api/vehicles/:id', 400)).toBe(1);
    expect(await countRequests('/api/failing', 503)).toBe(1);
  });

  it('count all unknown paths together', async () => {
    await fetch(`${url}/unknown/1`);
    await fetch(`${url}/unknown/2`);
    expect(await countRequests('other', 404)).toBe(2);
  });

  it('count a stream when it begins, while it is open', async () => {
    const stop = new AbortController();
    const response = await fetch(`${url}/api/endless`, { signal: stop.signal });
    expect(response.status).toBe(200);
    expect(await countRequests('/api/endless', 200)).toBe(1);
    stop.abort();
  });
});
