import type { Deps } from '../../deps.ts';
import type { VehicleShown } from './schema.ts';
import { vehicleStates } from './states.ts';
import { type Viewer, visibleVehicles } from './visibility.ts';

/** A vehicle as other domains' answers have it. */
export type BriefVehicle = Pick<VehicleShown, 'id' | 'vehicle_no' | 'name' | 'imei' | 'state' | 'location'>;

/** Those of the vehicles that the caller may see, by id. */
export async function briefVehicles(
  deps: Pick<Deps, 'records' | 'redis' | 'log'>,
  caller: Viewer,
  ids: readonly number[],
): Promise<Map<number, BriefVehicle>> {
  const found = (await visibleVehicles(deps, caller, ids)).map(({ vehicle }) => vehicle);
  const states = await vehicleStates(
    deps,
    found.flatMap(({ imei }) => (imei === null ? [] : [imei])),
  );
  return new Map(
    found.map(({ _id: id, vehicleNo, name, imei, recordedImei }) => {
      const now = imei === null ? undefined : states.get(imei);
      const shownImei = now?.shownImei ?? recordedImei ?? imei;
      const present = { state: now?.state ?? 'never_connected', location: now?.location ?? null } as const;
      return [id, { id, vehicle_no: vehicleNo, name, imei: shownImei, ...present }];
    }),
  );
}
