import type { RecordStore } from '../../store/record-store.ts';
import type { Vehicle } from './schema.ts';

/** How many vehicles some accounts have together. */
export const countVehicles = (records: RecordStore, accountIds: readonly number[]): Promise<number> =>
  records.collection<Vehicle>('vehicles').countDocuments({ accountId: { $in: [...accountIds] } });
