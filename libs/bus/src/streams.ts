import { type ConfigOf, dayMs, envSchema, hourMs } from '@fleet/service-kit';
import {
  DiscardPolicy,
  type JetStreamManager,
  type StreamConfig as NatsStreamConfig,
  nanos,
  RetentionPolicy,
  StorageType,
} from 'nats';
import type { Bus } from './connection.ts';
import { isNotFound } from './jetstream-errors.ts';

/** JetStream streams of the product. Retention is by age: acknowledged messages remain for consumers that reconnect. */
const streams: readonly Partial<NatsStreamConfig>[] = [
  {
    name: 'TELEMETRY',
    subjects: ['telemetry.*'],
    description: 'raw location reports in batches, by partition',
    max_age: nanos(3 * dayMs),
  },
  {
    name: 'EVENTS',
    subjects: ['event.>'],
    description: 'all other uplink messages of terminals',
    max_age: nanos(3 * dayMs),
  },
  {
    name: 'UPLOADS',
    subjects: ['upload.*.closed'],
    description: 'clip uploads with a final status',
    max_age: nanos(3 * dayMs),
  },
  {
    name: 'NOTIFICATIONS',
    subjects: ['notification.*.*'],
    description: 'recorded notifications, for delivery to people and programs',
    max_age: nanos(7 * dayMs),
    // A publisher that repeats a notification after a crash does so within this time.
    duplicate_window: nanos(hourMs),
  },
  {
    name: 'WEBHOOKS',
    subjects: ['webhook.due.*'],
    description: 'due attempts of webhook deliveries',
    retention: RetentionPolicy.Workqueue,
    duplicate_window: nanos(hourMs),
  },
  {
    name: 'MEDIA',
    subjects: ['media-file.*.stored'],
    description: 'stored files of terminals: pictures, alarm attachments',
    max_age: nanos(7 * dayMs),
    duplicate_window: nanos(hourMs),
  },
  {
    name: 'ATTACHMENTS',
    subjects: ['attachments.wanted.*'],
    description: 'alarms whose attachments are to be requested from terminals',
    retention: RetentionPolicy.Workqueue,
    max_age: nanos(3 * dayMs),
    duplicate_window: nanos(hourMs),
  },
  {
    name: 'DATA_USAGE',
    subjects: ['data-usage.*'],
    description: 'bytes that cameras sent as video, to be counted',
    retention: RetentionPolicy.Workqueue,
    max_age: nanos(7 * dayMs),
  },
  {
    name: 'AUDIT',
    subjects: ['audit.*'],
    description: 'audit entries to be stored',
    // It contains personal addresses: stored entries are deleted immediately.
    retention: RetentionPolicy.Workqueue,
    max_age: nanos(7 * dayMs),
    duplicate_window: nanos(hourMs),
  },
];

/** Where the broker stores a new stream. */
interface StreamOptions {
  readonly replicas: number;
  /** Tags that each server of the stream must have. */
  readonly placementTags?: readonly string[];
}

/** Settings of the services that create streams. */
export const streamEnv = envSchema({
  JETSTREAM_REPLICAS: {
    type: 'integer',
    minimum: 1,
    maximum: 5,
    default: 1,
    description: 'replicas of streams that this service creates; 3 in production',
  },
  JETSTREAM_PLACEMENT_TAGS: {
    type: 'string',
    optional: true,
    pattern: '^[^\\s,]+(,[^\\s,]+)*$',
    description: 'tags of the NATS servers that store streams, separated by commas; all servers if absent',
  },
});

/** Settings of `streamEnv`. */
export type StreamConfig = ConfigOf<typeof streamEnv>;

/** Returns the options of `ensureStreams`. */
export const toStreamOptions = (config: StreamConfig): StreamOptions => ({
  replicas: config.JETSTREAM_REPLICAS,
  placementTags: config.JETSTREAM_PLACEMENT_TAGS?.split(',') ?? [],
});

/** Creates missing streams; existing ones retain the settings of an operator. Idempotent: any service may call it. */
export async function ensureStreams(
  manager: JetStreamManager,
  { replicas, placementTags = [] }: StreamOptions,
): Promise<void> {
  for (const stream of streams) {
    try {
      await manager.streams.info(stream.name ?? '');
    } catch (error) {
      if (!isNotFound(error)) throw error;
      await manager.streams.add({
        storage: StorageType.File,
        retention: RetentionPolicy.Limits,
        discard: DiscardPolicy.Old,
        num_replicas: replicas,
        ...(placementTags.length === 0 ? {} : { placement: { cluster: '', tags: [...placementTags] } }),
        // Newer servers default to 1,000 consumers.
        max_consumers: -1,
        ...stream,
      });
    }
  }
}

/** Metadata of a restored stream: when the stream of its backup was created. */
export const createdAtMetadata = 'fleet_created_at';

/**
 * Returns when a stream was created, or null without it: sequence numbers are meaningless in a recreated stream. A
 * restored stream keeps the time.
 */
export async function streamCreatedAt(bus: Bus, stream: string): Promise<string | null> {
  try {
    const { config, created } = await (await bus.jetstreamManager()).streams.info(stream);
    return config.metadata?.[createdAtMetadata] ?? created;
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}
