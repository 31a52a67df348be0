import type { Caller } from '../../access/caller.ts';
import type { Filter } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import { visibleVehicles } from '../vehicles/visibility.ts';

type Store = { readonly records: RecordStore };

/** A user with the role driver sees the routes of the own vehicles; the others see all of the account. */
export const visiblePart = async (deps: Store, caller: Caller): Promise<Filter> =>
  caller.role === 'driver' ? ofOwnVehicles(deps, caller) : {};

/** Routes of vehicles of the caller's account that the caller may see. */
export async function ofOwnVehicles(deps: Store, caller: Caller, among?: readonly number[]): Promise<Filter> {
  const found = await visibleVehicles(deps, caller, among);
  return { vehicleIds: { $in: found.flatMap(({ vehicle, access }) => (access === 'owner' ? [vehicle._id] : [])) } };
}
