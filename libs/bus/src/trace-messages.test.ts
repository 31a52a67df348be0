import { createLogger, type TraceSpan, tracer } from '@fleet/service-kit';
import { startTracing, stopTracing } from '@fleet/service-kit/testing';
import { OtlpReceiver, type ReceivedSpan, ServerProcess, waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Type } from 'typebox';
import { type Bus, openBus } from './connection.ts';
import { defineEvent, defineRequest, publish, request, serve, subscribe } from './contract.ts';
import { DeviceCommandClient } from './device-command-client.ts';
import { DeviceCommandServer } from './device-command-server.ts';
import { DurableConsumer, RetryLater } from './durable-consumer.ts';
import { JetStreamPublisher } from './jetstream-publisher.ts';
import { OrderedReader, type StreamMessage } from './ordered-reader.ts';
import { publishToStream } from './publish-to-stream.ts';
import { ensureStreams } from './streams.ts';
import { replyWith } from './testing/device-replies.ts';
import { toDestination } from './trace-messages.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

const log = createLogger('test', 'silent');
const waitMs = 30_000;
const imei = '139000000001';
const failed: unknown[] = [];
const onError = (error: unknown): void => void failed.push(error);

let nats: ServerProcess;
let bus: Bus;
let collector: OtlpReceiver;
const originalEnv = process.env;
const stops: (() => unknown)[] = [];

beforeAll(async () => {
  nats = await (await ServerProcess.nats()).start();
  bus = await openBus(`nats://127.0.0.1:${nats.port}`, { name: 'test', log });
  await ensureStreams(await bus.jetstreamManager(), { replicas: 1 });
});
afterAll(async () => {
  await bus.close();
  await nats.remove();
});
beforeEach(async () => {
  failed.length = 0;
  collector = await OtlpReceiver.start();
  process.env = { ...originalEnv, ...collector.settings };
});
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
  await stopTracing(log);
  await collector.stop();
  process.env = originalEnv;
});

const startTestTracing = (): Promise<void> => startTracing('test', log, process.env);

/** Runs work in a span without a parent. */
async function runInRoot<T>(work: (span: TraceSpan) => T | Promise<T>): Promise<T> {
  const span = tracer?.startSpan({ kind: 'internal', name: 'root' });
  if (span === undefined || tracer === undefined) throw new Error('tracing is off');
  return tracer.runInSpan(span, async () => work(span));
}

/** Waits for the span with this name; returns the names from the first span of its trace to it. */
async function waitForPath(name: string): Promise<string[]> {
  const find = (): ReceivedSpan | undefined => collector.spans.find((span) => span.name === name);
  const isComplete = (): boolean => {
    const span = find();
    return span !== undefined && collector.findChain(span).at(-1)?.parentSpanId === '';
  };
  await waitFor(isComplete, `the span ${name}`, waitMs);
  return collector
    .findChain(find() as ReceivedSpan)
    .map((span) => span.name)
    .toReversed();
}

it.each([
  ['device.139000000001.command', 'device.*.command'],
  ['event.139000000001.0801', 'event.*.*'],
  ['jt808-gateway.ping', 'jt808-gateway.ping'],
  ['notification.17.none', 'notification.*.none'],
])('the destination of %s is %s', (subject, destination) => {
  expect(toDestination(subject)).toBe(destination);
});

