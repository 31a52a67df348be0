import type { NewRecord, Records } from '../../store/records.ts';
import type { Vehicle } from './schema.ts';

export const findVehicleByImei = (records: Records, imei: string): Promise<Vehicle | null> =>
  records.findByUnique<Vehicle>('vehicles', 'imei', imei);

export const insertVehicle = (records: Records, vehicle: NewRecord<Vehicle>) =>
  records.insertUnique<Vehicle>('vehicles', 'imei', vehicle.imei, vehicle);
