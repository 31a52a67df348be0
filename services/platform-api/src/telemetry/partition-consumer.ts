import { OrderedReader, type StreamMessage, telemetryPartition, telemetrySubject } from '@fleet/bus';
import { PointIndex } from '../domains/positions/point-index.ts';
import { knownPoints } from '../domains/positions/queries.ts';
import { restoreStates, storeStates } from '../domains/vehicle-states/commands.ts';
import { allStoredStates, readStates } from '../domains/vehicle-states/queries.ts';
import { isStateOf, type VehicleState } from '../domains/vehicle-states/vehicle-state.ts';
import type { Deps } from '../platform/deps.ts';
import type { RuleSettings } from '../rules/settings.ts';
import type { AttachmentsQueue } from './attachments-queue.ts';
import { type BatchResult, belongsTo, decodeBatch, evaluateBatch, findLateReports } from './evaluate-batch.ts';
import type { Evaluators } from './evaluate-report.ts';
import { HistoryWriter } from './history-writer.ts';
import {
  PartitionLost,
  type PartitionOffset,
  readHistoryOffset,
  readOffset,
  readStoredOffset,
  storeOffset,
  writeStates,
} from './partition-offsets.ts';
import { publishPositions, type ReturningTerminals } from './publish-positions.ts';
import type { TelemetryMetrics } from './telemetry-metrics.ts';
import type { VehicleContext, VehicleContextCache } from './vehicle-context-cache.ts';

/** Dependencies of all partitions of a replica. */
export interface ConsumerDeps {
  readonly deps: Pick<Deps, 'bus' | 'redis' | 'database' | 'notifications' | 'config' | 'log'>;
  readonly vehicles: VehicleContextCache;
  readonly evaluators: Pick<Evaluators, 'rules' | 'odometer'>;
  readonly settings: RuleSettings;
  readonly metrics: TelemetryMetrics;
  /** Null if attachments of alarms are not requested. */
  readonly attachments: AttachmentsQueue | null;
  /** Creation time of the stream TELEMETRY. */
  readonly stream: string;
  /** Called with terminals that reported, by canonical number, some of them after a long silence. */
  readonly onReports: (imeis: Iterable<string>, returned: ReturningTerminals) => void;
}

/** Interval at which all states in Redis are also saved to MongoDB. */
const flushEveryMs = 15_000;
/** With this many unsaved states they are saved as fast as possible, without yielding to others. */
const urgentStates = 5_000;
const retryMs = 500;
/** Number of states in memory; others are read again. */
const maxStates = 100_000;

/**
 * Processes the reports of one partition in order. Results are written before the offset and are equal when repeated: a
 * crash at any point loses and duplicates nothing.
 */
export class PartitionConsumer {
  readonly #partition: number;
  readonly #parts: ConsumerDeps;
  readonly #isHeld: () => boolean;
  readonly #history: HistoryWriter;
  /** The newest states. */
  readonly #states = new Map<string, VehicleState>();
  /** States that changed since they were last saved to MongoDB. */
  #unstored = new Map<string, VehicleState>();
  #place: PartitionOffset = { stream: '', seq: 0 };
  /** Offset up to which MongoDB has all states, except those in `#unstored`. */
  #covered: PartitionOffset = { stream: '', seq: 0 };
  /** Offset up to which the history had all points at the start: they are not written again. */
  #historyFrom = 0;
  #log: OrderedReader | undefined;
  #flush: NodeJS.Timeout | undefined;
  #flushing: Promise<void> | undefined;
  #isStopped = false;
  /** Redis was emptied and has not been refilled yet. */
  #isRedisEmptied = false;
  readonly #opening: Promise<void>;

