import { OrderedReader, telemetrySubject } from '@fleet/bus';
import { AppliedStates } from './applied-states.ts';
import { BatchProcessor } from './batch-processor.ts';
import { HistoryWriter } from './history-writer.ts';
import { OffsetStore, type PartitionOffset } from './offset-store.ts';
import { Partition } from './partition.ts';
import { RedisRecovery } from './redis-recovery.ts';
import { StateCache } from './state-cache.ts';
import { StateCheckpoint } from './state-checkpoint.ts';
import type { TelemetryDeps } from './telemetry-deps.ts';

/** Interval at which all states in Redis are also saved to MongoDB. */
const checkpointIntervalMs = 15_000;
const retryMs = 500;

/** Reads the reports of one partition in order, from the stored offsets, and has them processed. */
export class PartitionConsumer {
  readonly #deps: TelemetryDeps;
  readonly #partition: Partition;
  readonly #offsets: OffsetStore;
  readonly #recovery: RedisRecovery;
  readonly #applied: AppliedStates;
  readonly #checkpoint: StateCheckpoint;
  readonly #history: HistoryWriter;
  readonly #processor: BatchProcessor;
  readonly #stopped = new AbortController();
  readonly #opening: Promise<void>;
  #reader: OrderedReader | undefined;
  #timer: NodeJS.Timeout | undefined;
  #saving: Promise<void> | undefined;

  constructor(partition: number, isHeld: () => boolean, deps: TelemetryDeps) {
    this.#deps = deps;
    this.#partition = new Partition(partition, isHeld, deps.config.TELEMETRY_PARTITIONS);
    this.#offsets = new OffsetStore(deps, partition);
    const states = new StateCache(deps);
    this.#recovery = new RedisRecovery(deps, this.#partition, states);
    this.#applied = new AppliedStates(this.#partition, this.#offsets, states, this.#recovery);
    this.#checkpoint = new StateCheckpoint(deps.database, this.#partition, this.#offsets, states);
    this.#history = this.#createHistoryWriter();
    this.#processor = new BatchProcessor(deps, this.#partition, {
      states,
      applied: this.#applied,
      recovery: this.#recovery,
      checkpoint: this.#checkpoint,
      history: this.#history,
    });
    this.#opening = this.#open();
  }

  /** Finishes the running batch, and saves to MongoDB everything that is only in memory and in Redis. */
  async stop(): Promise<void> {
    this.#stopped.abort();
    clearInterval(this.#timer);
    await this.#opening;
    this.#history.abandon();
    await this.#reader?.stop();
    await this.#history.stop();
    await this.#saving;
    await this.#saveCheckpoint();
  }

  async #open(): Promise<void> {
    while (!this.#isStopped()) {
      try {
        const afterSequence = await this.#findStart();
        if (afterSequence === null || this.#isStopped()) return;
        this.#reader = this.#read(afterSequence);
        this.#timer = setInterval(() => {
          // A longer one replaces the next one.
          this.#saving ??= this.#saveStates().finally(() => {
            this.#saving = undefined;
          });
        }, checkpointIntervalMs);
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
   * Returns the sequence number after which to read: the older one of the checkpoint and the history. The states say
   * which of these reports were applied already. Null if the consumer was stopped first.
   */
  async #findStart(): Promise<number | null> {
    const { stream } = this.#deps;
    const { applied, checkpoint, history } = await this.#offsets.readAll();
    const wasEmptied = applied === null && checkpoint !== null;
    if (wasEmptied && !(await this.#recovery.restoreFromDatabase(this.#isStopped))) return null;
    // Sequence numbers of a recreated stream are meaningless.
    const seqOf = (offset: PartitionOffset | null): number => (offset?.stream === stream ? offset.seq : 0);
    const appliedSeq = applied?.stream === stream ? applied.seq : seqOf(checkpoint);
    await this.#applied.takeOver(applied, { stream, seq: appliedSeq });
    const checkpointSeq = Math.min(appliedSeq, seqOf(checkpoint));
    this.#checkpoint.startAt({ stream, seq: checkpointSeq });
    this.#history.startAt({ stream, seq: seqOf(history) });
    return Math.min(checkpointSeq, seqOf(history));
  }

  #read(afterSequence: number): OrderedReader {
    return new OrderedReader(this.#deps.bus, {
      stream: 'TELEMETRY',
      subject: telemetrySubject(this.#partition.number),
      afterSequence,
      handler: (messages) => this.#processor.process(messages),
      onError: (error) => this.#warn(error),
    });
  }

  async #saveStates(): Promise<void> {
    await this.#applied.recoverWhileIdle(this.#isStopped).catch((error: unknown) => this.#warn(error));
    await this.#saveCheckpoint();
  }

  async #saveCheckpoint(): Promise<void> {
    await this.#checkpoint.save(this.#stopped.signal).catch((error: unknown) => this.#warn(error));
  }

  #createHistoryWriter(): HistoryWriter {
    const { database, metrics, log } = this.#deps;
    return new HistoryWriter(database, this.#offsets, {
      onError: (error) => this.#warn(error),
      onDropped: ({ points, buckets }) => {
        metrics.dropped(points);
        if (buckets.length > 0)
          log.warn({ buckets }, 'too many reports of one time, the clock of a terminal may have stopped');
      },
    });
  }

  readonly #isStopped = (): boolean => this.#stopped.signal.aborted;

  #warn(error: unknown): void {
    this.#deps.log.warn({ err: error, partition: this.#partition.number }, 'could not apply telemetry');
  }
}
