import { AccountRecords } from '../../store/account-records.ts';
import type { Records } from '../../store/records.ts';
import type { Vehicle } from './schema.ts';

export const vehiclesIn = (records: Records): AccountRecords<Vehicle> =>
  new AccountRecords<Vehicle>(records, 'vehicles', { unique: { vehicleNo: 'account', imei: 'system' } });

/** Of whatever account: a terminal belongs to one vehicle of the system. */
export async function findVehicleByImei(records: Records, imei: string): Promise<Vehicle | null> {
  const vehicle = await records.findByUnique<Vehicle>('vehicles', 'imei', imei);
  return vehicle?.imei === imei ? vehicle : null;
}

/** The owning users of vehicles of whatever account, by vehicle; one that is gone has none. */
export async function ownersOfVehicles(records: Records, ids: readonly number[]): Promise<Map<number, number>> {
  if (ids.length === 0) return new Map();
  const found = await records
    .collection<Vehicle>('vehicles')
    .find({ _id: { $in: [...ids] } }, { projection: { ownerUserId: 1 } })
    .toArray();
  return new Map(found.map(({ _id, ownerUserId }) => [_id, ownerUserId]));
}

/** The vehicles of terminals by canonical number, of whatever account; terminals without one are left out. */
export async function findVehiclesByImei(records: Records, imeis: readonly string[]): Promise<Map<string, Vehicle>> {
  const found = new Map<string, Vehicle>();
  if (imeis.length === 0) return found;
  const holders = await records.uniqueValues
    .find({ _id: { $in: imeis.map((imei) => `vehicles.imei:${imei}`) } })
    .toArray();
  const vehicles = await records
    .collection<Vehicle>('vehicles')
    .find({ _id: { $in: holders.map(({ recordId }) => recordId) } })
    .toArray();
  const wanted = new Set(imeis);
  for (const vehicle of vehicles)
    if (vehicle.imei !== null && wanted.has(vehicle.imei)) found.set(vehicle.imei, vehicle);
  return found;
}