  constructor(partition: number, isHeld: () => boolean, parts: ConsumerDeps) {
    this.#partition = partition;
    this.#isHeld = isHeld;
    this.#parts = parts;
    this.#history = new HistoryWriter(parts.deps.database, partition, {
      onError: (error) => this.#warn(error),
      onLeftOut: ({ points, buckets }) => {
        parts.metrics.dropped(points);
        if (buckets.length > 0)
          parts.deps.log.warn({ buckets }, 'too many reports of one time, the clock of a terminal may have stopped');
      },
    });
    this.#opening = this.#open();
  }

  /** Finishes the running batch, and saves to MongoDB everything that is only in memory and in Redis. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#flush);
    await this.#opening;
    this.#history.abandon();
    await this.#log?.stop();
    await this.#history.stop();
    await this.#flushing;
    await this.#storeAll();
  }

  async #open(): Promise<void> {
    while (!this.#isStopped) {
      try {
        const after = await this.#whereToBegin();
        if (after === null || this.#isStopped) return;
        this.#log = this.#read(after);
        this.#flush = setInterval(() => {
          // A longer one replaces the next one.
          this.#flushing ??= this.#flushAll().finally(() => {
            this.#flushing = undefined;
          });
        }, flushEveryMs);
        return;
      } catch (error) {
        this.#warn(error);
        await new Promise((resolve) => {
          setTimeout(resolve, retryMs);
        });
      }
    }
  }

  /**
   * Returns the offset to start from: that of Redis, but not after the last one of which MongoDB has all states, nor
   * after that of the history. States identify reports that were processed already. Null if the consumer was stopped
   * first.
   */
  async #whereToBegin(): Promise<number | null> {
    const { deps, stream } = this.#parts;
    const [known, stored, history] = await Promise.all([
      readOffset(deps.redis, this.#partition),
      readStoredOffset(deps.database, this.#partition),
      readHistoryOffset(deps.database, this.#partition),
    ]);
    const isEnded = (): boolean => this.#isStopped;
    if (known === null && stored !== null && !(await this.#restore(isEnded))) return null;
    // Sequence numbers of a recreated stream are meaningless.
    const applied = [known, stored].find((place) => place?.stream === stream)?.seq ?? 0;
    this.#place = { stream, seq: applied };
    await writeStates(deps.redis, this.#partition, known, this.#place, new Map());
    const seqOf = (place: PartitionOffset | null): number => (place?.stream === stream ? place.seq : 0);
    this.#covered = { stream, seq: Math.min(applied, seqOf(stored)) };
    this.#historyFrom = seqOf(history);
    return Math.min(this.#covered.seq, this.#historyFrom);
  }

  /**
   * Refills an emptied Redis with the states in memory, and those of silent vehicles from MongoDB; returns false if it
   * stopped before.
   */
  async #remind(isEnded: () => boolean): Promise<boolean> {
    await restoreStates(this.#parts.deps.redis, await this.#present([...this.#states]));
    if (!(await this.#restore(isEnded))) return false;
    this.#isRedisEmptied = false;
    return true;
  }

  async #flushAll(): Promise<void> {
    await this.#remindSilent();
    await this.#storeAll();
  }

  /** Detects an emptied Redis while no terminal of this partition reports, which may be for days. */
  async #remindSilent(): Promise<void> {
    const { redis } = this.#parts.deps;
    const place = this.#place;
    try {
      if (!this.#isHeld() || (await readOffset(redis, this.#partition)) !== null) return;
      if (!(await this.#remind(() => this.#isStopped))) return;
      await writeStates(redis, this.#partition, place, place, new Map());
    } catch (error) {
      // A concurrent batch has refilled it.
      if (!(error instanceof PartitionLost)) this.#warn(error);
    }
  }

  /**
   * Refills an emptied Redis with MongoDB's states of this partition's terminals; returns false if it stopped before
   * the end.
   */
  async #restore(isEnded: () => boolean): Promise<boolean> {
    const { redis, database, config, log } = this.#parts.deps;
    let part: (readonly [string, VehicleState])[] = [];
    let count = 0;
    const isOurs = (imei: string): boolean => telemetryPartition(imei, config.TELEMETRY_PARTITIONS) === this.#partition;
    for await (const entry of allStoredStates(database, isOurs)) {
      if (isEnded()) return false;
      part.push(entry);
      count += 1;
      if (part.length < 500) continue;
      await restoreStates(redis, await this.#present(part));
      part = [];
    }
    await restoreStates(redis, await this.#present(part));
    if (isEnded()) return false;
    log.warn({ partition: this.#partition, count }, 'redis was empty, restored the states from the database');
    return true;
  }

  /** Only of terminals that are still in the same vehicle. */
  async #present(
    states: readonly (readonly [string, VehicleState])[],
  ): Promise<readonly (readonly [string, VehicleState])[]> {
    const vehicles = await this.#parts.vehicles.vehiclesOf(states.map(([imei]) => imei));
    return states.filter(([imei, state]) => isStateOf(state, vehicles.get(imei)?.vehicle));
  }

  #read(after: number): OrderedReader {
    return new OrderedReader(this.#parts.deps.bus, {
      stream: 'TELEMETRY',
      subject: telemetrySubject(this.#partition),
      afterSequence: after,
      handler: (messages) => this.#apply(messages),
      onError: (error) => this.#warn(error),
    });
  }

  async #apply(messages: readonly StreamMessage[]): Promise<void> {
    this.#requireHeld();
    const startedMs = performance.now();
    const { deps, stream, metrics, onReports } = this.#parts;
    const place = { stream, seq: messages.at(-1)?.sequence ?? 0 };
    const unit = await this.#judge(messages);
    this.#requireHeld();
    await this.#publish(unit);
    // Store states after the notifications they raised: a replica that finds the state skips its report.
    await storeStates(deps.database, unit.statesToPersist);
    this.#requireHeld();
    // Messages that are read again for the history only are before the offset.
    if (place.seq > this.#place.seq) await this.#write(place, unit);
    if (place.seq > this.#covered.seq) this.#covered = place;
    // Its offset is stored already, so this continues to the end.
    if (this.#isRedisEmptied) await this.#remind(() => false);
    onReports(unit.updates.keys(), publishPositions(deps.bus, unit.updates.values()));
    metrics.applied(messages.length, unit.points.length, unit.notifications.length, performance.now() - startedMs);
    // The history has the points of messages that are read again for the states only, and their offset is before it.
    if (place.seq > this.#historyFrom) await this.#history.add(unit.points, place);
  }

  /** Attachments are requested for recorded notifications. */
  async #publish({ notifications, notificationUpdates, attachmentRequests }: BatchResult): Promise<void> {
    const { deps, attachments } = this.#parts;
    await deps.notifications.raise(notifications);
    await Promise.all([deps.notifications.update(notificationUpdates), attachments?.store(attachmentRequests)]);
  }

  #requireHeld(): void {
    if (!this.#isHeld()) throw new PartitionLost(`the lease of partition ${this.#partition} has expired`);
  }

  async #judge(messages: readonly StreamMessage[]): Promise<BatchResult> {
    const { deps, vehicles: fleet, evaluators, settings, stream, metrics } = this.#parts;
    const arrived = decodeBatch(messages, (fault) => this.#fault(fault));
    const imeis = [...new Set(arrived.map(({ report }) => report.imei))];
    const vehicles = await fleet.vehiclesOf(imeis);
    const states = await this.#statesOf(imeis.filter((imei) => vehicles.get(imei)));
    metrics.unknown(arrived.filter(({ report }) => !belongsTo(report, vehicles.get(report.imei))).length);
    // Before the history is read: points stored by then are not pending any more.
    const waiting = new PointIndex(...this.#history.pending);
    const isStored = await knownPoints(deps.database, findLateReports(arrived, vehicles, states));
    const isKnown: Evaluators['isKnown'] = (position, hash) => waiting.has(position, hash) || isStored(position, hash);
    const unit = evaluateBatch(arrived, vehicles, states, { stream, settings, evaluators: { ...evaluators, isKnown } });
    if ((messages[0]?.sequence ?? 0) <= this.#place.seq) this.#keepApplied(states, vehicles, unit);
    return unit;
  }

  /** Of messages that are read again: their first reader may have died before MongoDB had the states. */
  #keepApplied(
    states: ReadonlyMap<string, VehicleState>,
    vehicles: ReadonlyMap<string, VehicleContext | null>,
    { updates }: BatchResult,
  ): void {
    for (const [imei, state] of states) {
      const isPresent = isStateOf(state, vehicles.get(imei)?.vehicle);
      if (isPresent && !updates.has(imei) && !this.#unstored.has(imei)) this.#unstored.set(imei, state);
    }
  }

  async #statesOf(imeis: readonly string[]): Promise<Map<string, VehicleState>> {
    const { redis, database } = this.#parts.deps;
    const missing = imeis.filter((imei) => !this.#states.has(imei));
    const read = missing.length === 0 ? new Map<string, VehicleState>() : await readStates(redis, database, missing);
    const states = new Map<string, VehicleState>();
    for (const imei of imeis) {
      const state = this.#states.get(imei) ?? read.get(imei);
      if (state !== undefined) states.set(imei, state);
    }
    return states;
  }

  async #write(place: PartitionOffset, { updates }: BatchResult): Promise<void> {
    const states = new Map([...updates].map(([imei, { state }]) => [imei, state]));
    const written = await this.#writeOver(place, states);
    this.#place = place;
    if (this.#states.size > maxStates) this.#states.clear();
    for (const [imei, state] of states) {
      this.#states.set(imei, state);
      // Changed states, too: an older one of the same vehicle may be on its way to MongoDB.
      this.#unstored.set(imei, state);
    }
    if (written === 'emptied') this.#isRedisEmptied = true;
  }

  /**
   * Refills a Redis that restarted with older data; if another replica has continued, this one restarts from its
   * offset.
   */
  async #writeOver(place: PartitionOffset, states: ReadonlyMap<string, VehicleState>): Promise<'written' | 'emptied'> {
    const { redis } = this.#parts.deps;
    try {
      return await writeStates(redis, this.#partition, this.#place, place, states);
    } catch (error) {
      if (!(error instanceof PartitionLost)) throw error;
      const known = await readOffset(redis, this.#partition);
      const isOlder = known !== null && known.stream === place.stream && known.seq < this.#place.seq;
      if (isOlder) {
        const all = await this.#present([...this.#states, ...states]);
        return await writeStates(redis, this.#partition, known, place, new Map(all));
      }
      this.#states.clear();
      if (known !== null) this.#place = known;
      throw error;
    }
  }

  /** Saves to MongoDB everything that is only in Redis, and then its offset. */
  async #storeAll(): Promise<void> {
    // A replica that was paused would overwrite what another one has saved since.
    if (!this.#isHeld()) return;
    const { database } = this.#parts.deps;
    const place = this.#covered;
    const states = this.#unstored;
    this.#unstored = new Map();
    try {
      await storeStates(database, states, () => {
        this.#requireHeld();
        return this.#isStopped || this.#unstored.size > urgentStates;
      });
      if (place.seq > 0) await storeOffset(database, this.#partition, place);
    } catch (error) {
      this.#warn(error);
      for (const [imei, state] of states) if (!this.#unstored.has(imei)) this.#unstored.set(imei, state);
    }
  }

  #fault(fault: string): void {
    this.#parts.metrics.fault();
    this.#parts.deps.log.warn({ partition: this.#partition, fault }, 'skipped an invalid report');
  }

  #warn(error: unknown): void {
    this.#parts.deps.log.warn({ err: error, partition: this.#partition }, 'could not apply telemetry');
  }
}
