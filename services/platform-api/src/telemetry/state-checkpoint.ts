import type { Database } from '@fleet/storage';
import { storeStates } from '../domains/vehicle-states/commands.ts';
import type { OffsetStore, PartitionOffset } from './offset-store.ts';
import type { Partition } from './partition.ts';
import type { StateCache } from './state-cache.ts';

/** With this many unsaved states they are saved as fast as possible, without yielding to others. */
const urgentCount = 5_000;

/** Saves the states of a partition to MongoDB, and then the offset up to which MongoDB has all of them. */
export class StateCheckpoint {
  readonly #database: Database;
  readonly #partition: Partition;
  readonly #offsets: OffsetStore;
  readonly #states: StateCache;
  /** Offset up to which MongoDB has all states, except the unsaved ones. */
  #offset: PartitionOffset = { stream: '', seq: 0 };

  constructor(database: Database, partition: Partition, offsets: OffsetStore, states: StateCache) {
    this.#database = database;
    this.#partition = partition;
    this.#offsets = offsets;
    this.#states = states;
  }

  /** Sets the offset at which this replica starts. */
  startAt(offset: PartitionOffset): void {
    this.#offset = offset;
  }

  /** Moves the offset forward; the states up to it are saved or marked as unsaved. */
  advance(offset: PartitionOffset): void {
    if (offset.seq > this.#offset.seq) this.#offset = offset;
  }

  /** Saves all unsaved states, and then the offset. They stay unsaved if it rejects. */
  async save(stopped: AbortSignal): Promise<void> {
    // A replica that was paused would overwrite what another one has saved since.
    if (!this.#partition.isHeld()) return;
    const offset = this.#offset;
    const states = this.#states.takeUnsaved();
    try {
      await storeStates(this.#database, states, () => {
        this.#partition.assertHeld();
        return stopped.aborted || this.#states.unsavedCount > urgentCount;
      });
      if (offset.seq > 0) await this.#offsets.saveCheckpoint(offset);
    } catch (error) {
      this.#states.markUnsaved(states);
      throw error;
    }
  }
}
