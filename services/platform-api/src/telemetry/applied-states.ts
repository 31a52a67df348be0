import type { VehicleState } from '../domains/vehicle-states/vehicle-state.ts';
import type { OffsetStore, PartitionOffset } from './offset-store.ts';
import { type Partition, PartitionLost } from './partition.ts';
import type { RedisRecovery } from './redis-recovery.ts';
import type { StateCache } from './state-cache.ts';

/**
 * Writes the states of a partition to Redis together with the applied offset, by compare-and-set on that offset: of two
 * replicas, one continues.
 */
export class AppliedStates {
  readonly #partition: Partition;
  readonly #offsets: OffsetStore;
  readonly #states: StateCache;
  readonly #recovery: RedisRecovery;
  #offset: PartitionOffset = { stream: '', seq: 0 };

  constructor(partition: Partition, offsets: OffsetStore, states: StateCache, recovery: RedisRecovery) {
    this.#partition = partition;
    this.#offsets = offsets;
    this.#states = states;
    this.#recovery = recovery;
  }

  /** Offset up to which all reports were processed. */
  get offset(): PartitionOffset {
    return this.#offset;
  }

  /** Takes over the partition at an offset; `stored` is the one in Redis. */
  async takeOver(stored: PartitionOffset | null, offset: PartitionOffset): Promise<void> {
    this.#offset = offset;
    await this.#offsets.writeApplied(stored, offset, new Map());
  }

  /** Writes the states of a batch and its offset. */
  async write(offset: PartitionOffset, states: ReadonlyMap<string, VehicleState>): Promise<void> {
    const written = await this.#writeOver(offset, states);
    this.#offset = offset;
    this.#states.add(states);
    if (written === 'emptied') this.#recovery.request();
  }

  /** Refills an emptied Redis while no terminal of this partition reports, which may be for days. */
  async recoverWhileIdle(isEnded: () => boolean): Promise<void> {
    const offset = this.#offset;
    try {
      if (!this.#partition.isHeld() || (await this.#offsets.readApplied()) !== null) return;
      if (!(await this.#recovery.refill(isEnded))) return;
      await this.#offsets.writeApplied(offset, offset, new Map());
    } catch (error) {
      // A concurrent batch has refilled it.
      if (!(error instanceof PartitionLost)) throw error;
    }
  }

  /** Refills a Redis that restarted with older data; throws PartitionLost if another replica has continued. */
  async #writeOver(offset: PartitionOffset, states: ReadonlyMap<string, VehicleState>): Promise<'written' | 'emptied'> {
    try {
      return await this.#offsets.writeApplied(this.#offset, offset, states);
    } catch (error) {
      if (!(error instanceof PartitionLost)) throw error;
      const stored = await this.#offsets.readApplied();
      const isOlder = stored !== null && stored.stream === offset.stream && stored.seq < this.#offset.seq;
      if (isOlder) {
        const all = await this.#recovery.onlyCurrent([...this.#states.newest, ...states]);
        return await this.#offsets.writeApplied(stored, offset, new Map(all));
      }
      // Continues from the other replica's offset, should the partition come back.
      this.#states.clear();
      if (stored !== null) this.#offset = stored;
      throw error;
    }
  }
}
