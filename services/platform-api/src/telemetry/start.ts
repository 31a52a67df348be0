import { ensureStreams, streamCreatedAt } from '@fleet/bus';
import { type Lifecycle, type Registry, retryUntilSuccess } from '@fleet/service-kit';
import { advanceOdometer } from '../domains/positions/odometer.ts';
import type { Deps } from '../platform/deps.ts';
import { rules } from '../rules/index.ts';
import { readRuleSettings } from '../rules/rule-settings.ts';
import { AttachmentsQueue } from './attachments-queue.ts';
import { type AssignmentTimings, PartitionAssigner } from './partition-assigner.ts';
import { PartitionConsumer } from './partition-consumer.ts';
import type { ReturningTerminals } from './publish-positions.ts';
import type { TelemetryDeps } from './telemetry-deps.ts';
import { TelemetryMetrics } from './telemetry-metrics.ts';
import { VehicleContextCache } from './vehicle-context-cache.ts';

/** The telemetry consumer of this replica. */
export interface Telemetry {
  /** Current partitions of this replica. */
  readonly partitions: () => ReadonlySet<number>;
}

/** Metrics, and replacements for tests. */
export interface TelemetryOptions {
  readonly registry: Registry;
  /** Called with terminals that reported, by canonical number, and those after a long silence. */
  readonly onReports: (imeis: Iterable<string>, returned: ReturningTerminals) => void;
  readonly timings?: AssignmentTimings;
}

/** Starts the telemetry consumer: this replica processes its share of the partitions. */
export function startTelemetry(deps: Deps, lifecycle: Lifecycle, options: TelemetryOptions): Telemetry {
  const { bus, config, log, database } = deps;
  const vehicles = new VehicleContextCache(deps);
  const metrics = new TelemetryMetrics(options.registry);
  const settings = readRuleSettings(config);
  const { onReports } = options;
  const attachments = config.ATTACHMENTS_ENABLED ? new AttachmentsQueue(deps) : null;
  lifecycle.onStop('queue of attachments', () => attachments?.stop());
  let assigner: PartitionAssigner | undefined;
  let currentStream = '';
  const startReading = async (): Promise<void> => {
    await ensureStreams(await bus.jetstreamManager(), { replicas: config.JETSTREAM_REPLICAS });
    const stream = await streamCreatedAt(bus, 'TELEMETRY');
    if (stream === null) throw new Error('the stream TELEMETRY does not exist yet');
    if (assigner !== undefined && stream === currentStream) return;
    // Sequence numbers of a recreated stream are meaningless: everything restarts.
    if (assigner !== undefined) log.warn('the stream TELEMETRY was recreated, reading it from its beginning');
    await assigner?.stop();
    currentStream = stream;
    const evaluators: TelemetryDeps['evaluators'] = {
      rules,
      odometer: (before, position) => advanceOdometer(before, position, settings),
    };
    const consumerDeps: TelemetryDeps = {
      ...deps,
      vehicles,
      evaluators,
      settings,
      metrics,
      attachments,
      stream,
      onReports,
    };
    const consumers = new Map<number, PartitionConsumer>();
    assigner = new PartitionAssigner(database, {
      name: 'telemetry',
      pod: config.POD_ID ?? null,
      count: config.TELEMETRY_PARTITIONS,
      log,
      ...(options.timings === undefined ? {} : { timings: options.timings }),
      owner: {
        onAssigned: (partition, isHeld) =>
          void consumers.set(partition, new PartitionConsumer(partition, isHeld, consumerDeps)),
        onRevoked: async (partition) => {
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
  let started = retryUntilSuccess(startReading, onStartError);
  let checking: Promise<void> = Promise.resolve();
  // Checked when the broker is back, because a stream can only be recreated then; its replies may be delayed.
  const offReconnect = bus.onReconnect(() => {
    checking = checking.then(async () => {
      await started.stop();
      started = retryUntilSuccess(startReading, onStartError);
    });
  });
  lifecycle.onStop('vehicle cache', () => vehicles.stop());
  lifecycle.onStop('telemetry', async () => {
    offReconnect();
    await checking;
    await started.stop();
    await assigner?.stop();
  });
  return { partitions: () => assigner?.assigned ?? new Set() };
}
