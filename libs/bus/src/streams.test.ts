import { createLogger } from '@fleet/service-kit';
import { ServerProcess } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Bus, openBus } from './connection.ts';
import { ensureStreams } from './streams.ts';
import { eventSubject, telemetrySubject } from './telemetry.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(30_000);

describe('JetStream streams', () => {
  let nats: ServerProcess;
  let bus: Bus;

  beforeAll(async () => {
    nats = await (await ServerProcess.nats()).start();
    const log = createLogger('streams-test', 'silent');
    bus = await openBus(`nats://127.0.0.1:${nats.port}`, { name: 'streams-test', log });
  });
  afterAll(async () => {
    await bus.close();
    await nats.remove();
  });

  it('are created by the first caller, also concurrently, and again without a change', async () => {
    const manager = await bus.jetstreamManager();
    await Promise.all(Array.from({ length: 4 }, () => ensureStreams(manager, { replicas: 1 })));
    const telemetry = await manager.streams.info('TELEMETRY');
    expect(telemetry.config).toMatchObject({
      subjects: ['telemetry.*'],
      storage: 'file',
      retention: 'limits',
      max_age: 3 * 24 * 3_600 * 1e9,
      num_replicas: 1,
    });
    expect((await manager.streams.info('EVENTS')).config.subjects).toEqual(['event.>']);
  });

  it('retain settings of an operator', async () => {
    const manager = await bus.jetstreamManager();
    await ensureStreams(manager, { replicas: 1 });
    await manager.streams.update('TELEMETRY', { max_age: 7 * 24 * 3_600 * 1e9 });
    await ensureStreams(manager, { replicas: 1 });
    expect((await manager.streams.info('TELEMETRY')).config.max_age).toBe(7 * 24 * 3_600 * 1e9);
  });

  it('store batches and events by their subjects', async () => {
    const manager = await bus.jetstreamManager();
    await ensureStreams(manager, { replicas: 1 });
    expect((await bus.js.publish(telemetrySubject(3), Buffer.from('a'))).stream).toBe('TELEMETRY');
    expect(eventSubject('13800138000', 0x0702)).toBe('event.13800138000.0702');
    expect((await bus.js.publish(eventSubject('13800138000', 0x0702), Buffer.from('b'))).stream).toBe('EVENTS');
  });
});
