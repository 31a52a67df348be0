import { fleetChanged, subscribe } from '@fleet/bus';
import { geofencesByVehicle } from '../domains/geofences/queries.ts';
import type { Geofence } from '../domains/geofences/schema.ts';
import { listActiveRoutesByVehicle } from '../domains/planned-routes/queries.ts';
import type { StoredRoute } from '../domains/planned-routes/schema.ts';
import { findVehiclesByImei } from '../domains/vehicles/queries.ts';
import type { Vehicle } from '../domains/vehicles/schema.ts';
import type { Deps } from '../platform/deps.ts';
import { parseAttributes } from '../platform/fields.ts';
import type { RuleContext } from '../rules/rule.ts';
import type { RuleSettings } from '../rules/rule-settings.ts';

/** Input of the rules for a vehicle, without its mileage. */
export interface VehicleContext {
  readonly vehicle: Vehicle;
  readonly imei: string;
  readonly nextServiceKm: number | null;
  readonly geofences: readonly Geofence[];
  readonly routes: readonly StoredRoute[];
}

interface Areas {
  readonly geofences: ReadonlyMap<number, readonly Geofence[]>;
  readonly routes: ReadonlyMap<number, readonly StoredRoute[]>;
}

interface Cached<T> {
  readonly value: T;
  readonly untilMs: number;
}

const cacheTtlMs = 60_000;
/** A vehicle may be recorded at any time for a terminal that is already reporting. */
const missingTtlMs = 1_000;
const maxEntries = 200_000;
const none: readonly never[] = [];

/**
 * Caches the vehicles of terminals with their rule input, until a change event of the account, or for a minute. Events
 * of a broker outage are missed: everything is reloaded afterwards.
 */
export class VehicleContextCache {
  readonly #deps: Pick<Deps, 'records'>;
  readonly #vehicles = new Map<string, Cached<VehicleContext | null>>();
  readonly #areas = new Map<number, Cached<Promise<Areas>>>();
  readonly #subscription: { stop(): void };
  readonly #offReconnect: () => void;
  /** Rises with every change: a concurrent read may be outdated. */
  #changes = 0;

  constructor(deps: Pick<Deps, 'records' | 'bus' | 'log'>) {
    this.#deps = deps;
    const onError = (error: unknown): void => deps.log.warn({ err: error }, 'invalid fleet event');
    this.#subscription = subscribe(deps.bus, fleetChanged, onError, ({ accountId }) => this.invalidate(accountId));
    this.#offReconnect = deps.bus.onReconnect(() => this.#invalidateAll());
  }

  /** Returns the known terminals by canonical number; null for one without a vehicle. */
  async vehiclesOf(imeis: Iterable<string>, nowMs = performance.now()): Promise<Map<string, VehicleContext | null>> {
    const found = new Map<string, VehicleContext | null>();
    const missing: string[] = [];
    for (const imei of imeis) {
      const kept = this.#vehicles.get(imei);
      if (kept !== undefined && kept.untilMs > nowMs) found.set(imei, kept.value);
      else missing.push(imei);
    }
    if (missing.length > 0) await this.#read(missing, found, nowMs);
    return found;
  }

  /** Records of an account have changed: reload them. */
  invalidate(accountId: number): void {
    this.#changes += 1;
    this.#areas.delete(accountId);
    for (const [imei, { value }] of this.#vehicles)
      if (value === null || value.vehicle.accountId === accountId) this.#vehicles.delete(imei);
  }

  stop(): void {
    this.#subscription.stop();
    this.#offReconnect();
  }

  #invalidateAll(): void {
    this.#changes += 1;
    this.#areas.clear();
    this.#vehicles.clear();
  }

  async #read(imeis: readonly string[], found: Map<string, VehicleContext | null>, nowMs: number): Promise<void> {
    const changes = this.#changes;
    const vehicles = await findVehiclesByImei(this.#deps.records, imeis);
    if (this.#vehicles.size > maxEntries) this.#vehicles.clear();
    for (const imei of imeis) {
      const vehicle = vehicles.get(imei);
      const value = vehicle === undefined ? null : await this.#fleetVehicle(vehicle, imei, nowMs);
      const forMs = value === null ? missingTtlMs : cacheTtlMs;
      if (changes === this.#changes) this.#vehicles.set(imei, { value, untilMs: nowMs + forMs });
      found.set(imei, value);
    }
  }

  async #fleetVehicle(vehicle: Vehicle, imei: string, nowMs: number): Promise<VehicleContext> {
    const { geofences, routes } = await this.#areasOf(vehicle.accountId, nowMs);
    const { next_service_km: next } = parseAttributes(vehicle.attributes);
    return {
      vehicle,
      imei,
      nextServiceKm: typeof next === 'number' ? next : null,
      geofences: geofences.get(vehicle._id) ?? none,
      routes: routes.get(vehicle._id) ?? none,
    };
  }

  #areasOf(accountId: number, nowMs: number): Promise<Areas> {
    const kept = this.#areas.get(accountId);
    if (kept !== undefined && kept.untilMs > nowMs) return kept.value;
    const value = this.#readAreas(accountId);
    this.#areas.set(accountId, { value, untilMs: nowMs + cacheTtlMs });
    // The next caller retries a failure.
    value.catch(() => this.#areas.delete(accountId));
    return value;
  }

  async #readAreas(accountId: number): Promise<Areas> {
    const [geofences, routes] = await Promise.all([
      geofencesByVehicle(this.#deps, { accountId }),
      listActiveRoutesByVehicle(this.#deps, { accountId }),
    ]);
    return { geofences, routes };
  }
}

/** Returns the rule input of one report; `travelledKm` is the distance of the terminal in this vehicle so far. */
export function toRuleContext(known: VehicleContext, odometerKm: number, settings: RuleSettings): RuleContext {
  const { vehicle, imei, nextServiceKm, geofences, routes } = known;
  return {
    vehicle: {
      id: vehicle._id,
      accountId: vehicle.accountId,
      ownerUserId: vehicle.ownerUserId,
      vehicleNo: vehicle.vehicleNo,
      imei,
      timezone: vehicle.timezone,
      cameraUtcOffset: vehicle.cameraUtcOffset,
      speedLimitKmh: vehicle.speedLimitKmh,
      tankCapacityL: vehicle.tankCapacityL,
      driverId: vehicle.driverId,
      odometerKm,
      nextServiceKm,
    },
    geofences,
    routes,
    settings,
  };
}
