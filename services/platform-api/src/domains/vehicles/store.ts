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
