import type { Caller } from '../../access/caller.ts';
import type { Filter } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import { visibleVehicles } from '../vehicles/visibility.ts';

type Store = { readonly records: RecordStore };

/**
 * Returns the filter of visible routes: users with the role driver see the routes of their own vehicles, others all
 * routes of the account.
 */
export const visiblePart = async (deps: Store, caller: Caller): Promise<Filter> =>
  caller.role === 'driver' ? ofOwnVehicles(deps, caller) : {};

/** Returns the filter of routes of the account's vehicles that the caller may see. */
export async function ofOwnVehicles(deps: Store, caller: Caller, among?: readonly number[]): Promise<Filter> {
  const found = await visibleVehicles(deps, caller, among);
  return { vehicleIds: { $in: found.flatMap(({ vehicle, access }) => (access === 'owner' ? [vehicle._id] : [])) } };
}
