import type { Caller } from '../../access/caller.ts';
import type { Filter } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import { visibleVehicles } from '../vehicles/visibility.ts';

type VisibilityDeps = { readonly records: RecordStore };

/**
 * Returns the filter of visible routes: users with the role driver see the routes of their own vehicles, others all
 * routes of the account.
 */
export const visibilityFilter = async (deps: VisibilityDeps, caller: Caller): Promise<Filter> =>
  caller.role === 'driver' ? ownVehiclesFilter(deps, caller) : {};

/** Returns the filter of routes of the account's vehicles that the caller may see. */
export async function ownVehiclesFilter(
  deps: VisibilityDeps,
  caller: Caller,
  vehicleIds?: readonly number[],
): Promise<Filter> {
  const found = await visibleVehicles(deps, caller, vehicleIds);
  return { vehicleIds: { $in: found.flatMap(({ vehicle, access }) => (access === 'owner' ? [vehicle._id] : [])) } };
}
