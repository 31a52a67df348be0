import type { Caller } from '../../access/caller.ts';
import type { Filter } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import { visibleVehicles } from '../vehicles/visibility.ts';
import { GeofenceAssignments } from './geofence-assignments.ts';

type Store = { readonly records: RecordStore };

/**
 * Returns the assignments of the vehicles that the caller may see: for the role driver the own vehicles, otherwise all.
 */
export async function visibleAssignments(deps: Store, caller: Caller): Promise<GeofenceAssignments> {
  const assignments = await GeofenceAssignments.read(deps, caller);
  return caller.role === 'driver' ? assignments.restrictTo(await visibleOwnVehicleIds(deps, caller)) : assignments;
}

/**
 * Returns a filter for the geofences that the caller may see: for the role driver those that apply to the own vehicles,
 * otherwise all of the account.
 */
export async function visibilityFilter(deps: Store, caller: Caller, visible?: GeofenceAssignments): Promise<Filter> {
  if (caller.role !== 'driver') return {};
  const assignments = visible ?? (await visibleAssignments(deps, caller));
  return assignments.filterFor(assignments.vehicles.map(({ _id }) => _id));
}

/** Returns the vehicles of the caller's account that the caller may see directly and not through a share. */
export async function visibleOwnVehicleIds(deps: Store, caller: Caller, among?: readonly number[]): Promise<number[]> {
  const found = await visibleVehicles(deps, caller, among);
  return found.flatMap(({ vehicle, access }) => (access === 'owner' ? [vehicle._id] : []));
}
