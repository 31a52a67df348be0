import { createLogger } from '@fleet/service-kit';
import { NatsCluster, waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Bus, openBus } from './connection.ts';
import { DurableConsumer } from './durable-consumer.ts';
import { JetStreamPublisher } from './jetstream-publisher.ts';
import { OrderedReader } from './ordered-reader.ts';
import { ensureStreams } from './streams.ts';
import { telemetrySubject } from './telemetry.ts';

// Real servers and elections on a machine that may be busy.
jest.setTimeout(240_000);

const timeoutMs = 60_000;
const log = createLogger('nats-cluster-test', 'silent');

describe('three NATS servers', () => {
  let cluster: NatsCluster;
  let bus: Bus;

  beforeAll(async () => {
    cluster = await NatsCluster.start();
    bus = await openBus(cluster.url, { name: 'nats-cluster-test', log });
    await ensureStreams(await bus.jetstreamManager(), { replicas: 3 });
  });
  afterAll(async () => {
    await bus?.close();
    await cluster?.remove();
  });

  it('store each stream three times', async () => {
    const manager = await bus.jetstreamManager();
    const { config, cluster: placement } = await manager.streams.info('TELEMETRY');
    expect(config.num_replicas).toBe(3);
    expect(placement?.replicas).toHaveLength(2);
  });

  it.each([0, 1, 2])(
    'lose nothing that was confirmed when server %i is killed, and each reader gets it all',
    async (killed) => {
      const subject = telemetrySubject(killed);
      const stored = new Set<string>();
      const handled = new Set<string>();
      const read: string[] = [];
      const onError = (): void => undefined;
      const publisher = new JetStreamPublisher(bus, { ackTimeoutMs: 1_000 });
      const durable = new DurableConsumer(bus, {
        stream: 'TELEMETRY',
        durable: `test-${killed}`,
        subject,
        handler: async ({ data }) => void handled.add(Buffer.from(data).toString()),
        onError,
      });
      const reader = new OrderedReader(bus, {
        stream: 'TELEMETRY',
        subject,
        afterSequence: 0,
        handler: async (messages) => void read.push(...messages.map(({ data }) => Buffer.from(data).toString())),
        onError,
      });
      let sent = 0;
      const publish = (): void => {
        const text = `${killed}/${sent}`;
        sent += 1;
        publisher.publish(subject, Buffer.from(text), (isStored) => {
          if (isStored) stored.add(text);
        });
      };
      const load = setInterval(publish, 5);
      try {
        await waitFor(() => handled.size > 20 && read.length > 20, 'both readers to start', timeoutMs);
        await cluster.kill(killed);
        const { size: before } = stored;
        await waitFor(() => stored.size > before + 200, 'further confirmations', timeoutMs);
        clearInterval(load);
        await publisher.flush(timeoutMs);
        const isComplete = (): boolean => [...stored].every((text) => handled.has(text) && read.includes(text));
        await waitFor(isComplete, 'both readers to have read everything', timeoutMs);
        expect(stored.size).toBe(sent);
      } finally {
        clearInterval(load);
        publisher.stop();
        await Promise.all([durable.stop(), reader.stop()]);
        await cluster.restart(killed);
      }
    },
  );
});

describe('NATS servers with tags', () => {
  it('store streams only where all tags match', async () => {
    const cluster = await NatsCluster.start([['disk:fast', 'zone:a'], ['zone:b'], ['zone:c']]);
    const bus = await openBus(cluster.url, { name: 'nats-tags-test', log });
    try {
      const manager = await bus.jetstreamManager();
      await ensureStreams(manager, { replicas: 1, placementTags: ['disk:fast'] });
      const { cluster: placement, config } = await manager.streams.info('EVENTS');
      expect(config.placement?.tags).toEqual(['disk:fast']);
      expect(placement?.leader).toBe('n0');
    } finally {
      await bus.close();
      await cluster.remove();
    }
  });
});
