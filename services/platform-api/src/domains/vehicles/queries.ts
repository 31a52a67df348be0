import type { RecordStore } from '../../store/record-store.ts';
import type { Vehicle } from './schema.ts';

export { findVehicleByImei, findVehicleOwnerIds, findVehiclesByImei, vehicleCollection } from './store.ts';

/** Returns the total number of vehicles of some accounts. */
export const countVehicles = (records: RecordStore, accountIds: readonly number[]): Promise<number> =>
  records.collection<Vehicle>('vehicles').countDocuments({ accountId: { $in: [...accountIds] } });
