import {
  DiscardPolicy,
  type JetStreamManager,
  NatsError,
  nanos,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from 'nats';

const day = 24 * 3600 * 1000;

/** The JetStream streams of the product. Retention is by age: what is acknowledged stays for consumers that come back. */
const streams: readonly Partial<StreamConfig>[] = [
  {
    name: 'TELEMETRY',
    subjects: ['telemetry.*'],
    description: 'raw location reports in batches, by partition',
    max_age: nanos(3 * day),
  },
  {
    name: 'EVENTS',
    subjects: ['event.>'],
    description: 'everything else that terminals say on their own',
    max_age: nanos(3 * day),
  },
  {
    name: 'UPLOADS',
    subjects: ['upload.*.closed'],
    description: 'clip uploads that have reached a final status',
    max_age: nanos(3 * day),
  },
];

/** Makes the streams that are missing; those that exist keep what an operator has set. Idempotent, any service may call it. */
export async function ensureStreams(manager: JetStreamManager, options: { replicas: number }): Promise<void> {
  for (const stream of streams) {
    try {
      await manager.streams.info(stream.name ?? '');
    } catch (error) {
      if (!(error instanceof NatsError) || error.code !== '404') throw error;
      await manager.streams.add({
        ...stream,
        storage: StorageType.File,
        retention: RetentionPolicy.Limits,
        discard: DiscardPolicy.Old,
        num_replicas: options.replicas,
        // Newer servers allow 1,000 consumers unless told otherwise.
        max_consumers: -1,
      });
    }
  }
}
