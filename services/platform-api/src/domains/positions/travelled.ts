import type { Deps } from '../../platform/deps.ts';
import { readStates } from '../vehicle-states/queries.ts';
import { isStateOf } from '../vehicle-states/vehicle-state.ts';
import type { Vehicle } from '../vehicles/schema.ts';

type DistanceDeps = Pick<Deps, 'records' | 'redis' | 'config' | 'log'>;

/**
 * Returns the distance that vehicles have travelled with their current terminals, by vehicle id. Vehicles that have not
 * reported are absent, and all are while neither Redis nor the database is available.
 */
export async function travelledKm(
  deps: DistanceDeps,
  vehicles: readonly Pick<Vehicle, '_id' | 'imei' | 'terminalSinceMs'>[],
): Promise<ReadonlyMap<number, number>> {
  const byImei = new Map(vehicles.flatMap((vehicle) => (vehicle.imei === null ? [] : [[vehicle.imei, vehicle]])));
  try {
    const states = await readStates(deps, deps.records.database, [...byImei.keys()]);
    // The count of a terminal that was in another vehicle starts again with its first report in this one.
    const own = [...states].filter(([imei, state]) => isStateOf(state, byImei.get(imei)));
    return new Map(own.map(([, { vehicleId, travelledKm: km }]) => [vehicleId, km]));
  } catch (error) {
    deps.log.warn({ err: error }, 'could not read the distances of vehicles');
    return new Map();
  }
}
