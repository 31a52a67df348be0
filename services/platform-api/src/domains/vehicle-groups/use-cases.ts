import { AppError, type Page, type Pagination, parseSort } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { type Filter, substringFilter } from '../../store/account-repository.ts';
import { groupedVehicles } from '../vehicles/assignments.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { findVehicleSummaries } from '../vehicles/vehicle-summaries.ts';
import { visibleVehicles } from '../vehicles/visibility.ts';
import { type Members, toFoldersResponse, toGroupResponse } from './responses.ts';
import { GroupTree } from './rules.ts';
import { type Folder, type GroupResponse, isOn, type ListGroupsQuery, type SubGroupsQuery } from './schema.ts';
import { groupCollection } from './store.ts';

/** Dependencies of reading groups. */
export type Parts = Pick<Deps, 'records' | 'redis' | 'config' | 'log' | 'thresholds'>;

const sortFields: Readonly<Record<string, string>> = { created_at: 'createdAt', updated_at: 'updatedAt' };

/**
 * Vehicles by group, and the groups that the caller may see. Users with the role driver see only those of their own
 * vehicles.
 */
interface GroupVisibility extends Omit<Members, 'populated'> {
  /** Filter of groups. */
  readonly where: Filter;
}

async function groupVisibility(deps: Parts, caller: Caller): Promise<GroupVisibility> {
  if (caller.role !== 'driver') {
    const byGroup = idsByGroup(await groupedVehicles(deps, caller));
    const isNamed = (): boolean => true;
    return { of: (id) => byGroup.get(id) ?? [], where: {}, isGroupNamed: isNamed, isDriverNamed: isNamed };
  }
  const visible = (await visibleVehicles(deps, caller)).map(({ vehicle }) => vehicle);
  const own = visible.filter(({ accountId }) => accountId === caller.accountId);
  const byGroup = idsByGroup(own);
  const drivers = new Set(own.map(({ driverId }) => driverId));
  return {
    of: (id) => byGroup.get(id) ?? [],
    where: { _id: { $in: [...byGroup.keys()] } },
    isGroupNamed: (id) => byGroup.has(id),
    isDriverNamed: (id) => drivers.has(id),
  };
}

function idsByGroup(vehicles: readonly Pick<Vehicle, '_id' | 'groupIds'>[]): Map<number, number[]> {
  const byGroup = new Map<number, number[]>();
  for (const { _id, groupIds } of vehicles)
    for (const groupId of groupIds) {
      const ids = byGroup.get(groupId);
      if (ids === undefined) byGroup.set(groupId, [_id]);
      else ids.push(_id);
    }
  for (const ids of byGroup.values()) ids.sort((a, b) => a - b);
  return byGroup;
}

async function readMembers(
  deps: Parts,
  caller: Caller,
  visibility: GroupVisibility,
  groupIds: readonly number[] | null,
): Promise<Members> {
  if (groupIds === null) return { ...visibility, populated: null };
  const ids = new Set(groupIds.flatMap((id) => visibility.of(id)));
  return { ...visibility, populated: await findVehicleSummaries(deps, caller, [...ids]) };
}

/** Returns a page of the groups. */
export const listGroups = async (
  deps: Parts,
  caller: Caller,
  query: ListGroupsQuery,
  paging: Pagination,
): Promise<Page<GroupResponse>> => {
  const visibility = await groupVisibility(deps, caller);
  return pageOfGroups(deps, caller, visibility, { ...query, isPopulated: isOn(query.populateVehicles) }, paging);
};

/** Returns a page of the groups below one, or null if that group does not exist. */
export async function listSubGroups(
  deps: Parts,
  caller: Caller,
  id: number,
  query: SubGroupsQuery,
  paging: Pagination,
): Promise<Page<GroupResponse> | null> {
  const visibility = await groupVisibility(deps, caller);
  if ((await groupCollection(deps.records).findOne(caller, { $and: [{ _id: id }, visibility.where] })) === null)
    return null;
  const tree = new GroupTree(await groupCollection(deps.records).project(caller, ['parentGroup']));
  const below = isOn(query.recursive) ? tree.descendants(id).slice(1) : tree.childrenOf(id);
  const where = { _id: { $in: below.map((group) => group._id) } };
  return pageOfGroups(deps, caller, visibility, { sort: query.sort, isPopulated: false, where }, paging);
}

async function pageOfGroups(
  deps: Parts,
  caller: Caller,
  visibility: GroupVisibility,
  requested: { sort?: string | undefined; query?: string | undefined; isPopulated: boolean; where?: Filter },
  paging: Pagination,
): Promise<Page<GroupResponse>> {
  const groups = groupCollection(deps.records);
  const { field, direction } = parseSort(requested.sort);
  const [{ items, total }, nodes] = await Promise.all([
    groups.list(caller, {
      where: { $and: [visibility.where, substringFilter(requested.query, ['name']), requested.where ?? {}] },
      sorting: { field: sortFields[field] ?? field, direction },
      paging,
    }),
    groups.project(caller, ['parentGroup']),
  ]);
  const tree = new GroupTree(nodes);
  const ids = items.map(({ _id }) => _id);
  const members = await readMembers(deps, caller, visibility, requested.isPopulated ? ids : null);
  return { items: items.map((group) => toGroupResponse(group, tree, members)), total };
}

/** Returns the whole tree that the caller may see. */
export async function folderView(deps: Parts, caller: Caller, isPopulated: boolean): Promise<Folder[]> {
  const visibility = await groupVisibility(deps, caller);
  const groups = await groupCollection(deps.records).all(caller, visibility.where);
  const ids = groups.map(({ _id }) => _id);
  return toFoldersResponse(
    new GroupTree(groups),
    await readMembers(deps, caller, visibility, isPopulated ? ids : null),
  );
}

/** Returns a group with the ids of its direct children, or null. */
export async function readGroup(
  deps: Parts,
  caller: Caller,
  id: number,
): Promise<(GroupResponse & { sub_groups: number[] }) | null> {
  const groups = groupCollection(deps.records);
  const visibility = await groupVisibility(deps, caller);
  const group = await groups.findOne(caller, { $and: [{ _id: id }, visibility.where] });
  if (group === null) return null;
  const tree = new GroupTree(await groups.project(caller, ['parentGroup']));
  const children = tree.childrenOf(id).map(({ _id }) => _id);
  const subGroups = children.filter(visibility.isGroupNamed).sort((a, b) => a - b);
  return { ...toGroupResponse(group, tree, { ...visibility, populated: null }), sub_groups: subGroups };
}

/** Returns a group that has just been written; throws 404 if it was deleted concurrently. */
export async function readWritten(deps: Parts, caller: Caller, id: number): Promise<GroupResponse> {
  const group = await readGroup(deps, caller, id);
  if (group === null) throw groupNotFound(id);
  const { sub_groups: _subGroups, ...response } = group;
  return response;
}

export const groupNotFound = (id: number): AppError => new AppError('not_found', `There is no group ${id}.`);
