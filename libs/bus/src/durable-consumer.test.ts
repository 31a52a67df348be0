import { createLogger } from '@fleet/service-kit';
import { maxLagWithin, ServerProcess, waitFor } from '@fleet/testing';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type Bus, openBus } from './connection.ts';
import { DurableConsumer, type DurableConsumerOptions, type JetStreamMessage, RetryLater } from './durable-consumer.ts';
import { ensureStreams } from './streams.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

const log = createLogger('stored-consumer-test', 'silent');
const toText = (message: JetStreamMessage): string => Buffer.from(message.data).toString();

describe('reading stored messages', () => {
  let nats: ServerProcess;
  let bus: Bus;
  const running: DurableConsumer[] = [];

  beforeEach(async () => {
    nats = await (await ServerProcess.nats()).start();
    bus = await openBus(`nats://127.0.0.1:${nats.port}`, { name: 'stored-consumer-test', log });
    await ensureStreams(await bus.jetstreamManager(), { replicas: 1 });
  });
  afterEach(async () => {
    await Promise.all(running.splice(0).map((consumer) => consumer.stop()));
    await bus.close();
    await nats.remove();
  });

  const publish = (text: string, subject = 'event.1.1206') => bus.js.publish(subject, Buffer.from(text));
  function consume(handler: DurableConsumerOptions['handler'], more: Partial<DurableConsumerOptions> = {}) {
    const consumer = new DurableConsumer(bus, {
      stream: 'EVENTS',
      durable: 'test',
      subject: 'event.*.1206',
      handler,
      onError: () => undefined,
      retryDelayMs: 20,
      ...more,
    });
    running.push(consumer);
    return consumer;
  }
  const unacknowledged = async (): Promise<number> => {
    const info = await (await bus.jetstreamManager()).consumers.info('EVENTS', 'test');
    return info.num_ack_pending + info.num_pending;
  };

  it('receives earlier and later messages of its subject once', async () => {
    const received: string[] = [];
    await publish('before');
    await publish('another', 'event.1.0704');
    consume(async (message) => {
      received.push(`${toText(message)} ${message.subject} ${message.header('X')} ${message.deliveryCount}`);
    });
    await waitFor(() => received.length === 1);
    await publish('later', 'event.2.1206');
    await waitFor(async () => received.length === 2 && (await unacknowledged()) === 0);
    expect(received).toEqual(['before event.1.1206  1', 'later event.2.1206  1']);
  });

  it('redelivers a message until its handler succeeds, with the delivery count', async () => {
    const counts: number[] = [];
    const errors: unknown[] = [];
    consume(
      async ({ deliveryCount }) => {
        counts.push(deliveryCount);
        if (deliveryCount === 1) throw new RetryLater(50);
        if (deliveryCount < 4) throw new Error('not yet');
      },
      { onError: (error) => errors.push(error) },
    );
    await publish('x');
    await waitFor(async () => counts.length === 4 && (await unacknowledged()) === 0);
    expect(counts).toEqual([1, 2, 3, 4]);
    expect(errors).toHaveLength(2);
  });

  it('lets a handler take longer than the acknowledgement time-out', async () => {
    let counts: number[] = [];
    let release: () => void = () => undefined;
    let released: Promise<void> | undefined;
    consume(
      async ({ deliveryCount }) => {
        counts.push(deliveryCount);
        await released;
      },
      { ackWaitMs: 2_500 },
    );
    for (let pauseMs = Number.POSITIVE_INFINITY; pauseMs > 1_500; ) {
      counts = [];
      released = new Promise((resolve) => (release = resolve));
      await publish('slow');
      await waitFor(() => counts.length > 0);
      // A paused process cannot extend its acknowledgement time-out: that attempt proves nothing and is repeated.
      pauseMs = await maxLagWithin(6_000);
      release();
      await waitFor(async () => (await unacknowledged()) === 0);
    }
    expect(counts).toEqual([1]);
  });

  it('waits for running handlers when it stops, while another consumer continues', async () => {
    const received: string[] = [];
    let release: (() => void) | undefined;
    const first = consume(async (message) => {
      await new Promise<void>((resolve) => (release = resolve));
      received.push(`first ${toText(message)}`);
    });
    await publish('a');
    await waitFor(() => release !== undefined);
    const stopping = first.stop();
    await publish('b');
    release?.();
    await stopping;
    expect([received, first.inFlight]).toEqual([['first a'], 0]);
    consume(async (message) => void received.push(`second ${toText(message)}`));
    await waitFor(() => received.length === 2);
    expect(received).toEqual(['first a', 'second b']);
  });

  it('continues after a broker crash with stored messages that were not acknowledged', async () => {
    const received = new Set<string>();
    let isFailing = true;
    consume(
      async (message) => {
        if (isFailing) throw new Error('the database is unavailable');
        received.add(toText(message));
      },
      { ackWaitMs: 2_000 },
    );
    for (let i = 0; i < 20; i += 1) await publish(`before ${i}`);
    await nats.kill();
    await waitFor(() => !bus.isUp());
    isFailing = false;
    await nats.start();
    await waitFor(() => bus.isUp());
    await waitFor(async () => (await publish('after').catch(() => undefined)) !== undefined);
    await waitFor(() => received.size === 21);
    expect(received).toContain('after');
  });

  it('recreates a deleted consumer and starts once its stream exists', async () => {
    const manager = await bus.jetstreamManager();
    await manager.streams.delete('EVENTS');
    const received: string[] = [];
    const errors: unknown[] = [];
    consume(async (message) => void received.push(toText(message)), { onError: (error) => errors.push(error) });
    await waitFor(() => errors.length > 0);
    await ensureStreams(manager, { replicas: 1 });
    await publish('first');
    await waitFor(() => received.includes('first'));
    await manager.consumers.delete('EVENTS', 'test');
    await publish('second');
    await waitFor(() => received.includes('second'));
    // A new consumer does not know what was read: a message may be repeated, none is skipped.
    expect(received.join()).toMatch(/^first,(first,)?second$/);
  });
});
