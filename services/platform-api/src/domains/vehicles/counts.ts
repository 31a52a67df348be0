import type { Records } from '../../store/records.ts';
import type { Vehicle } from './schema.ts';

/** How many vehicles some accounts have together. */
export const countVehicles = (records: Records, accountIds: readonly number[]): Promise<number> =>
  records.collection<Vehicle>('vehicles').countDocuments({ accountId: { $in: [...accountIds] } });
