import type { Records } from '../../store/records.ts';
import { defaultCameraUtcOffset, normalVehicleNo } from './rules.ts';
import type { Vehicle } from './schema.ts';
import { findVehicleByImei, insertVehicle } from './store.ts';

/** What the other services need to know of a terminal; one without a vehicle is unknown and has the default clock. */
export async function findDevice(
  records: Records,
  imei: string,
): Promise<{ known: boolean; accountId: number | null; cameraUtcOffset: string }> {
  const vehicle = await findVehicleByImei(records, imei);
  if (vehicle === null) return { known: false, accountId: null, cameraUtcOffset: defaultCameraUtcOffset };
  return { known: true, accountId: vehicle.accountId, cameraUtcOffset: vehicle.cameraUtcOffset };
}

/** Puts a vehicle and its terminal on record; a terminal belongs to one vehicle of the whole system. */
export const recordVehicle = (
  records: Records,
  vehicle: { accountId: number; ownerUserId: number; vehicleNo: string; imei: string; cameraUtcOffset?: string },
): Promise<{ record: Vehicle; created: boolean }> =>
  insertVehicle(records, {
    accountId: vehicle.accountId,
    ownerUserId: vehicle.ownerUserId,
    vehicleNo: normalVehicleNo(vehicle.vehicleNo),
    imei: vehicle.imei,
    cameraUtcOffset: vehicle.cameraUtcOffset ?? defaultCameraUtcOffset,
  });
