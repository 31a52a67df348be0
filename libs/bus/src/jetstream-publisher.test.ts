import { createLogger } from '@fleet/service-kit';
import { ServerProcess, waitFor } from '@fleet/testing';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type Bus, openBus } from './connection.ts';
import { JetStreamPublisher } from './jetstream-publisher.ts';
import { ensureStreams } from './streams.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(30_000);

const log = createLogger('stored-publisher-test', 'silent');

describe('publishing until stored', () => {
  let nats: ServerProcess;
  let bus: Bus;

  beforeEach(async () => {
    nats = await (await ServerProcess.nats()).start();
    bus = await openBus(`nats://127.0.0.1:${nats.port}`, { name: 'stored-publisher-test', log });
  });
  afterEach(async () => {
    await bus.close();
    await nats.remove();
  });

  const streams = async () => ensureStreams(await bus.jetstreamManager(), { replicas: 1 });
  const storedCount = async () => (await (await bus.jetstreamManager()).streams.info('TELEMETRY')).state.messages;

  it('calls back once for each message that JetStream stored', async () => {
    await streams();
    const publisher = new JetStreamPublisher(bus);
    const results: boolean[] = [];
    for (let i = 0; i < 50; i += 1)
      expect(publisher.publish('telemetry.0', Buffer.from([i]), (stored) => results.push(stored))).toBe(true);
    expect([publisher.pending, publisher.pendingBytes]).toEqual([50, 50]);
    await publisher.flush(5_000);
    expect(results).toEqual(Array.from({ length: 50 }, () => true));
    expect([publisher.pending, publisher.pendingBytes, await storedCount()]).toEqual([0, 0, 50]);
    publisher.stop();
  });

  it('loses no message published while the broker is down', async () => {
    await streams();
    const publisher = new JetStreamPublisher(bus, { ackTimeoutMs: 1_000 });
    let stored = 0;
    const publish = () => publisher.publish('telemetry.1', Buffer.from('x'), (done) => (stored += done ? 1 : 0));
    publish();
    await nats.kill();
    for (let i = 0; i < 20; i += 1) publish();
    await waitFor(() => !bus.isUp());
    for (let i = 0; i < 20; i += 1) publish();
    expect(publisher.pending).toBeGreaterThanOrEqual(40);
    await nats.start();
    await waitFor(() => stored === 41);
    expect(await storedCount()).toBeGreaterThanOrEqual(41);
    publisher.stop();
  }, 20_000);

  it('continues once a missing stream is created, and reports the reason of the wait', async () => {
    const rejections: string[] = [];
    const publisher = new JetStreamPublisher(bus, { onRejected: (detail) => rejections.push(detail) });
    const results: boolean[] = [];
    publisher.publish('telemetry.2', Buffer.from('x'), (stored) => results.push(stored));
    await waitFor(() => rejections.length > 0);
    await streams();
    await waitFor(() => results.length === 1);
    expect(results).toEqual([true]);
    publisher.stop();
  }, 20_000);

  it('gives up after its time-out, rejects messages above its limit, and ends pending ones when it stops', async () => {
    const short = new JetStreamPublisher(bus, { ackTimeoutMs: 100, timeoutMs: 300, maxBytes: 10 });
    const results: string[] = [];
    const recordResult = (name: string) => (stored: boolean) => results.push(`${name} ${String(stored)}`);
    expect(short.publish('telemetry.3', Buffer.alloc(8), recordResult('first'))).toBe(true);
    expect(short.publish('telemetry.3', Buffer.alloc(3), recordResult('too much'))).toBe(false);
    await waitFor(() => results.length === 1);
    expect(results).toEqual(['first false']);
    short.publish('telemetry.3', Buffer.alloc(8), recordResult('stopped'));
    short.stop();
    expect(results).toEqual(['first false', 'stopped false']);
  }, 20_000);

  it('rejects a message larger than the broker accepts immediately', async () => {
    await streams();
    const publisher = new JetStreamPublisher(bus);
    const results: boolean[] = [];
    publisher.publish('telemetry.4', Buffer.alloc(2 * 1024 * 1024), (stored) => results.push(stored));
    await waitFor(() => results.length === 1);
    expect([results, publisher.pendingBytes]).toEqual([[false], 0]);
    publisher.stop();
  }, 20_000);
});
