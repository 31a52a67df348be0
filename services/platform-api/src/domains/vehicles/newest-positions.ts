import type { LocationResponse } from '../last-positions/responses.ts';
import { locationNow, vehicleStates } from './states.ts';
import { vehiclesIn } from './store.ts';
import type { Parts } from './use-cases.ts';

/**
 * Returns the newest positions of the vehicles of an account, or of some of them, as the account itself sees them,
 * without vehicles that never reported.
 */
export async function positionsOfAccount(
  deps: Parts,
  accountId: number,
  among?: readonly number[],
): Promise<LocationResponse[]> {
  const where = among === undefined ? {} : { _id: { $in: [...among] } };
  const found = await vehiclesIn(deps.records).project({ accountId }, ['imei', 'driverId'], where);
  const states = await vehicleStates(
    deps,
    found.flatMap(({ imei }) => (imei === null ? [] : [imei])),
  );
  return found.flatMap(({ _id: id, imei, driverId }) => {
    const now = imei === null ? undefined : states.get(imei);
    const location = now && locationNow(now, { id, driverId });
    return location === null || location === undefined ? [] : [location];
  });
}
