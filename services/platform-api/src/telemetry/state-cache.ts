import { readStates } from '../domains/vehicle-states/queries.ts';
import type { VehicleState } from '../domains/vehicle-states/vehicle-state.ts';
import type { Deps } from '../platform/deps.ts';

type StateDeps = Pick<Deps, 'redis' | 'config' | 'database'>;

/** Largest number of states in memory; others are read again. */
const maxStates = 100_000;

/** Caches the newest states of a partition's vehicles by canonical number, and which of them are not in MongoDB yet. */
export class StateCache {
  readonly #deps: StateDeps;
  readonly #newest = new Map<string, VehicleState>();
  #unsaved = new Map<string, VehicleState>();

  constructor(deps: StateDeps) {
    this.#deps = deps;
  }

  /** Returns states from memory, and missing ones from Redis or MongoDB. */
  async read(imeis: readonly string[]): Promise<Map<string, VehicleState>> {
    const missing = imeis.filter((imei) => !this.#newest.has(imei));
    const stored =
      missing.length === 0
        ? new Map<string, VehicleState>()
        : await readStates(this.#deps, this.#deps.database, missing);
    const states = new Map<string, VehicleState>();
    for (const imei of imeis) {
      const state = this.#newest.get(imei) ?? stored.get(imei);
      if (state !== undefined) states.set(imei, state);
    }
    return states;
  }

  /** Adds the states of a batch. */
  add(states: ReadonlyMap<string, VehicleState>): void {
    if (this.#newest.size > maxStates) this.#newest.clear();
    for (const [imei, state] of states) {
      this.#newest.set(imei, state);
      // Persisted states, too: an older one of the same vehicle may be on its way to MongoDB.
      this.#unsaved.set(imei, state);
    }
  }

  /** Marks states that MongoDB may lack; newer ones remain. */
  markUnsaved(states: Iterable<readonly [string, VehicleState]>): void {
    for (const [imei, state] of states) if (!this.#unsaved.has(imei)) this.#unsaved.set(imei, state);
  }

  get unsavedCount(): number {
    return this.#unsaved.size;
  }

  /** Returns the unsaved states, which then count as saved. */
  takeUnsaved(): ReadonlyMap<string, VehicleState> {
    const unsaved = this.#unsaved;
    this.#unsaved = new Map();
    return unsaved;
  }

  /** States in memory. */
  get newest(): ReadonlyMap<string, VehicleState> {
    return this.#newest;
  }

  /** Evicts the states in memory; unsaved ones stay marked. */
  clear(): void {
    this.#newest.clear();
  }
}
