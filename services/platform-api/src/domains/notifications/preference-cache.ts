import { fleetChanged, subscribe } from '@fleet/bus';
import { TtlCache } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import type { WantedNotifications } from './preferences.ts';
import { defaultTypes } from './rules.ts';
import type { VehiclePreferences } from './schema.ts';
import { findPreferencesOfVehicles } from './store.ts';

/** Preferences of users for a vehicle. A user without stored preferences has the default. */
class VehiclePreferenceSet {
  readonly #byUser: ReadonlyMap<number, WantedNotifications>;

  constructor(stored: readonly VehiclePreferences[]) {
    this.#byUser = new Map(
      stored.map(({ userId, notificationTypes, channels }) => [
        userId,
        { notificationTypes, channels, isDefault: false },
      ]),
    );
  }

  forUser(userId: number): WantedNotifications {
    return this.#byUser.get(userId) ?? defaultPreferences;
  }

  wants(userId: number, type: string): boolean {
    const stored = this.#byUser.get(userId);
    return stored === undefined ? defaultTypeSet.has(type) : stored.notificationTypes.includes(type);
  }
}

/** Preferences of a user who has not stored any. */
const defaultPreferences: WantedNotifications = {
  notificationTypes: defaultTypes,
  channels: ['push'],
  isDefault: true,
};
const defaultTypeSet: ReadonlySet<string> = new Set(defaultTypes);

/** Age after which a change takes effect even if its event was published while the broker was unavailable. */
const cacheTtlMs = 5_000;

/** Caches notification preferences by vehicle, which are read often and change seldom. */
export class PreferenceCache {
  readonly #records: Deps['records'];
  readonly #listening: { stop(): void };
  readonly #byVehicle = new TtlCache<VehiclePreferenceSet, number>({ ttlMs: cacheTtlMs });
  #changes = 0;

  constructor({ records, bus, log }: Pick<Deps, 'records' | 'bus' | 'log'>) {
    this.#records = records;
    const onError = (error: unknown): void => log.error({ err: error }, 'could not parse a fleet change');
    this.#listening = subscribe(bus, fleetChanged, onError, ({ kind }) => {
      // Users of other accounts have preferences for a vehicle, too, so every change clears the cache.
      if (kind === 'preferences') this.#clear();
    });
  }

  /** Returns the preferences for each of the vehicles. */
  async ofVehicles(vehicleIds: readonly number[]): Promise<ReadonlyMap<number, VehiclePreferenceSet>> {
    const found = new Map<number, VehiclePreferenceSet>();
    const missing = new Set<number>();
    for (const id of vehicleIds) {
      const cached = await this.#byVehicle.peek(id);
      if (cached === undefined) missing.add(id);
      else found.set(id, cached);
    }
    if (missing.size === 0) return found;
    const changes = this.#changes;
    const stored = new Map<number, VehiclePreferences[]>();
    for (const each of await findPreferencesOfVehicles(this.#records, [...missing]))
      stored.set(each.vehicleId, [...(stored.get(each.vehicleId) ?? []), each]);
    for (const id of missing) {
      const preferences = new VehiclePreferenceSet(stored.get(id) ?? []);
      found.set(id, preferences);
      // Preferences that were read before a concurrent change are used once and not cached.
      if (changes === this.#changes) this.#byVehicle.set(id, preferences);
    }
    return found;
  }

  stop(): void {
    this.#listening.stop();
  }

  #clear(): void {
    this.#changes += 1;
    this.#byVehicle.clear();
  }
}
