import type { Deps } from '../../platform/deps.ts';
import type { VehicleResponse } from './schema.ts';
import { locationNow, neverConnected, vehicleStates } from './states.ts';
import { type Viewer, visibleVehicles } from './visibility.ts';

/** Vehicle as the responses of other domains contain it. */
export type BriefVehicle = Pick<VehicleResponse, 'id' | 'vehicle_no' | 'name' | 'imei' | 'state' | 'location'>;

/** Returns those of the vehicles that the caller may see, by id. */
export async function briefVehicles(
  deps: Pick<Deps, 'records' | 'redis' | 'log'>,
  caller: Viewer,
  ids: readonly number[],
): Promise<Map<number, BriefVehicle>> {
  const found = await visibleVehicles(deps, caller, ids);
  const states = await vehicleStates(
    deps,
    found.flatMap(({ vehicle: { imei } }) => (imei === null ? [] : [imei])),
  );
  return new Map(
    found.map(({ vehicle, access }) => {
      const { _id: id, vehicleNo, name, imei, recordedImei } = vehicle;
      const now = (imei === null ? undefined : states.get(imei)) ?? neverConnected;
      const location = locationNow(now, { id, driverId: access === 'owner' ? vehicle.driverId : null });
      return [
        id,
        { id, vehicle_no: vehicleNo, name, imei: now.displayImei ?? recordedImei ?? imei, state: now.state, location },
      ];
    }),
  );
}
