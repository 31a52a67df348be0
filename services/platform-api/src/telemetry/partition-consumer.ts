import { OrderedReader, type StreamMessage, telemetryPartition, telemetrySubject } from '@fleet/bus';
import { PointIndex } from '../domains/positions/point-index.ts';
import { knownPoints } from '../domains/positions/store.ts';
import type { Deps } from '../platform/deps.ts';
import type { RuleSettings } from '../rules/settings.ts';
import type { AttachmentsQueue } from './attachments-queue.ts';
import type { Fleet, FleetVehicle } from './fleet.ts';
import { HistoryWriter } from './history-writer.ts';
import type { Judges } from './judge.ts';
import { type Returned, tellOfPositions } from './live.ts';
import type { TelemetryMetrics } from './metrics.ts';
import { isStateOf, type VehicleState } from './state.ts';
import {
  allStoredStates,
  PartitionLost,
  type PartitionPlace,
  readHistoryPlace,
  readPlace,
  readStates,
  readStoredPlace,
  restoreStates,
  storePlace,
  storeStates,
  writeStates,
} from './states.ts';
import { arrivedIn, judgeUnit, lateOnes, mayReport, type Unit } from './unit.ts';

/** What all partitions of a replica work with. */
export interface ConsumerParts {
  readonly deps: Pick<Deps, 'bus' | 'redis' | 'database' | 'notifications' | 'config' | 'log'>;
  readonly fleet: Fleet;
  readonly judges: Pick<Judges, 'rules' | 'odometer'>;
  readonly settings: RuleSettings;
  readonly metrics: TelemetryMetrics;
  /** Null where attachments of alarms are not asked for. */
  readonly attachments: AttachmentsQueue | null;
  /** When the stream TELEMETRY was made. */
  readonly stream: string;
  /** Terminals have been heard of, by canonical number, some of them after a long silence. */
  readonly onHeard: (imeis: Iterable<string>, returned: Returned) => void;
}

/** How often all that Redis knows goes to MongoDB, too. */
const flushEveryMs = 15_000;
/** With so many that have changed again meanwhile they are written as fast as they can be, and others are no longer let before. */
const urgentStates = 5_000;
const retryMs = 500;
/** States in memory; the others are read again. */
const maxStates = 100_000;

/**
 * Applies the reports of one partition in order. What follows from them is written before the place that says so, and is the same when it is done again:
 * a crash at any point loses nothing and doubles nothing.
 */
export class PartitionConsumer {
  readonly #partition: number;
  readonly #parts: ConsumerParts;
  readonly #isHeld: () => boolean;
  readonly #history: HistoryWriter;
  /** The newest states. */
  readonly #states = new Map<string, VehicleState>();
  /** Those that have changed since they were last in MongoDB. */
  #unstored = new Map<string, VehicleState>();
  #place: PartitionPlace = { stream: '', seq: 0 };
  /** Up to where MongoDB has all states, but for those in `#unstored`. */
  #covered: PartitionPlace = { stream: '', seq: 0 };
  /** The message up to which the history had all points when this began: they are not written again. */
  #historyFrom = 0;
  #log: OrderedReader | undefined;
  #flush: NodeJS.Timeout | undefined;
  #flushing: Promise<void> | undefined;
  #isStopped = false;
  /** Redis has forgotten what it was told, and has not been told again. */
  #isForgotten = false;
  readonly #opening: Promise<void>;

