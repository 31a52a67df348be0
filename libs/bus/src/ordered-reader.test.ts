import { createLogger } from '@fleet/service-kit';
import { ServerProcess, waitFor } from '@fleet/testing';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type Bus, openBus } from './connection.ts';
import { OrderedReader, type OrderedReaderOptions, type StreamMessage } from './ordered-reader.ts';
import { ensureStreams, streamCreatedAt } from './streams.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(30_000);

const log = createLogger('stored-log-test', 'silent');
const toText = (message: StreamMessage): string => Buffer.from(message.data).toString();

describe('reading a log', () => {
  let nats: ServerProcess;
  let bus: Bus;
  const running: OrderedReader[] = [];

  beforeEach(async () => {
    nats = await (await ServerProcess.nats()).start();
    bus = await openBus(`nats://127.0.0.1:${nats.port}`, { name: 'stored-log-test', log });
    await ensureStreams(await bus.jetstreamManager(), { replicas: 1 });
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((each) => each.stop()));
    await bus.close();
    await nats.remove();
  });

  const publish = (text: string, partition = 0) => bus.js.publish(`telemetry.${partition}`, Buffer.from(text));
  function read(handler: OrderedReaderOptions['handler'], more: Partial<OrderedReaderOptions> = {}): OrderedReader {
    const reader = new OrderedReader(bus, {
      stream: 'TELEMETRY',
      subject: 'telemetry.0',
      afterSequence: 0,
      handler,
      onError: () => undefined,
      ...more,
    });
    running.push(reader);
    return reader;
  }

  it('reads stored and new messages of its subject in order from an offset', async () => {
    const first = await publish('a');
    await publish('elsewhere', 1);
    await publish('b');
    const all: string[] = [];
    const later: string[] = [];
    read(async (batch) => void all.push(...batch.map(toText)));
    read(async (batch) => void later.push(...batch.map(toText)), { afterSequence: first.seq });
    await waitFor(() => all.length === 2 && later.length === 1);
    await publish('c');
    await waitFor(() => all.length === 3 && later.length === 2);
    expect(all).toEqual(['a', 'b', 'c']);
    expect(later).toEqual(['b', 'c']);
  });

  it('starts at a timestamp', async () => {
    await publish('old');
    const received: StreamMessage[] = [];
    await waitFor(async () => {
      await publish('new');
      return true;
    });
    const { messages } = (await (await bus.jetstreamManager()).streams.info('TELEMETRY')).state;
    read(async (batch) => void received.push(...batch), { sinceMs: Date.now() - 60_000 });
    await waitFor(() => received.length === messages);
    expect(received.map(toText)).toEqual(['old', 'new']);
    expect(Math.abs((received[0]?.storedAtMs ?? 0) - Date.now())).toBeLessThan(60_000);
  });

  it('repeats a failed batch, and processes nothing before it succeeds', async () => {
    await publish('1');
    const received: string[] = [];
    let failures = 2;
    read(
      async (batch) => {
        const [message] = batch;
        if (failures > 0) {
          failures -= 1;
          throw new Error('not now');
        }
        if (message !== undefined) received.push(toText(message));
      },
      { maxMessages: 1 },
    );
    await publish('2');
    await waitFor(() => received.length === 2);
    expect(received).toEqual(['1', '2']);
  });

  it('processes a backlog larger than its buffer, each message once and in order', async () => {
    const count = 6_000;
    const sent: Promise<unknown>[] = [];
    for (let i = 0; i < count; i += 1) {
      sent.push(publish(String(i)));
      if (sent.length === 500) await Promise.all(sent.splice(0));
    }
    await Promise.all(sent);
    const received: number[] = [];
    read(async (batch) => {
      received.push(...batch.map((message) => Number(toText(message))));
      await new Promise(setImmediate);
    });
    await waitFor(() => received.length >= count);
    expect(received).toEqual(Array.from({ length: count }, (_unused, i) => i));
  });

  it('continues at its offset when the broker is back', async () => {
    const received: string[] = [];
    read(async (batch) => void received.push(...batch.map(toText)));
    await publish('before');
    await waitFor(() => received.length === 1);
    await nats.kill();
    await waitFor(() => !bus.isUp());
    await nats.start();
    await waitFor(() => bus.isUp());
    await publish('after');
    await waitFor(() => received.length === 2);
    expect(received).toEqual(['before', 'after']);
  });

  it('distinguishes a recreated stream from the previous one', async () => {
    const before = await streamCreatedAt(bus, 'TELEMETRY');
    expect(before).toEqual(expect.any(String));
    const manager = await bus.jetstreamManager();
    await manager.streams.delete('TELEMETRY');
    expect(await streamCreatedAt(bus, 'TELEMETRY')).toBeNull();
    await ensureStreams(manager, { replicas: 1 });
    expect(await streamCreatedAt(bus, 'TELEMETRY')).not.toBe(before);
  });
});
