import { ensureStreams, streamCreatedAt } from '@fleet/bus';
import { type Lifecycle, type Registry, retryUntilSuccess } from '@fleet/service-kit';
import { advanceOdometer } from '../domains/positions/odometer.ts';
import type { Deps } from '../platform/deps.ts';
import { rules } from '../rules/index.ts';
import { ruleSettingsOf } from '../rules/settings.ts';
import { AttachmentsQueue } from './attachments-queue.ts';
import { Fleet } from './fleet.ts';
import type { Returned } from './live.ts';
import { TelemetryMetrics } from './metrics.ts';
import { PartitionConsumer } from './partition-consumer.ts';
import { PartitionShare, type ShareTimes } from './partitions.ts';

/** The telemetry consumer of this replica. */
export interface Telemetry {
  /** Current partitions of this replica. */
  readonly partitions: () => ReadonlySet<number>;
}

/** Metrics, and replacements for tests. */
export interface TelemetryOptions {
  readonly registry: Registry;
  /** Called with terminals that reported, by canonical number, and those after a long silence. */
  readonly onHeard: (imeis: Iterable<string>, returned: Returned) => void;
  readonly times?: ShareTimes;
}

/** Starts the telemetry consumer: this replica processes its share of the partitions. */
export function startTelemetry(deps: Deps, lifecycle: Lifecycle, options: TelemetryOptions): Telemetry {
  const { bus, config, log, database } = deps;
  const fleet = new Fleet(deps);
  const metrics = new TelemetryMetrics(options.registry);
  const settings = ruleSettingsOf(config);
  const { onHeard } = options;
  const attachments = config.ATTACHMENTS_ENABLED ? new AttachmentsQueue(deps) : null;
  lifecycle.onStop('queue of attachments', () => attachments?.stop());
  let share: PartitionShare | undefined;
  let read = '';
  const begin = async (): Promise<void> => {
    await ensureStreams(await bus.jetstreamManager(), { replicas: config.JETSTREAM_REPLICAS });
    const stream = await streamCreatedAt(bus, 'TELEMETRY');
    if (stream === null) throw new Error('the stream TELEMETRY does not exist yet');
    if (share !== undefined && stream === read) return;
    // Sequence numbers of a recreated stream are meaningless: everything restarts.
    if (share !== undefined) log.warn('the stream TELEMETRY was recreated, reading it from its beginning');
    await share?.stop();
    read = stream;
    const judges = { rules, odometer: advanceOdometer };
    const parts = { deps, fleet, judges, settings, metrics, attachments, stream, onHeard };
    const consumers = new Map<number, PartitionConsumer>();
    share = new PartitionShare(database, {
      name: 'telemetry',
      pod: config.POD_ID ?? null,
      count: config.TELEMETRY_PARTITIONS,
      log,
      ...(options.times === undefined ? {} : { times: options.times }),
      owner: {
        take: (partition, isHeld) => void consumers.set(partition, new PartitionConsumer(partition, isHeld, parts)),
        drop: async (partition) => {
          const consumer = consumers.get(partition);
          consumers.delete(partition);
          await consumer?.stop();
        },
      },
    });
  };
  // Read before the first alarm, which would wait for it.
  deps.maps
    .nearestPlace([0, 0])
    .catch((error: unknown) => log.error({ err: error }, 'the built-in places are missing'));
  const onStartError = (error: unknown): void => log.warn({ err: error }, 'could not read the stream TELEMETRY yet');
  let begun = retryUntilSuccess(begin, onStartError);
  let looking: Promise<void> = Promise.resolve();
  // Checked when the broker is back, because a stream can only be recreated then; its replies may be delayed.
  const offReconnect = bus.onReconnect(() => {
    looking = looking.then(async () => {
      await begun.stop();
      begun = retryUntilSuccess(begin, onStartError);
    });
  });
  lifecycle.onStop('fleet', () => fleet.stop());
  lifecycle.onStop('telemetry', async () => {
    offReconnect();
    await looking;
    await begun.stop();
    await share?.stop();
  });
  return { partitions: () => share?.own ?? new Set() };
}
