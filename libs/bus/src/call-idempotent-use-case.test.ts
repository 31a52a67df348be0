import { setTimeout as delay } from 'node:timers/promises';
import { createLogger } from '@fleet/service-kit';
import { ServerProcess, waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Type } from 'typebox';
import { callIdempotentUseCase } from './call-idempotent-use-case.ts';
import { type Bus, openBus } from './connection.ts';
import { type CommandIdentity, request } from './contract.ts';
import { defineUseCase, serveUseCase } from './use-case.ts';

jest.setTimeout(60_000);

const log = createLogger('test', 'silent');
const double = defineUseCase({
  subject: 'test.double',
  request: Type.Object({ n: Type.Integer() }),
  result: Type.Object({ twice: Type.Number() }),
});
const options = { queue: 'test', onError: () => undefined };

let nats: ServerProcess;
let caller: Bus;
let service: Bus;
let commands: CommandIdentity[];
const openTestBus = (name: string): Promise<Bus> => openBus(`nats://127.0.0.1:${nats.port}`, { name, log });
beforeAll(async () => {
  nats = await (await ServerProcess.nats()).start();
  caller = await openTestBus('caller');
});
afterAll(async () => {
  await caller?.close();
  await nats?.remove();
});
afterEach(() => service?.close());

/** Serves the use case; the first `hangingCount` calls never end. */
async function serveDouble(bus: Bus, hangingCount: number, durationMs = 0): Promise<void> {
  commands = [];
  let callCount = 0;
  serveUseCase(bus, double, options, async ({ n }, { command }) => {
    callCount += 1;
    if (command !== undefined) commands.push(command);
    if (callCount <= hangingCount) await new Promise(() => undefined);
    await delay(durationMs);
    return { twice: 2 * n };
  });
  await bus.nc.flush();
}

const callDouble = (timeoutMs = 30_000) => callIdempotentUseCase(caller, double, { n: 4 }, { timeoutMs });

describe('a call of an idempotent use case', () => {
  it('is repeated with the same command id within seconds if the service dies while it works', async () => {
    service = await openTestBus('first');
    await serveDouble(service, 1);
    const startedAtMs = performance.now();
    const result = callDouble();
    await waitFor(() => commands.length === 1, 'the first call');
    const [first] = commands;
    // Like a killed process: the connection ends and no reply follows.
    await service.close();
    service = await openTestBus('second');
    await serveDouble(service, 0);
    await expect(result).resolves.toEqual({ twice: 8 });
    expect(commands).toEqual([{ id: first?.id, isRetry: true }]);
    expect(performance.now() - startedAtMs).toBeLessThan(20_000);
  });

  it('is not repeated while the service sends heartbeats, however long it works', async () => {
    service = await openTestBus('slow');
    await serveDouble(service, 0, 7_000);
    await expect(callDouble()).resolves.toEqual({ twice: 8 });
    expect(commands).toHaveLength(1);
  });

  it('fails at once without a service, and at its time-out with one that never ends', async () => {
    await expect(callDouble()).rejects.toMatchObject({ name: 'BusError', kind: 'noResponders' });
    service = await openTestBus('hanging');
    await serveDouble(service, 10);
    await expect(callDouble(1_500)).rejects.toMatchObject({ name: 'BusError', kind: 'timedOut' });
    expect(commands).toHaveLength(1);
  });

  it('waits for a service that starts soon, if the caller wants that', async () => {
    const result = callIdempotentUseCase(caller, double, { n: 4 }, { timeoutMs: 30_000, isServiceAwaited: true });
    await delay(500);
    service = await openTestBus('late');
    await serveDouble(service, 0);
    await expect(result).resolves.toEqual({ twice: 8 });
  });

  it('fails as lost if the service does not return before the time-out', async () => {
    service = await openTestBus('dying');
    await serveDouble(service, 1);
    const failure = callDouble(6_000).catch((error: unknown) => error);
    await waitFor(() => commands.length === 1, 'the call');
    await service.close();
    expect(await failure).toMatchObject({ name: 'BusError' });
  });
});

describe('a request without interest in heartbeats', () => {
  it('receives only its reply', async () => {
    service = await openTestBus('slow');
    await serveDouble(service, 0, 2_500);
    await expect(request(caller, double, { n: 1 }, { timeoutMs: 20_000 })).resolves.toEqual({
      ok: true,
      result: { twice: 2 },
    });
  });
});
