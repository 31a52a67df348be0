import { AppError } from '@fleet/service-kit';
import { AccountRepository } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { VehicleGroup } from './schema.ts';

export const groupCollection = (records: RecordStore): AccountRepository<VehicleGroup> =>
  new AccountRepository<VehicleGroup>(records, 'vehicle_groups', { unique: { siblingKey: 'account' } });

/** Translates the error of a taken sibling key to one of the name. */
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
