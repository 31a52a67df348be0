import {
  DiscardPolicy,
  type JetStreamManager,
  NatsError,
  nanos,
  RetentionPolicy,
  StorageType,
  type StreamConfig,
} from 'nats';

const hourMs = 3600 * 1000;
const dayMs = 24 * hourMs;

/** The JetStream streams of the product. Retention is by age: what is acknowledged stays for consumers that come back. */
const streams: readonly Partial<StreamConfig>[] = [
  {
    name: 'TELEMETRY',
    subjects: ['telemetry.*'],
    description: 'raw location reports in batches, by partition',
    max_age: nanos(3 * dayMs),
  },
  {
    name: 'EVENTS',
    subjects: ['event.>'],
    description: 'everything else that terminals say on their own',
    max_age: nanos(3 * dayMs),
  },
  {
    name: 'UPLOADS',
    subjects: ['upload.*.closed'],
    description: 'clip uploads that have reached a final status',
    max_age: nanos(3 * dayMs),
  },
  {
    name: 'NOTIFICATIONS',
    subjects: ['notification.*.*'],
    description: 'notifications on record, for whoever tells people and programs of them',
    max_age: nanos(7 * dayMs),
    // Whoever raises one again after a crash does so within this time.
    duplicate_window: nanos(hourMs),
  },
  {
    name: 'WEBHOOKS',
    subjects: ['webhook.due.*'],
    description: 'attempts of webhook deliveries that are due',
    retention: RetentionPolicy.Workqueue,
    duplicate_window: nanos(hourMs),
  },
  {
    name: 'MEDIA',
    subjects: ['media-file.*.stored'],
    description: 'files of terminals that are stored: pictures, attachments of alarms',
    max_age: nanos(7 * dayMs),
    duplicate_window: nanos(hourMs),
  },
  {
    name: 'ATTACHMENTS',
    subjects: ['attachments.wanted.*'],
    description: 'alarms whose attachments terminals are to be asked for',
    retention: RetentionPolicy.Workqueue,
    max_age: nanos(3 * dayMs),
    duplicate_window: nanos(hourMs),
  },
  {
    name: 'AUDIT',
    subjects: ['audit.*'],
    description: 'what is to be noted in the audit log',
    // It has addresses of people: what is noted goes at once.
    retention: RetentionPolicy.Workqueue,
    max_age: nanos(7 * dayMs),
    duplicate_window: nanos(hourMs),
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
        storage: StorageType.File,
        retention: RetentionPolicy.Limits,
        discard: DiscardPolicy.Old,
        num_replicas: options.replicas,
        // Newer servers allow 1,000 consumers unless told otherwise.
        max_consumers: -1,
        ...stream,
      });
    }
  }
}
