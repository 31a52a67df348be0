import type { Collection } from '@fleet/storage';
import { partitionTag } from '../domains/last-positions/queries.ts';
import { writeBatchStates } from '../domains/vehicle-states/commands.ts';
import type { VehicleState } from '../domains/vehicle-states/vehicle-state.ts';
import type { Deps } from '../platform/deps.ts';
import { PartitionLost } from './partition.ts';

/** Offset in a partition: the stream by its creation time, and the sequence number of the last message. */
export interface PartitionOffset {
  readonly stream: string;
  readonly seq: number;
}

/** The stored offsets of a partition; null if there is none. */
interface StoredOffsets {
  /** In Redis: all reports were processed, and their states are in Redis. */
  readonly applied: PartitionOffset | null;
  /** In MongoDB: MongoDB has the states of all reports. */
  readonly checkpoint: PartitionOffset | null;
  /** In MongoDB: the history has the points of all reports. */
  readonly history: PartitionOffset | null;
}

type StateDeps = Pick<Deps, 'redis' | 'config' | 'database'>;
type OffsetRecord = PartitionOffset & { readonly _id: string };

const formatOffset = ({ stream, seq }: PartitionOffset): string => `${seq}@${stream}`;

/** Stores the offsets of one partition in Redis and MongoDB. */
export class OffsetStore {
  readonly #deps: StateDeps;
  readonly #records: Collection<OffsetRecord>;
  readonly #partition: number;
  readonly #appliedKey: string;
  readonly #checkpointId: string;
  readonly #historyId: string;

  constructor(deps: StateDeps, partition: number) {
    this.#deps = deps;
    this.#records = deps.database.collection<OffsetRecord>('telemetry_places');
    this.#partition = partition;
    this.#appliedKey = `telemetry-place:${partitionTag(partition)}`;
    this.#checkpointId = String(partition);
    this.#historyId = `history:${partition}`;
  }

  async readAll(): Promise<StoredOffsets> {
    const [applied, checkpoint, history] = await Promise.all([
      this.readApplied(),
      this.#records.findOne({ _id: this.#checkpointId }),
      this.#records.findOne({ _id: this.#historyId }),
    ]);
    return { applied, checkpoint, history };
  }

  async readApplied(): Promise<PartitionOffset | null> {
    const text = await this.#deps.redis.get(this.#appliedKey);
    const [, seq, stream = ''] = /^(\d+)@(.*)$/.exec(text ?? '') ?? [];
    return seq === undefined ? null : { stream, seq: Number(seq) };
  }

  /**
   * Writes the states and last positions of a batch together with the applied offset. Throws PartitionLost unless the
   * stored offset is `expected`. Returns `emptied` if Redis has lost its offset.
   */
  async writeApplied(
    expected: PartitionOffset | null,
    next: PartitionOffset,
    states: ReadonlyMap<string, VehicleState>,
  ): Promise<'written' | 'emptied'> {
    const change = {
      key: this.#appliedKey,
      expected: expected === null ? '' : formatOffset(expected),
      next: formatOffset(next),
    };
    const result = await writeBatchStates(this.#deps, change, states);
    if (result === 'conflict') throw new PartitionLost(`partition ${this.#partition} belongs to another replica`);
    return result;
  }

  async saveCheckpoint(offset: PartitionOffset): Promise<void> {
    await this.#save(this.#checkpointId, offset);
  }

  async saveHistory(offset: PartitionOffset): Promise<void> {
    await this.#save(this.#historyId, offset);
  }

  async #save(_id: string, { stream, seq }: PartitionOffset): Promise<void> {
    await this.#records.updateOne({ _id }, { $set: { stream, seq } }, { upsert: true });
  }
}
