import { AppError, type PageItems, type Paging, readSorting } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../deps.ts';
import { type Conditions, matching } from '../../store/account-records.ts';
import { groupedVehicles } from '../vehicles/assignments.ts';
import { briefVehicles } from '../vehicles/brief.ts';
import { visibleVehicleIds } from '../vehicles/visibility.ts';
import { GroupTree } from './rules.ts';
import { type Folder, type GroupShown, isOn, type ListGroupsQuery, type SubGroupsQuery } from './schema.ts';
import { type Members, shownFolders, shownGroup } from './shown.ts';
import { groupsIn } from './store.ts';

/** What reading groups needs. */
export type Parts = Pick<Deps, 'records' | 'redis' | 'log'>;

const sortFields: Readonly<Record<string, string>> = { created_at: 'createdAt', updated_at: 'updatedAt' };

/** Vehicles by group, and which groups the caller may see: a user with the role driver those of the own vehicles alone. */
interface Seen {
  readonly of: Members['of'];
  /** Condition on groups. */
  readonly where: Conditions;
}

async function seenBy(deps: Parts, caller: Caller): Promise<Seen> {
  const grouped = await groupedVehicles(deps, caller);
  const isDriver = caller.role === 'driver';
  const visible = isDriver
    ? new Set(
        await visibleVehicleIds(
          deps,
          caller,
          grouped.map(({ _id }) => _id),
        ),
      )
    : null;
  const byGroup = new Map<number, number[]>();
  for (const { _id, groupIds } of grouped) {
    if (visible?.has(_id) === false) continue;
    for (const groupId of groupIds) byGroup.set(groupId, [...(byGroup.get(groupId) ?? []), _id]);
  }
  for (const ids of byGroup.values()) ids.sort((a, b) => a - b);
  return {
    of: (groupId) => byGroup.get(groupId) ?? [],
    where: visible === null ? {} : { _id: { $in: [...byGroup.keys()] } },
  };
}

async function membersOf(
  deps: Parts,
  caller: Caller,
  { of }: Seen,
  groupIds: readonly number[] | null,
): Promise<Members> {
  if (groupIds === null) return { of, populated: null };
  return { of, populated: await briefVehicles(deps, caller, [...new Set(groupIds.flatMap((id) => of(id)))]) };
}

/** A page of the groups. */
export const listGroups = (
  deps: Parts,
  caller: Caller,
  query: ListGroupsQuery,
  paging: Paging,
): Promise<PageItems<GroupShown>> =>
  pageOfGroups(deps, caller, { ...query, isPopulated: isOn(query.populateVehicles) }, paging);

/** A page of the groups below one, or null when there is no such group. */
export async function listSubGroups(
  deps: Parts,
  caller: Caller,
  id: number,
  query: SubGroupsQuery,
  paging: Paging,
): Promise<PageItems<GroupShown> | null> {
  const seen = await seenBy(deps, caller);
  if ((await groupsIn(deps.records).findOne(caller, { $and: [{ _id: id }, seen.where] })) === null) return null;
  const tree = new GroupTree(await groupsIn(deps.records).parts(caller, ['parentGroup']));
  const below = isOn(query.recursive) ? tree.withBelow(id).slice(1) : tree.childrenOf(id);
  const where = { _id: { $in: below.map((group) => group._id) } };
  return pageOfGroups(deps, caller, { sort: query.sort, isPopulated: false, where }, paging);
}

async function pageOfGroups(
  deps: Parts,
  caller: Caller,
  asked: { sort?: string | undefined; query?: string | undefined; isPopulated: boolean; where?: Conditions },
  paging: Paging,
): Promise<PageItems<GroupShown>> {
  const groups = groupsIn(deps.records);
  const { field, direction } = readSorting(asked.sort);
  const seen = await seenBy(deps, caller);
  const [{ items, total }, nodes] = await Promise.all([
    groups.list(caller, {
      where: { $and: [seen.where, matching(asked.query, ['name']), asked.where ?? {}] },
      sorting: { field: sortFields[field] ?? field, direction },
      paging,
    }),
    groups.parts(caller, ['parentGroup']),
  ]);
  const tree = new GroupTree(nodes);
  const ids = items.map(({ _id }) => _id);
  const members = await membersOf(deps, caller, seen, asked.isPopulated ? ids : null);
  return { items: items.map((group) => shownGroup(group, tree, members)), total };
}

/** The whole tree that the caller may see. */
export async function folderView(deps: Parts, caller: Caller, isPopulated: boolean): Promise<Folder[]> {
  const seen = await seenBy(deps, caller);
  const groups = await groupsIn(deps.records).all(caller, seen.where);
  const ids = groups.map(({ _id }) => _id);
  return shownFolders(new GroupTree(groups), await membersOf(deps, caller, seen, isPopulated ? ids : null));
}

/** One group with the ids of its direct children, or null. */
export async function readGroup(
  deps: Parts,
  caller: Caller,
  id: number,
): Promise<(GroupShown & { sub_groups: number[] }) | null> {
  const groups = groupsIn(deps.records);
  const seen = await seenBy(deps, caller);
  const group = await groups.findOne(caller, { $and: [{ _id: id }, seen.where] });
  if (group === null) return null;
  const tree = new GroupTree(await groups.parts(caller, ['parentGroup']));
  const children = tree.childrenOf(id).map(({ _id }) => _id);
  return { ...shownGroup(group, tree, { of: seen.of, populated: null }), sub_groups: children.sort((a, b) => a - b) };
}

/** A group that has just been written; it is there, or was a moment ago. */
export async function shownAgain(deps: Parts, caller: Caller, id: number): Promise<GroupShown> {
  const group = await readGroup(deps, caller, id);
  if (group === null) throw groupNotFound(id);
  const { sub_groups: _subGroups, ...shown } = group;
  return shown;
}

export const groupNotFound = (id: number): AppError => new AppError('not_found', `There is no group ${id}.`);
