import type { Deps } from '../../platform/deps.ts';
import { readStates } from '../vehicle-states/queries.ts';
import { isStateOf } from '../vehicle-states/vehicle-state.ts';
import type { Vehicle } from '../vehicles/schema.ts';

type Parts = Pick<Deps, 'records' | 'redis' | 'log'>;

/** How far vehicles have come with the terminals that they have, by vehicle id; nothing of those that have not reported, and while neither Redis nor the database say so. */
export async function travelledKm(
  { redis, records, log }: Parts,
  vehicles: readonly Pick<Vehicle, '_id' | 'imei' | 'terminalSinceMs'>[],
): Promise<ReadonlyMap<number, number>> {
  const byImei = new Map(vehicles.flatMap((vehicle) => (vehicle.imei === null ? [] : [[vehicle.imei, vehicle]])));
  try {
    const states = await readStates(redis, records.database, [...byImei.keys()]);
    // A terminal that was in another vehicle begins again with its first report in this one.
    const own = [...states].filter(([imei, state]) => isStateOf(state, byImei.get(imei)));
    return new Map(own.map(([, { vehicleId, travelledKm: km }]) => [vehicleId, km]));
  } catch (error) {
    log.warn({ err: error }, 'how far vehicles have come could not be read');
    return new Map();
  }
}