  constructor(partition: number, isHeld: () => boolean, parts: ConsumerParts) {
    this.#partition = partition;
    this.#isHeld = isHeld;
    this.#parts = parts;
    this.#history = new HistoryWriter(parts.deps.database, partition, {
      onError: (error) => this.#warn(error),
      onLeftOut: ({ points, buckets }) => {
        parts.metrics.leftOut(points);
        if (buckets.length > 0)
          parts.deps.log.warn({ buckets }, 'too many reports of one time: a clock that stands still?');
      },
    });
    this.#opening = this.#open();
  }

  /** Finishes the unit at work, and brings to MongoDB what is in memory and in Redis alone. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#flush);
    await this.#opening;
    this.#history.release();
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
          // One that takes longer takes the turn of the next.
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
   * The message behind which to begin: where Redis says, but not behind the last place of which MongoDB has all states, nor behind what the history has. What was applied
   * already is known by the states. Null where the stop came first.
   */
  async #whereToBegin(): Promise<number | null> {
    const { deps, stream } = this.#parts;
    const [known, stored, history] = await Promise.all([
      readPlace(deps.redis, this.#partition),
      readStoredPlace(deps.database, this.#partition),
      readHistoryPlace(deps.database, this.#partition),
    ]);
    const isEnded = (): boolean => this.#isStopped;
    if (known === null && stored !== null && !(await this.#restore(isEnded))) return null;
    // Numbers of a stream that was made anew mean nothing.
    const applied = [known, stored].find((place) => place?.stream === stream)?.seq ?? 0;
    this.#place = { stream, seq: applied };
    await writeStates(deps.redis, this.#partition, known, this.#place, new Map());
    const seqOf = (place: PartitionPlace | null): number => (place?.stream === stream ? place.seq : 0);
    this.#covered = { stream, seq: Math.min(applied, seqOf(stored)) };
    this.#historyFrom = seqOf(history);
    return Math.min(this.#covered.seq, this.#historyFrom);
  }

  /** A Redis that was emptied gets back what is known here, and of the silent vehicles what MongoDB knows; false where it ended before. */
  async #remind(isEnded: () => boolean): Promise<boolean> {
    await restoreStates(this.#parts.deps.redis, await this.#present([...this.#states]));
    if (!(await this.#restore(isEnded))) return false;
    this.#isForgotten = false;
    return true;
  }

  async #flushAll(): Promise<void> {
    await this.#remindSilent();
    await this.#storeAll();
  }

  /** A Redis that was emptied while no terminal of this partition reports, for days maybe, would know none of them. */
  async #remindSilent(): Promise<void> {
    const { redis } = this.#parts.deps;
    const place = this.#place;
    try {
      if (!this.#isHeld() || (await readPlace(redis, this.#partition)) !== null) return;
      if (!(await this.#remind(() => this.#isStopped))) return;
      await writeStates(redis, this.#partition, place, place, new Map());
    } catch (error) {
      // A unit that has come meanwhile has told it more.
      if (!(error instanceof PartitionLost)) this.#warn(error);
    }
  }

  /** Redis was emptied: what MongoDB knows of this partition's terminals is put there again; false where it ended before that was all. */
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
    log.warn({ partition: this.#partition, count }, 'redis knew nothing: states were restored from the database');
    return true;
  }

  /** Of terminals that are in the same vehicle still. */
  async #present(
    states: readonly (readonly [string, VehicleState])[],
  ): Promise<readonly (readonly [string, VehicleState])[]> {
    const vehicles = await this.#parts.fleet.vehiclesOf(states.map(([imei]) => imei));
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
    const { deps, stream, metrics, onHeard } = this.#parts;
    const place = { stream, seq: messages.at(-1)?.sequence ?? 0 };
    const unit = await this.#judge(messages);
    this.#requireHeld();
    await this.#tell(unit);
    // Behind what they have raised: a state says that its report was told of, also to a replica that finds it here alone, as that of a terminal's first report.
    await storeStates(deps.database, unit.turned);
    this.#requireHeld();
    // Messages that are read again for the history alone have their place behind them.
    if (place.seq > this.#place.seq) await this.#write(place, unit);
    if (place.seq > this.#covered.seq) this.#covered = place;
    // Its place is there already, so that this goes on to its end.
    if (this.#isForgotten) await this.#remind(() => false);
    onHeard(unit.moved.keys(), tellOfPositions(deps.bus, unit.moved.values()));
    metrics.applied(messages.length, unit.points.length, unit.raised.length, performance.now() - startedMs);
    // Of messages that are read again for the states alone the history has the points, and its place is behind them.
    if (place.seq > this.#historyFrom) await this.#history.take(unit.points, place);
  }

  /** Attachments are wanted for what is on record. */
  async #tell({ raised, amended, attached }: Unit): Promise<void> {
    const { deps, attachments } = this.#parts;
    await deps.notifications.raise(raised);
    await Promise.all([deps.notifications.amend(amended), attachments?.store(attached)]);
  }

  #requireHeld(): void {
    if (!this.#isHeld()) throw new PartitionLost(`the lease of partition ${this.#partition} has run out`);
  }

  async #judge(messages: readonly StreamMessage[]): Promise<Unit> {
    const { deps, fleet, judges, settings, stream, metrics } = this.#parts;
    const arrived = arrivedIn(messages, (fault) => this.#fault(fault));
    const imeis = [...new Set(arrived.map(({ report }) => report.imei))];
    const vehicles = await fleet.vehiclesOf(imeis);
    const states = await this.#statesOf(imeis.filter((imei) => vehicles.get(imei)));
    metrics.unknown(arrived.filter(({ report }) => !mayReport(report, vehicles.get(report.imei))).length);
    // Before the history is asked: what has come there by then is no longer on its way.
    const waiting = new PointIndex(...this.#history.waiting);
    const isStored = await knownPoints(deps.database, lateOnes(arrived, vehicles, states));
    const isKnown: Judges['isKnown'] = (position, hash) => waiting.has(position, hash) || isStored(position, hash);
    const unit = judgeUnit(arrived, vehicles, states, { stream, settings, judges: { ...judges, isKnown } });
    if ((messages[0]?.sequence ?? 0) <= this.#place.seq) this.#keepApplied(states, vehicles, unit);
    return unit;
  }

  /** Of messages that are read again: whoever applied them may have died before MongoDB had the states. */
  #keepApplied(
    states: ReadonlyMap<string, VehicleState>,
    vehicles: ReadonlyMap<string, FleetVehicle | null>,
    { moved }: Unit,
  ): void {
    for (const [imei, state] of states) {
      const isPresent = isStateOf(state, vehicles.get(imei)?.vehicle);
      if (isPresent && !moved.has(imei) && !this.#unstored.has(imei)) this.#unstored.set(imei, state);
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

  async #write(place: PartitionPlace, { moved }: Unit): Promise<void> {
    const states = new Map([...moved].map(([imei, { state }]) => [imei, state]));
    const written = await this.#writeOver(place, states);
    this.#place = place;
    if (this.#states.size > maxStates) this.#states.clear();
    for (const [imei, state] of states) {
      this.#states.set(imei, state);
      // Those that have turned, too: an older one of the same vehicle may be on its way into MongoDB.
      this.#unstored.set(imei, state);
    }
    if (written === 'emptied') this.#isForgotten = true;
  }

  /** A Redis that came back with what it had a moment ago gets all that is known here; where another replica has gone on, this one begins again from there. */
  async #writeOver(place: PartitionPlace, states: ReadonlyMap<string, VehicleState>): Promise<'written' | 'emptied'> {
    const { redis } = this.#parts.deps;
    try {
      return await writeStates(redis, this.#partition, this.#place, place, states);
    } catch (error) {
      if (!(error instanceof PartitionLost)) throw error;
      const known = await readPlace(redis, this.#partition);
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

  /** Brings to MongoDB what is in Redis alone, and then how far that goes. */
  async #storeAll(): Promise<void> {
    // One that was frozen would write over what another has stored since.
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
      if (place.seq > 0) await storePlace(database, this.#partition, place);
    } catch (error) {
      this.#warn(error);
      for (const [imei, state] of states) if (!this.#unstored.has(imei)) this.#unstored.set(imei, state);
    }
  }

  #fault(fault: string): void {
    this.#parts.metrics.fault();
    this.#parts.deps.log.warn({ partition: this.#partition, fault }, 'a report can not be read and is passed over');
  }

  #warn(error: unknown): void {
    this.#parts.deps.log.warn({ err: error, partition: this.#partition }, 'telemetry can not be applied at the moment');
  }
}
