import { AppError, createLogger } from '@fleet/service-kit';
import { ServerProcess } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Type } from 'typebox';
import { type Bus, openBus } from './connection.ts';
import { pingService, servePing } from './ping.ts';
import { callUseCase, defineUseCase, serveUseCase } from './use-case.ts';

jest.setTimeout(30_000);

const log = createLogger('test', 'silent');
const halve = defineUseCase({
  subject: 'test.halve',
  request: Type.Object({ n: Type.Integer() }),
  result: Type.Object({ half: Type.Number(), correlationId: Type.String() }),
});
const errors: unknown[] = [];
const options = { queue: 'test', onError: (error: unknown) => void errors.push(error) };

let nats: ServerProcess;
let bus: Bus;
beforeAll(async () => {
  nats = await (await ServerProcess.nats()).start();
  bus = await openBus(`nats://127.0.0.1:${nats.port}`, { name: 'test', log });
});
afterAll(async () => {
  await bus.close();
  await nats.remove();
});

describe('a use case over the bus', () => {
  const callHalve = (n: number) => callUseCase(bus, halve, { n }, { timeoutMs: 5_000, correlationId: 'c-1' });

  it('returns the result, an AppError with code and message, and hides every other error', async () => {
    const served = serveUseCase(bus, halve, options, async ({ n }, { correlationId }) => {
      if (n === 0) throw new AppError('not_found', 'There is no half of nothing.');
      if (n < 0) throw new Error('secret');
      return { half: n / 2, correlationId };
    });
    await expect(callHalve(3)).resolves.toEqual({ half: 1.5, correlationId: 'c-1' });
    await expect(callHalve(0)).rejects.toMatchObject({
      name: 'AppError',
      code: 'not_found',
      status: 404,
      message: 'There is no half of nothing.',
    });
    await expect(callHalve(-1)).rejects.toMatchObject({
      name: 'BusError',
      kind: 'failed',
      message: 'test.halve failed.',
    });
    expect(errors).toEqual([expect.objectContaining({ message: 'secret' })]);
    await served.stop();
    await expect(callHalve(3)).rejects.toMatchObject({ name: 'BusError', kind: 'noResponders' });
  });

  it('forwards the command id of the caller', async () => {
    const received: unknown[] = [];
    const served = serveUseCase(bus, halve, options, async ({ n }, { correlationId, command }) => {
      received.push(command);
      return { half: n / 2, correlationId };
    });
    const id = '0f'.repeat(16);
    for (const command of [undefined, { id, isRetry: false }, { id, isRetry: true }])
      await callUseCase(
        bus,
        halve,
        { n: 1 },
        { timeoutMs: 5_000, ...(command === undefined ? {} : { command: command }) },
      );
    expect(received).toEqual([undefined, { id, isRetry: false }, { id, isRetry: true }]);
    await served.stop();
  });
});

describe('a ping', () => {
  it('reports whether a replica of the service works', async () => {
    expect(await pingService(bus, 'nobody', 2_000)).toBe(false);
    let works = true;
    const replicas = [0, 1].map(() =>
      servePing(bus, 'some-service', { onError: options.onError, isWorking: () => works }),
    );
    expect(await pingService(bus, 'some-service', 2_000)).toBe(true);
    works = false;
    expect(await pingService(bus, 'some-service', 2_000)).toBe(false);
    await replicas[0]?.stop();
    works = true;
    expect(await pingService(bus, 'some-service', 2_000)).toBe(true);
    await replicas[1]?.stop();
    expect(await pingService(bus, 'some-service', 2_000)).toBe(false);
  });
});
