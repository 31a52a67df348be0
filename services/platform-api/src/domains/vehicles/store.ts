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

const readAtOnce = 32;

/**
 * The vehicles of terminals by canonical number, of whatever account; terminals without one are left out. One by one, as the embedded database finds single ids by
 * its index and reads the whole collection for a list of them.
 */
export async function findVehiclesByImei(records: Records, imeis: readonly string[]): Promise<Map<string, Vehicle>> {
  const found = new Map<string, Vehicle>();
  for (let at = 0; at < imeis.length; at += readAtOnce) {
    const part = imeis.slice(at, at + readAtOnce);
    const vehicles = await Promise.all(part.map((imei) => findVehicleByImei(records, imei)));
    for (const [index, vehicle] of vehicles.entries()) if (vehicle !== null) found.set(part[index] ?? '', vehicle);
  }
  return found;
}
