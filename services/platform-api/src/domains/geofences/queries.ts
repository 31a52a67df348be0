import type { Caller } from '../../access/caller.ts';
import type { Position } from '../../geometry/positions.ts';
import type { Scope } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import { GeofenceAssignments } from './geofence-assignments.ts';
import type { Geofence } from './schema.ts';
import { contains, displayPosition } from './shapes.ts';
import { geofenceCollection } from './store.ts';
import { visibilityFilter } from './visibility.ts';

/** Geofence queries and updates for other domains. */

type Store = { readonly records: RecordStore };

/** Returns those of the ids that are geofences of the account. */
export const ownGeofenceIds = async ({ records }: Store, scope: Scope, ids: readonly number[]): Promise<number[]> =>
  ids.length === 0
    ? []
    : (await geofenceCollection(records).project(scope, [], { _id: { $in: [...ids] } })).map(({ _id }) => _id);

/** Returns the geofences that apply to each vehicle of an account. Vehicles with the same geofences share one list. */
export async function geofencesByVehicle(deps: Store, scope: Scope): Promise<Map<number, readonly Geofence[]>> {
  const [assignments, geofences] = await Promise.all([
    GeofenceAssignments.read(deps, scope),
    geofenceCollection(deps.records).all({ accountId: scope.accountId }),
  ]);
  const lists = new Map<number, Geofence[]>();
  for (const geofence of geofences.toSorted((a, b) => a._id - b._id))
    for (const { _id } of assignments.vehiclesOf(geofence)) {
      const list = lists.get(_id);
      if (list === undefined) lists.set(_id, [geofence]);
      else list.push(geofence);
    }
  const shared = new Map<string, readonly Geofence[]>();
  for (const [id, list] of lists) {
    const key = list.map(({ _id }) => _id).join();
    const same = shared.get(key);
    if (same === undefined) shared.set(key, list);
    else lists.set(id, same as Geofence[]);
  }
  return lists;
}

/** Returns the geofences that the caller may see and that contain a position, the smallest first. */
export async function geofencesAt(deps: Store, caller: Caller, position: Position): Promise<Geofence[]> {
  const [latitude, longitude] = position;
  const candidates = await geofenceCollection(deps.records).all(caller, {
    $and: [await visibilityFilter(deps, caller)],
    'bounds.minLat': { $lte: latitude },
    'bounds.maxLat': { $gte: latitude },
    $or: [0, 360].map((offset) => ({
      'bounds.minLng': { $lte: longitude + offset },
      'bounds.maxLng': { $gte: longitude + offset },
    })),
  });
  return candidates.filter((geofence) => contains(geofence, position)).sort(bySize);
}

const bySize = (a: Geofence, b: Geofence): number => a.areaM2 - b.areaM2 || a._id - b._id;

/** Returns a function that finds the visible geofences that contain a position: their ids, the smallest first. */
export async function createGeofenceFinder(deps: Store, caller: Caller): Promise<(position: Position) => number[]> {
  const visible = await geofenceCollection(deps.records).all(caller, await visibilityFilter(deps, caller));
  const sorted = visible.toSorted(bySize);
  return (position) => sorted.filter((geofence) => contains(geofence, position)).map(({ _id }) => _id);
}

/** Returns the names of the geofences that the caller may see, each with a position in its middle. */
export async function geofencePlaces(
  deps: Store,
  caller: Caller,
): Promise<{ readonly id: number; readonly name: string; readonly position: Position }[]> {
  const where = await visibilityFilter(deps, caller);
  const found = await geofenceCollection(deps.records).project(caller, ['name', 'type', 'points', 'bounds'], where);
  return found.map((geofence) => ({ id: geofence._id, name: geofence.name, position: displayPosition(geofence) }));
}

/** Removes a deleted vehicle from all geofences. */
export const dropVehicleFromGeofences = (deps: Store, scope: Scope, id: number): Promise<void> =>
  removeFromLists(deps, scope, 'vehicles', id);

/** Removes a deleted group from all geofences. */
export const dropGroupFromGeofences = (deps: Store, scope: Scope, id: number): Promise<void> =>
  removeFromLists(deps, scope, 'groups', id);

/**
 * Removes an id from a list of all geofences, unless it is the last id in both lists. That id stays although its record
 * is deleted: without any id, the geofence would apply to every vehicle.
 */
async function removeFromLists(
  { records }: Store,
  scope: Scope,
  list: 'vehicles' | 'groups',
  id: number,
): Promise<void> {
  const other = list === 'vehicles' ? 'groups' : 'vehicles';
  // Checked within the update: of two ids that are removed concurrently, one is the last.
  const isNotLast = { $or: [{ [list]: { $not: { $size: 1 } } }, { [other]: { $not: { $size: 0 } } }] };
  await geofenceCollection(records).updateMany(scope, { [list]: id, ...isNotLast }, { $pull: { [list]: id } });
}
