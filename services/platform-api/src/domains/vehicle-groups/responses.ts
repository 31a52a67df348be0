import { toRecordResponse } from '../../platform/schemas.ts';
import type { GroupTree } from './rules.ts';
import type { Folder, GroupedVehicle, GroupResponse, VehicleGroup } from './schema.ts';

/** The members of groups that are returned. */
export interface Members {
  /** Returns the vehicles of the group itself that the caller may see. */
  readonly of: (groupId: number) => readonly number[];
  /** Whether the caller may see the id of a group or driver. */
  readonly isGroupNamed: (groupId: number) => boolean;
  readonly isDriverNamed: (driverId: number) => boolean;
  /** Vehicles as objects, if requested. */
  readonly populated: ReadonlyMap<number, GroupedVehicle> | null;
}

export function toGroupResponse(group: VehicleGroup, tree: GroupTree, members: Members): GroupResponse {
  const parent = tree.parentOf(group);
  return {
    ...toRecordResponse(group),
    name: group.name,
    description: group.description,
    color: group.color,
    parent_group: parent !== null && members.isGroupNamed(parent) ? parent : null,
    vehicles: toVehiclesResponse(group._id, members),
    geofences: [...group.geofences],
    drivers: group.drivers.filter(members.isDriverNamed),
    vehicle_count: countVehicles(group._id, tree, members),
  };
}

/** Returns the tree below a group; null for the whole tree. */
export const toFoldersResponse = (
  tree: GroupTree<VehicleGroup>,
  members: Members,
  parent: number | null = null,
): Folder[] =>
  tree
    .childrenOf(parent)
    .toSorted((a, b) => a.name.localeCompare(b.name) || a._id - b._id)
    .map(({ _id: id, name, color }) => ({
      id,
      name,
      color,
      vehicle_count: countVehicles(id, tree, members),
      vehicles: toVehiclesResponse(id, members),
      children: toFoldersResponse(tree, members, id),
    }));

function toVehiclesResponse(groupId: number, { of, populated }: Members): GroupResponse['vehicles'] {
  const ids = of(groupId);
  if (populated === null) return [...ids];
  return ids.map((id) => populated.get(id)).filter((vehicle) => vehicle !== undefined);
}

const countVehicles = (groupId: number, tree: GroupTree, { of }: Members): number =>
  new Set(tree.descendants(groupId).flatMap(({ _id }) => of(_id))).size;
