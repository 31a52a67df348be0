import type { Caller } from '../../access/caller.ts';
import type { Filter } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import { visibleVehicles } from '../vehicles/visibility.ts';
import { GeofenceAssignments } from './geofence-assignments.ts';

type Store = { readonly records: RecordStore };

/** The vehicles of the account that the caller may see: with the role driver the own ones, otherwise all. */
export async function holdersSeen(deps: Store, caller: Caller): Promise<GeofenceAssignments> {
  const holders = await GeofenceAssignments.read(deps, caller);
  return caller.role === 'driver' ? holders.only(await ownIds(deps, caller)) : holders;
}

/** A user with the role driver sees the geofences that hold for the own vehicles; the others see all of the account. */
export async function visiblePart(deps: Store, caller: Caller, seen?: GeofenceAssignments): Promise<Filter> {
  if (caller.role !== 'driver') return {};
  const holders = seen ?? (await holdersSeen(deps, caller));
  return holders.where(holders.vehicles.map(({ _id }) => _id));
}

/** Vehicles of the caller's account that the caller may see, by themselves and not through a share. */
export async function ownIds(deps: Store, caller: Caller, among?: readonly number[]): Promise<number[]> {
  const found = await visibleVehicles(deps, caller, among);
  return found.flatMap(({ vehicle, access }) => (access === 'owner' ? [vehicle._id] : []));
}
