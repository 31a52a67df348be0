import type { Deps } from '../../platform/deps.ts';
import { neverConnected, readLiveStates, toCurrentLocation } from './live-states.ts';
import type { VehicleResponse } from './schema.ts';
import { type Viewer, visibleVehicles } from './visibility.ts';

/** Vehicle as the responses of other domains contain it. */
type VehicleSummary = Pick<VehicleResponse, 'id' | 'vehicle_no' | 'name' | 'imei' | 'state' | 'location'>;

/** Returns those of the vehicles that the caller may see, by id. */
export async function findVehicleSummaries(
  deps: Pick<Deps, 'records' | 'redis' | 'config' | 'log' | 'thresholds'>,
  caller: Viewer,
  ids: readonly number[],
): Promise<Map<number, VehicleSummary>> {
  const found = await visibleVehicles(deps, caller, ids);
  const states = await readLiveStates(
    deps,
    found.flatMap(({ vehicle: { imei } }) => (imei === null ? [] : [imei])),
  );
  return new Map(
    found.map(({ vehicle, access }) => {
      const { _id: id, vehicleNo, name, imei, recordedImei } = vehicle;
      const liveState = (imei === null ? undefined : states.get(imei)) ?? neverConnected;
      const location = toCurrentLocation(liveState, { id, driverId: access === 'owner' ? vehicle.driverId : null });
      return [
        id,
        {
          id,
          vehicle_no: vehicleNo,
          name,
          imei: liveState.displayImei ?? recordedImei ?? imei,
          state: liveState.state,
          location,
        },
      ];
    }),
  );
}
