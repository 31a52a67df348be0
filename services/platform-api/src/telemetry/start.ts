import { ensureStreams, streamCreatedAt, toStreamOptions } from '@fleet/bus';
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
interface Telemetry {
  /** Current partitions of this replica. */
  readonly partitions: () => ReadonlySet<number>;
}

/** Metrics, and replacements for tests. */
interface TelemetryOptions {
  readonly registry: Registry;
  /** Called with terminals that reported, by canonical number, and those after a long silence. */
  readonly onReports: (imeis: Iterable<string>, returned: ReturningTerminals) => void;
  readonly timings?: AssignmentTimings;
}

/** Starts the telemetry consumer: this replica processes its share of the partitions. */
export function startTelemetry(deps: Deps, lifecycle: Lifecycle, options: TelemetryOptions): Telemetry {
  const vehicles = new VehicleContextCache(deps);
  const attachments = deps.config.ATTACHMENTS_ENABLED ? new AttachmentsQueue(deps) : null;
  lifecycle.onStop('queue of attachments', () => attachments?.stop());
  const reader = new StreamReader(createConsumerDeps(deps, options, { vehicles, attachments }), options.timings);
  // Read before the first alarm, which would wait for it.
  deps.maps
    .nearestPlace([0, 0])
    .catch((error: unknown) => deps.log.error({ err: error }, 'could not load the built-in places'));
  const stopReading = startReading(deps, reader);
  lifecycle.onStop('vehicle cache', () => vehicles.stop());
  lifecycle.onStop('telemetry', stopReading);
  return { partitions: () => reader.partitions };
}

/** Starts to read; checks after each reconnect, because a stream can only be recreated then. Returns how to stop. */
function startReading({ bus, log }: Deps, reader: StreamReader): () => Promise<void> {
  // Replies of the broker may be delayed.
  const start = () =>
    retryUntilSuccess(
      () => reader.start(),
      (error) => log.warn({ err: error }, 'could not read the stream TELEMETRY yet'),
    );
  let started = start();
  let checking: Promise<void> = Promise.resolve();
  const offReconnect = bus.onReconnect(() => {
    checking = checking.then(async () => {
      await started.stop();
      started = start();
    });
  });
  return async () => {
    offReconnect();
    await checking;
    await started.stop();
    await reader.stop();
  };
}

/** Reads the stream TELEMETRY by the partitions that are assigned to this replica. */
class StreamReader {
  readonly #deps: Omit<TelemetryDeps, 'stream'>;
  readonly #timings: AssignmentTimings | undefined;
  #assigner: PartitionAssigner | undefined;
  #stream = '';

  constructor(deps: Omit<TelemetryDeps, 'stream'>, timings: AssignmentTimings | undefined) {
    this.#deps = deps;
    this.#timings = timings;
  }

  get partitions(): ReadonlySet<number> {
    return this.#assigner?.assigned ?? new Set();
  }

  /** Reads the stream, unless it does already. Throws if the stream does not exist yet. */
  async start(): Promise<void> {
    const { bus, config, log } = this.#deps;
    await ensureStreams(await bus.jetstreamManager(), toStreamOptions(config));
    const stream = await streamCreatedAt(bus, 'TELEMETRY');
    if (stream === null) throw new Error('the stream TELEMETRY does not exist yet');
    if (this.#assigner !== undefined && stream === this.#stream) return;
    // Sequence numbers of a recreated stream are meaningless: everything restarts.
    if (this.#assigner !== undefined) log.warn('the stream TELEMETRY was recreated, reading it from its beginning');
    await this.#assigner?.stop();
    this.#stream = stream;
    this.#assigner = this.#createAssigner({ ...this.#deps, stream });
  }

  async stop(): Promise<void> {
    await this.#assigner?.stop();
  }

  #createAssigner(deps: TelemetryDeps): PartitionAssigner {
    const consumers = new Map<number, PartitionConsumer>();
    return new PartitionAssigner(deps.database, {
      name: 'telemetry',
      pod: deps.config.POD_ID ?? null,
      count: deps.config.TELEMETRY_PARTITIONS,
      log: deps.log,
      ...(this.#timings === undefined ? {} : { timings: this.#timings }),
      owner: {
        onAssigned: (partition, isHeld) =>
          void consumers.set(partition, new PartitionConsumer(partition, isHeld, deps)),
        onRevoked: async (partition) => {
          const consumer = consumers.get(partition);
          consumers.delete(partition);
          await consumer?.stop();
        },
      },
    });
  }
}

function createConsumerDeps(
  deps: Deps,
  { registry, onReports }: TelemetryOptions,
  own: Pick<TelemetryDeps, 'vehicles' | 'attachments'>,
): Omit<TelemetryDeps, 'stream'> {
  const settings = readRuleSettings(deps.config);
  return {
    ...deps,
    ...own,
    evaluators: { rules, odometer: (before, position) => advanceOdometer(before, position, settings) },
    settings,
    metrics: new TelemetryMetrics(registry),
    onReports,
  };
}
