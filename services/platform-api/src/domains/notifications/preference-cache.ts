import { fleetChanged, subscribe } from '@fleet/bus';
import { TtlCache } from '@fleet/service-kit';
import type { Deps } from '../../platform/deps.ts';
import type { WantedNotifications } from './preferences.ts';
import { defaultTypes } from './rules.ts';
import type { VehiclePreferences } from './schema.ts';
import { findPreferencesOfVehicles } from './store.ts';

/** What users have said about a vehicle; who has said nothing has the default. */
export class VehicleWishes {
  readonly #byUser: ReadonlyMap<number, WantedNotifications>;

  constructor(stored: readonly VehiclePreferences[]) {
    this.#byUser = new Map(
      stored.map(({ userId, notificationTypes, channels }) => [
        userId,
        { notificationTypes, channels, isDefault: false },
      ]),
    );
  }

  of(userId: number): WantedNotifications {
    return this.#byUser.get(userId) ?? defaultWish;
  }

  wants(userId: number, type: string): boolean {
    const stored = this.#byUser.get(userId);
    return stored === undefined ? defaultTypeSet.has(type) : stored.notificationTypes.includes(type);
  }
}

/** What a user is told who has not said anything. */
export const defaultWish: WantedNotifications = {
  notificationTypes: defaultTypes,
  channels: ['push'],
  isDefault: true,
};
const defaultTypeSet: ReadonlySet<string> = new Set(defaultTypes);

/** A change that was announced while the broker was away counts after this time. */
const cacheTtlMs = 5_000;

/** What users want to be told, by vehicle: read often, and changed seldom. */
export class PreferenceCache {
  readonly #records: Deps['records'];
  readonly #listening: { stop(): void };
  readonly #byVehicle = new TtlCache<VehicleWishes, number>({ ttlMs: cacheTtlMs });
  #changes = 0;

  constructor({ records, bus, log }: Pick<Deps, 'records' | 'bus' | 'log'>) {
    this.#records = records;
    const onError = (error: unknown): void => log.error({ err: error }, 'a change of the fleet was not understood');
    this.#listening = subscribe(bus, fleetChanged, onError, ({ kind }) => {
      // Also users of other accounts say what they want of a vehicle: it is not worth telling whose.
      if (kind === 'preferences') this.#clear();
    });
  }

  /** The wishes about each of the vehicles. */
  async ofVehicles(vehicleIds: readonly number[]): Promise<ReadonlyMap<number, VehicleWishes>> {
    const found = new Map<number, VehicleWishes>();
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
      const preferences = new VehicleWishes(stored.get(id) ?? []);
      found.set(id, preferences);
      // What was read before a change that has been announced meanwhile counts this once.
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
