import { AppError } from '@fleet/service-kit';
import { AccountRecords } from '../../store/account-records.ts';
import type { Records } from '../../store/records.ts';
import type { VehicleGroup } from './schema.ts';

export const groupsIn = (records: Records): AccountRecords<VehicleGroup> =>
  new AccountRecords<VehicleGroup>(records, 'vehicle_groups', { unique: { siblingKey: 'account' } });

/** Says of a taken sibling key what it means: the name. */
export async function namingSiblings<T>(write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'duplicate') throw error;
    throw new AppError('duplicate', 'Another group of the same parent has this name.', {
      details: [{ path: '/name', message: 'is taken' }],
    });
  }
}
