import { describe, expect, it } from '@jest/globals';
import { adminRoutes, listen } from './admin.ts';
import { createApp } from './api.ts';
import { Lifecycle } from './lifecycle.ts';
import { createLogger } from './log.ts';
import { createMetrics } from './metrics.ts';

const log = createLogger('test', 'silent');

describe('adminRoutes', () => {
  it('say that the process lives, whether it is ready, and its figures', async () => {
    const lifecycle = new Lifecycle(log);
    let works = true;
    const app = createApp();
    app.use(
      adminRoutes(lifecycle, createMetrics('test'), {
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
    await admin.close();
  });

  it('wait for what replicas share to work once, and only report it then', async () => {
    const works = { bus: true, database: false };
    const app = createApp();
    const [checks, backends] = [{ bus: () => works.bus }, { database: () => works.database }];
    app.use(adminRoutes(new Lifecycle(log), createMetrics('test'), checks, backends));
    const admin = await listen(app, { host: '127.0.0.1', port: 0 });
    const get = async (path: string) => fetch(`http://127.0.0.1:${admin.port}${path}`);
    const ready = async () => {
      const answer = await get('/readyz');
      const { checks: shown } = (await answer.json()) as { checks: Record<string, boolean> };
      return [answer.status, shown];
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
