import { findByIds } from '@fleet/storage';
import { AccountRepository } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { Vehicle } from './schema.ts';

export const vehicleCollection = (records: RecordStore): AccountRepository<Vehicle> =>
  new AccountRepository<Vehicle>(records, 'vehicles', { unique: { vehicleNo: 'account', imei: 'system' } });

/** Returns the vehicle of a terminal in any account; a terminal belongs to one vehicle of the system. */
export async function findVehicleByImei(records: RecordStore, imei: string): Promise<Vehicle | null> {
  const vehicle = await records.findByUnique<Vehicle>('vehicles', 'imei', imei);
  return vehicle?.imei === imei ? vehicle : null;
}

/** Returns the owning users of vehicles of any account, by vehicle. A deleted vehicle has none. */
export async function findVehicleOwnerIds(records: RecordStore, ids: readonly number[]): Promise<Map<number, number>> {
  if (ids.length === 0) return new Map();
  const found = await records
    .collection<Vehicle>('vehicles')
    .find({ _id: { $in: [...ids] } }, { projection: { ownerUserId: 1 } })
    .toArray();
  return new Map(found.map(({ _id, ownerUserId }) => [_id, ownerUserId]));
}

/** Returns the vehicles of terminals of any account, by canonical number. Terminals without a vehicle are left out. */
export async function findVehiclesByImei(
  records: RecordStore,
  imeis: readonly string[],
): Promise<Map<string, Vehicle>> {
  const claims = await findByIds(
    records.uniqueValues,
    imeis.map((imei) => `vehicles.imei:${imei}`),
  );
  const vehicles = await findByIds(
    records.collection<Vehicle>('vehicles'),
    claims.map(({ recordId }) => recordId),
  );
  const wanted = new Set(imeis);
  return new Map(vehicles.flatMap((each) => (each.imei !== null && wanted.has(each.imei) ? [[each.imei, each]] : [])));
}
