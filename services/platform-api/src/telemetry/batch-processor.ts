import type { StreamMessage } from '@fleet/bus';
import { PointIndex } from '../domains/positions/point-index.ts';
import { knownPoints } from '../domains/positions/queries.ts';
import { storeStates } from '../domains/vehicle-states/commands.ts';
import { isStateOf, type VehicleState } from '../domains/vehicle-states/vehicle-state.ts';
import type { AppliedStates } from './applied-states.ts';
import { decodeBatch } from './decode-batch.ts';
import { type BatchResult, belongsTo, evaluateBatch, findLateReports } from './evaluate-batch.ts';
import type { Evaluators } from './evaluate-report.ts';
import type { HistoryWriter } from './history-writer.ts';
import type { Partition } from './partition.ts';
import { publishPositions } from './publish-positions.ts';
import type { RedisRecovery } from './redis-recovery.ts';
import type { StateCache } from './state-cache.ts';
import type { StateCheckpoint } from './state-checkpoint.ts';
import type { TelemetryDeps } from './telemetry-deps.ts';
import type { VehicleContext } from './vehicle-context-cache.ts';

/** The parts of a partition that store the results of a batch. */
interface PartitionStores {
  readonly states: StateCache;
  readonly applied: AppliedStates;
  readonly recovery: RedisRecovery;
  readonly checkpoint: StateCheckpoint;
  readonly history: HistoryWriter;
}

/**
 * Processes the messages of one partition: decodes and evaluates them, publishes the findings and stores the results.
 * The offset is stored after the results, which are equal when repeated: a crash at any point loses and duplicates
 * nothing.
 */
export class BatchProcessor {
  readonly #deps: TelemetryDeps;
  readonly #partition: Partition;
  readonly #stores: PartitionStores;

  constructor(deps: TelemetryDeps, partition: Partition, stores: PartitionStores) {
    this.#deps = deps;
    this.#partition = partition;
    this.#stores = stores;
  }

  /** Processes messages that follow the previous ones. If it rejects, the same messages are processed again. */
  async process(messages: readonly StreamMessage[]): Promise<void> {
    const { bus, database, settings, stream, metrics, onReports } = this.#deps;
    const { applied, checkpoint, recovery, history } = this.#stores;
    const offset = { stream, seq: messages.at(-1)?.sequence ?? 0 };
    const startedMs = performance.now();
    this.#partition.assertHeld();
    const batch = await this.#evaluate(messages);
    this.#partition.assertHeld();
    await this.#publishFindings(batch);
    // After the notifications that they raised: a replica that finds such a state skips its report.
    await storeStates(database, batch.statesToPersist);
    this.#partition.assertHeld();
    // Messages that are read again for the history only are before the applied offset.
    if (offset.seq > applied.offset.seq) await applied.write(offset, newStates(batch));
    checkpoint.advance(offset);
    // The applied offset is stored already, so this continues to the end.
    if (recovery.isNeeded) await recovery.refill(() => false);
    onReports(batch.updates.keys(), publishPositions(bus, batch.updates.values(), settings));
    metrics.applied(messages.length, batch.points.length, batch.notifications.length, performance.now() - startedMs);
    await history.add(batch.points, offset);
  }

  async #evaluate(messages: readonly StreamMessage[]): Promise<BatchResult> {
    const { database, vehicles, evaluators, settings, stream, metrics } = this.#deps;
    const { states, applied, history } = this.#stores;
    const reports = decodeBatch(messages, (fault) => this.#reportFault(fault));
    const imeis = [...new Set(reports.map(({ report }) => report.imei))];
    const contexts = await vehicles.vehiclesOf(imeis);
    const before = await states.read(imeis.filter((imei) => contexts.get(imei)));
    metrics.unknown(reports.filter(({ report }) => !belongsTo(report, contexts.get(report.imei))).length);
    // Before the history is read: points stored by then are not pending any more.
    const pending = new PointIndex(...history.pending);
    const isStored = await knownPoints(database, findLateReports(reports, contexts, before));
    const isKnown: Evaluators['isKnown'] = (position, hash) => pending.has(position, hash) || isStored(position, hash);
    const batch = evaluateBatch(reports, contexts, before, {
      stream,
      settings,
      evaluators: { ...evaluators, isKnown },
    });
    const isReplay = (messages[0]?.sequence ?? 0) <= applied.offset.seq;
    if (isReplay) states.markUnsaved(unchangedStates(before, contexts, batch));
    return batch;
  }

  /** Attachments are requested for recorded notifications. */
  async #publishFindings({ notifications, notificationUpdates, attachmentRequests }: BatchResult): Promise<void> {
    const { notifications: publisher, attachments } = this.#deps;
    await publisher.raise(notifications);
    await Promise.all([publisher.update(notificationUpdates), attachments?.store(attachmentRequests)]);
  }

  #reportFault(fault: string): void {
    this.#deps.metrics.fault();
    this.#deps.log.warn({ partition: this.#partition.number, fault }, 'skipped an invalid report');
  }
}

const newStates = ({ updates }: BatchResult): Map<string, VehicleState> =>
  new Map([...updates].map(([imei, { state }]) => [imei, state]));

/** Returns the states of replayed messages: their first reader may have died before MongoDB had them. */
const unchangedStates = (
  states: ReadonlyMap<string, VehicleState>,
  contexts: ReadonlyMap<string, VehicleContext | null>,
  { updates }: BatchResult,
): (readonly [string, VehicleState])[] =>
  [...states].filter(([imei, state]) => isStateOf(state, contexts.get(imei)?.vehicle) && !updates.has(imei));
