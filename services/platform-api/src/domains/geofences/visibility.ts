import type { Caller } from '../../access/caller.ts';
import type { Filter } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import { visibleVehicles } from '../vehicles/visibility.ts';
import { GeofenceAssignments } from './geofence-assignments.ts';

type Store = { readonly records: RecordStore };

/**
 * Returns the assignments of the vehicles that the caller may see: for the role driver the own vehicles, otherwise all.
 */
export async function holdersSeen(deps: Store, caller: Caller): Promise<GeofenceAssignments> {
  const holders = await GeofenceAssignments.read(deps, caller);
  return caller.role === 'driver' ? holders.only(await ownIds(deps, caller)) : holders;
}

/**
 * Returns a filter for the geofences that the caller may see: for the role driver those that apply to the own vehicles,
 * otherwise all of the account.
 */
export async function visiblePart(deps: Store, caller: Caller, seen?: GeofenceAssignments): Promise<Filter> {
  if (caller.role !== 'driver') return {};
  const holders = seen ?? (await holdersSeen(deps, caller));
  return holders.where(holders.vehicles.map(({ _id }) => _id));
}

/** Returns the vehicles of the caller's account that the caller may see directly and not through a share. */
export async function ownIds(deps: Store, caller: Caller, among?: readonly number[]): Promise<number[]> {
  const found = await visibleVehicles(deps, caller, among);
  return found.flatMap(({ vehicle, access }) => (access === 'owner' ? [vehicle._id] : []));
}
