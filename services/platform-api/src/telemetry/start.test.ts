import type { Bus } from '@fleet/bus';
import { createLogger, Lifecycle, Registry } from '@fleet/service-kit';
import { ServerProcess, waitFor } from '@fleet/testing';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { PlatformHarness } from '../testing/platform-harness.ts';
import { OffsetStore } from './offset-store.ts';
import { startTelemetry } from './start.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(120_000);

let redis: ServerProcess;
let harness: PlatformHarness;
beforeAll(async () => {
  redis = await (await ServerProcess.redis()).start();
  harness = await PlatformHarness.open({
    PLATFORM_ROLES: 'api',
    TELEMETRY_PARTITIONS: '1',
    REDIS_URL: `redis://127.0.0.1:${redis.port}`,
  });
});
afterAll(async () => {
  await harness.close();
  await redis.remove();
});

/** The broker, with a settable creation time of the stream TELEMETRY. */
class Broker {
  madeAt = '2026-01-31T00:00:00Z';
  /** Number of management requests that fail. */
  unanswered = 0;
  readonly #reconnected = new Set<() => void>();
  readonly bus: Bus = {
    ...harness.bus,
    onReconnect: (listener) => {
      this.#reconnected.add(listener);
      return () => this.#reconnected.delete(listener);
    },
    jetstreamManager: async () => {
      if (this.unanswered > 0) {
        this.unanswered -= 1;
        throw new Error('no leader yet');
      }
      return this.#manager();
    },
  };

  comeBack(): void {
    for (const listener of this.#reconnected) listener();
  }

  async #manager(): ReturnType<Bus['jetstreamManager']> {
    const manager = await harness.bus.jetstreamManager();
    const info = async (name: string) => ({ ...(await manager.streams.info(name)), created: this.madeAt });
    const streams = new Proxy(manager.streams, {
      get: (target, name) => {
        if (name === 'info') return info;
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
    return new Proxy(manager, { get: (target, name) => (name === 'streams' ? streams : Reflect.get(target, name)) });
  }
}

it.each([0, 1, 3])('reads a recreated stream from its beginning, also after %d failed requests', async (unanswered) => {
  const broker = new Broker();
  const lifecycle = new Lifecycle(createLogger('start-test', 'silent'));
  const deps = { ...harness.deps, bus: broker.bus };
  startTelemetry(deps, lifecycle, { registry: new Registry(), onReports: () => undefined });
  const readFrom = async (): Promise<string | undefined> =>
    (await new OffsetStore(harness.deps, 0).readApplied())?.stream;
  await waitFor(async () => (await readFrom()) === broker.madeAt);
  broker.madeAt = `2026-02-0${unanswered + 1}T00:00:00Z`;
  broker.unanswered = unanswered;
  broker.comeBack();
  await waitFor(async () => (await readFrom()) === broker.madeAt);
  await lifecycle.stop();
  expect(broker.unanswered).toBe(0);
});
