import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { waitFor } from '@fleet/testing';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Lifecycle } from '../runtime/lifecycle.ts';
import { createLogger } from '../runtime/log.ts';
import { createMetrics } from '../runtime/metrics.ts';
import { createAdminRouter, listen } from './admin.ts';
import { createApp } from './app.ts';

const log = createLogger('test', 'silent');

function startedLifecycle(): Lifecycle {
  const lifecycle = new Lifecycle(log);
  lifecycle.markStarted();
  return lifecycle;
}

describe('createAdminRouter', () => {
  it('reports liveness, readiness and metrics', async () => {
    const lifecycle = startedLifecycle();
    let works = true;
    const app = createApp();
    app.use(
      createAdminRouter(lifecycle, createMetrics('test'), {
        sync: () => works,
        async: async () => {
          if (!works) throw new Error('broken');
          return true;
        },
      }),
    );
    const admin = await listen(app, { host: '127.0.0.1', port: 0 });
    const get = async (path: string) => fetch(`http://127.0.0.1:${admin.port}${path}`);
    expect((await get('/livez')).status).toBe(200);
    expect(await (await get('/readyz')).json()).toEqual({
      ready: true,
      draining: false,
      checks: { sync: true, async: true },
    });
    works = false;
    const unready = await get('/readyz');
    expect([unready.status, await unready.json()]).toEqual([
      503,
      { ready: false, draining: false, checks: { sync: false, async: false } },
    ]);
    works = true;
    await lifecycle.stop();
    expect((await get('/readyz')).status).toBe(503);
    expect(await (await get('/metrics')).text()).toContain('service="test"');
    expect(await (await get('/metrics/descriptions')).json()).toContainEqual({
      name: 'service_check_up',
      help: '1 if a dependency works: the checks that /readyz reports',
      type: 'gauge',
      labelNames: ['check'],
    });
    await admin.close();
  });

  it('waits until shared backends have worked once, and only reports them afterwards', async () => {
    const works = { bus: true, database: false };
    const app = createApp();
    const [checks, backends] = [{ bus: () => works.bus }, { database: () => works.database }];
    app.use(createAdminRouter(startedLifecycle(), createMetrics('test'), checks, backends));
    const admin = await listen(app, { host: '127.0.0.1', port: 0 });
    const get = async (path: string) => fetch(`http://127.0.0.1:${admin.port}${path}`);
    const ready = async () => {
      const received = await get('/readyz');
      const { checks } = (await received.json()) as { checks: Record<string, boolean> };
      return [received.status, checks];
    };
    expect(await ready()).toEqual([503, { bus: true, database: false }]);
    works.database = true;
    expect(await ready()).toEqual([200, { bus: true, database: true }]);
    works.database = false;
    expect(await ready()).toEqual([200, { bus: true, database: false }]);
    const metrics = await (await get('/metrics')).text();
    expect(metrics).toContain('service_check_up{check="bus",service="test"} 1');
    expect(metrics).toContain('service_check_up{check="database",service="test"} 0');
    works.bus = false;
    expect(await ready()).toEqual([503, { bus: false, database: false }]);
    await admin.close();
  });
});

describe('a closing server', () => {
  afterEach(() => {
    jest.restoreAllMocks();
  });

  it('responds to requests that arrived during a pause of the process', async () => {
    const seen: string[] = [];
    const server = await listen(
      (request: IncomingMessage, response: ServerResponse) => {
        request.on('data', (chunk) => seen.push(String(chunk)));
        request.once('end', () => response.end('done'));
      },
      { host: '127.0.0.1', port: 0 },
    );
    const client = connect(server.port, '127.0.0.1');
    let received = '';
    client.on('data', (chunk) => {
      received += String(chunk);
    });
    client.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\na');
    await waitFor(() => seen.length === 1);
    const closed = Promise.all([server.close(), once(client, 'close')]);
    // The remaining bytes are in the kernel when the process continues, later than any time-out; its timers run before
    // its sockets.
    client.write('b');
    const nowMs = performance.now();
    jest.spyOn(performance, 'now').mockImplementation(() => nowMs + 3_600_000);
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 100);
    await closed;
    expect([seen, received.slice(0, 15)]).toEqual([['a', 'b'], 'HTTP/1.1 200 OK']);
  });
});
