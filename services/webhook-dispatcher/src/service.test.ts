import { openBus, pingService } from '@fleet/bus';
import { createLogger } from '@fleet/service-kit';
import { ServerProcess, testEnv } from '@fleet/testing';
import { describe, expect, it, jest } from '@jest/globals';
import { loadConfig } from './config.ts';
import { create } from './service.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(30_000);

const silent = createLogger('webhook-dispatcher-test', 'silent');

describe('webhook-dispatcher', () => {
  it('connects, reports health and metrics, replies to pings, and stops cleanly', async () => {
    const nats = await (await ServerProcess.nats()).start();
    const settings = {
      NATS_URL: `nats://127.0.0.1:${nats.port}`,
      REDIS_URL: testEnv('REDIS_URL'),
      MONGODB_URL: testEnv('MONGODB_URL'),
    };
    const service = await create(loadConfig({ ...settings, ADMIN_PORT: '0' }), { log: silent });
    const base = `http://127.0.0.1:${service.adminPort}`;
    const bus = await openBus(settings.NATS_URL, { name: 'webhook-dispatcher-test', log: silent });
    try {
      expect(await (await fetch(`${base}/livez`)).json()).toEqual({ live: true });
      expect(await (await fetch(`${base}/readyz`)).json()).toEqual({
        ready: true,
        draining: false,
        checks: { message_broker: true, state_store: true, database: true },
      });
      expect(await (await fetch(`${base}/metrics`)).text()).toContain('service="webhook-dispatcher"');
      const unknown = await fetch(`${base}/nothing`);
      expect([unknown.status, await unknown.json()]).toEqual([
        404,
        { status: 404, error: 'There is no GET /nothing.' },
      ]);
      expect(await pingService(bus, 'webhook-dispatcher', 2_000)).toBe(true);
    } finally {
      await bus.close();
      await service.stop();
      await nats.remove();
    }
    await expect(fetch(`${base}/livez`)).rejects.toThrow(/fetch failed/);
  });
});
