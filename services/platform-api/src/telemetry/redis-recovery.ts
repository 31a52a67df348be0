import { restoreStates } from '../domains/vehicle-states/commands.ts';
import { allStoredStates } from '../domains/vehicle-states/queries.ts';
import { isStateOf, type VehicleState } from '../domains/vehicle-states/vehicle-state.ts';
import type { Deps } from '../platform/deps.ts';
import type { Partition } from './partition.ts';
import type { StateCache } from './state-cache.ts';
import type { VehicleContextCache } from './vehicle-context-cache.ts';

type StateEntry = readonly [imei: string, state: VehicleState];

const pageSize = 500;

/** Refills a Redis that has lost the states of a partition. */
export class RedisRecovery {
  readonly #deps: Pick<Deps, 'redis' | 'config' | 'database' | 'log'>;
  readonly #vehicles: VehicleContextCache;
  readonly #partition: Partition;
  readonly #states: StateCache;
  #isNeeded = false;

  constructor(
    deps: Pick<Deps, 'redis' | 'config' | 'database' | 'log'> & { readonly vehicles: VehicleContextCache },
    partition: Partition,
    states: StateCache,
  ) {
    this.#deps = deps;
    this.#vehicles = deps.vehicles;
    this.#partition = partition;
    this.#states = states;
  }

  /** True from the loss of the states in Redis until a refill is complete. */
  get isNeeded(): boolean {
    return this.#isNeeded;
  }

  request(): void {
    this.#isNeeded = true;
  }

  /**
   * Writes the states in memory to Redis, and those of silent vehicles from MongoDB. Returns false if it ended before
   * all were written.
   */
  async refill(isEnded: () => boolean): Promise<boolean> {
    await restoreStates(this.#deps, await this.onlyCurrent([...this.#states.newest]));
    if (!(await this.restoreFromDatabase(isEnded))) return false;
    this.#isNeeded = false;
    return true;
  }

  /** Writes MongoDB's states of this partition to Redis; returns false if it ended before all were written. */
  async restoreFromDatabase(isEnded: () => boolean): Promise<boolean> {
    const { database, log } = this.#deps;
    let page: StateEntry[] = [];
    let count = 0;
    for await (const entry of allStoredStates(database, (imei) => this.#partition.contains(imei))) {
      if (isEnded()) return false;
      page.push(entry);
      count += 1;
      if (page.length < pageSize) continue;
      await restoreStates(this.#deps, await this.onlyCurrent(page));
      page = [];
    }
    await restoreStates(this.#deps, await this.onlyCurrent(page));
    if (isEnded()) return false;
    log.warn({ partition: this.#partition.number, count }, 'Redis was empty, restored the states from the database');
    return true;
  }

  /** Returns the states of terminals that are still in the same vehicle. */
  async onlyCurrent(states: readonly StateEntry[]): Promise<readonly StateEntry[]> {
    const vehicles = await this.#vehicles.vehiclesOf(states.map(([imei]) => imei));
    return states.filter(([imei, state]) => isStateOf(state, vehicles.get(imei)?.vehicle));
  }
}
