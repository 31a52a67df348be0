import type { LocationResponse } from '../last-positions/responses.ts';
import { readLiveStates, toCurrentLocation } from './live-states.ts';
import { vehicleCollection } from './store.ts';
import type { VehicleDeps } from './use-cases.ts';

/**
 * Returns the newest positions of the vehicles of an account, or of some of them, as the account itself sees them.
 * Omits vehicles that never reported.
 */
export async function findAccountPositions(
  deps: VehicleDeps,
  accountId: number,
  vehicleIds?: readonly number[],
): Promise<LocationResponse[]> {
  const where = vehicleIds === undefined ? {} : { _id: { $in: [...vehicleIds] } };
  const found = await vehicleCollection(deps.records).project({ accountId }, ['imei', 'driverId'], where);
  const states = await readLiveStates(
    deps,
    found.flatMap(({ imei }) => (imei === null ? [] : [imei])),
  );
  return found.flatMap(({ _id: id, imei, driverId }) => {
    const liveState = imei === null ? undefined : states.get(imei);
    const location = liveState && toCurrentLocation(liveState, { id, driverId });
    return location === null || location === undefined ? [] : [location];
  });
}