describe('a trace over NATS', () => {
  const double = defineRequest({
    subject: 'test.double',
    request: Type.Object({ n: Type.Integer() }),
    reply: Type.Object({ n: Type.Integer() }),
  });
  const happened = defineEvent({ subject: 'test.happened', schema: Type.Object({}) });

  it('leads from a request to its handler, and to what that publishes', async () => {
    await startTestTracing();
    const events = subscribe(bus, happened, onError, () => undefined);
    const served = serve(bus, double, { queue: 'test', onError }, async ({ n }) => {
      publish(bus, happened, {});
      return { n: n * 2 };
    });
    stops.push(
      () => served.stop(),
      () => events.stop(),
    );
    await bus.flush();
    expect(await runInRoot(() => request(bus, double, { n: 4 }, { timeoutMs: waitMs }))).toEqual({ n: 8 });
    expect(await waitForPath('process test.happened')).toEqual([
      'root',
      'request test.double',
      'process test.double',
      'publish test.happened',
      'process test.happened',
    ]);
    const { attributes, kind } = collector.spans.find(({ name }) => name === 'process test.double') ?? {};
    expect(kind).toBe('consumer');
    expect(attributes).toEqual({
      'messaging.system': 'nats',
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'messaging.destination.name': 'test.double',
    });
  });

  it('marks a request without a service as failed', async () => {
    await startTestTracing();
    await expect(runInRoot(() => request(bus, double, { n: 4 }, { timeoutMs: waitMs }))).rejects.toThrow('No service');
    await waitForPath('request test.double');
    expect(collector.spans.find(({ name }) => name === 'request test.double')).toMatchObject({
      isFailed: true,
      attributes: { 'error.type': 'noResponders' },
    });
  });

  it('leads from a command to its gateway', async () => {
    await startTestTracing();
    const server = new DeviceCommandServer(bus, { handler: async () => replyWith(0), onError });
    const client = new DeviceCommandClient(bus);
    stops.push(
      () => client.stop(),
      () => server.stop(),
    );
    server.subscribe(imei);
    await bus.flush();
    const command = { imei, command: { kind: 'wakeUp' }, correlationId: 'c', timeoutMs: waitMs } as const;
    const outcome = await runInRoot(() => client.send({ ...command, isClaimed: async () => true }));
    expect(outcome.kind).toBe('answered');
    const path = ['root', 'request device.*.command', 'process device.*.command'];
    expect(await waitForPath('process device.*.command')).toEqual(path);
  });

  it('begins with a message of a terminal, and leads through a stream to its handler', async () => {
    await startTestTracing();
    const publisher = new JetStreamPublisher(bus, { beginsTraces: true });
    let deliveries = 0;
    const consumer = new DurableConsumer(bus, {
      stream: 'EVENTS',
      durable: 'traced',
      subject: 'event.*.0801',
      onError,
      handler: async () => {
        deliveries += 1;
        if (deliveries === 1) throw new RetryLater(10);
        await publishToStream(bus, 'data-usage.1', Buffer.from('x'), { msgID: 'traced', timeout: waitMs });
      },
    });
    stops.push(
      () => consumer.stop(),
      () => publisher.stop(),
    );
    await new Promise((resolve) => publisher.publish(`event.${imei}.0801`, Buffer.from('picture'), resolve));
    await waitForPath('publish data-usage.*');
    await waitFor(
      () => collector.spans.filter(({ name }) => name === 'process event.*.*').length === 2,
      'both',
      waitMs,
    );
    // A message that waits has not failed.
    expect(collector.spans.filter(({ name, isFailed }) => name === 'process event.*.*' && isFailed)).toEqual([]);
    expect(JSON.stringify(collector.spans)).not.toContain(imei);
  });

  it('gives each message of a log its own trace', async () => {
    await startTestTracing();
    const publisher = new JetStreamPublisher(bus, { beginsTraces: true });
    const received: StreamMessage[] = [];
    const reader = new OrderedReader(bus, {
      stream: 'TELEMETRY',
      subject: 'telemetry.7',
      afterSequence: 0,
      onError,
      handler: async (messages) => void received.push(...messages),
    });
    stops.push(
      () => reader.stop(),
      () => publisher.stop(),
    );
    for (const text of ['a', 'b'])
      await new Promise((resolve) => publisher.publish('telemetry.7', Buffer.from(text), resolve));
    await waitFor(() => received.length === 2, 'both messages', waitMs);
    expect(received.map(({ trace }) => trace !== undefined)).toEqual([true, true]);
    expect(await waitForPath('process telemetry.*')).toEqual(['publish telemetry.*', 'process telemetry.*']);
    await waitFor(() => collector.spans.length === 4, 'all spans', waitMs);
    expect(new Set(collector.spans.map(({ traceId }) => traceId)).size).toBe(2);
  });

  it.each([
    ['while tracing is off', async () => undefined],
    ['outside of a trace', startTestTracing],
  ])('is absent %s', async (_when, start) => {
    await start();
    const publisher = new JetStreamPublisher(bus);
    const heads: boolean[] = [];
    const subscription = bus.nc.subscribe('event.2.0900', {
      callback: (_error, message) => heads.push(message.headers?.has('traceparent') ?? false),
    });
    stops.push(
      () => subscription.unsubscribe(),
      () => publisher.stop(),
    );
    await bus.flush();
    await new Promise((resolve) => publisher.publish('event.2.0900', Buffer.from('x'), resolve));
    await waitFor(() => heads.length === 1, 'the message', waitMs);
    expect(heads).toEqual([false]);
    await stopTracing(log);
    expect(collector.spans).toEqual([]);
  });
});
