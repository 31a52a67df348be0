import { assertVersion } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import { assertAllFound, omitUndefined } from '../../platform/fields.ts';
import type { Change, Scope } from '../../store/account-repository.ts';
import { withLock } from '../../store/distributed-lock.ts';
import { isDuplicateError, retryOnConflict, updateWithVersion } from '../../store/optimistic-retry.ts';
import { audit } from '../audit/use-cases.ts';
import { filterOwnDriverIds } from '../drivers/queries.ts';
import { dropGroupFromGeofences, ownGeofenceIds } from '../geofences/queries.ts';
import { joinGroup, leaveGroup, ownVehicleIds } from '../vehicles/assignments.ts';
import { dropDriverFromGroups, dropGeofenceFromGroups, ownGroupIds } from './queries.ts';
import { assertValidParent, GroupTree, idsOf, siblingKey, uniqueName } from './rules.ts';
import type { GroupBody, GroupResponse, VehicleGroup } from './schema.ts';
import { groupCollection, namingSiblings } from './store.ts';
import { groupNotFound, type Parts, readWritten } from './use-cases.ts';

type Store = Pick<Parts, 'records'>;

/**
 * Runs changes of a tree under a lock, so that the checks for cycles and depth still hold when the change is written.
 */
const withTreeLock = <T>(
  { records }: Store,
  { accountId }: Scope,
  run: (check: () => void) => Promise<T>,
): Promise<T> => withLock(records.database, `groups of account ${accountId}`, run);

const readTree = async ({ records }: Store, scope: Scope): Promise<GroupTree> =>
  new GroupTree(await groupCollection(records).project(scope, ['parentGroup']));

export const createGroup = async (
  deps: Parts,
  caller: Caller,
  body: GroupBody & { name: string },
): Promise<GroupResponse> => {
  const id = await recordGroup(deps, caller, body);
  await audit(deps, caller, 'vehicle-groups.create', { type: 'vehicle_groups', id }, { name: body.name });
  return readWritten(deps, caller, id);
};

/** Inserts a group; returns its id. */
export async function recordGroup(deps: Store, scope: Scope, body: GroupBody & { name: string }): Promise<number> {
  const links = await resolveLinks(deps, scope, body);
  const parentGroup = body.parent_group ?? null;
  const insert = (): Promise<VehicleGroup> =>
    namingSiblings(
      groupCollection(deps.records).insert(scope, {
        name: body.name,
        description: body.description ?? null,
        color: body.color ?? null,
        parentGroup,
        geofences: links.geofences ?? [],
        drivers: links.drivers ?? [],
        siblingKey: siblingKey(parentGroup, body.name),
      }),
    );
  const insertBelow = async (check: () => void): Promise<VehicleGroup> => {
    await checkParent(deps, scope, null, parentGroup);
    check();
    return insert();
  };
  const group = await (parentGroup === null ? insert() : withTreeLock(deps, scope, insertBelow));
  await joinGroup(deps, scope, group._id, links.vehicles ?? []);
  await removeMissing(deps, scope, group._id, links);
  return group._id;
}

/** Updates a group; returns null if it does not exist. */
export async function updateGroup(
  deps: Parts,
  caller: Caller,
  id: number,
  body: GroupBody,
  expectedVersion: number | undefined,
): Promise<GroupResponse | null> {
  const known = await groupCollection(deps.records).find(caller, id);
  if (known === null) return null;
  assertVersion(known, expectedVersion);
  const links = await resolveLinks(deps, caller, body, known);
  const { geofences, drivers } = links;
  const details = omitUndefined({ description: body.description, color: body.color, geofences, drivers });
  const change = { ...details, ...parentChange(body) };
  const { parentGroup } = change;
  const move = async (check: () => void): Promise<VehicleGroup | null> => {
    await checkParent(deps, caller, id, parentGroup ?? null);
    check();
    return write(deps, caller, id, change, expectedVersion);
  };
  const group = await (parentGroup === undefined
    ? write(deps, caller, id, change, expectedVersion)
    : withTreeLock(deps, caller, move));
  if (group === null) return null;
  await audit(deps, caller, 'vehicle-groups.update', { type: 'vehicle_groups', id }, { fields: Object.keys(body) });
  await changeMembers(deps, caller, id, links);
  await removeMissing(deps, caller, id, links);
  return readWritten(deps, caller, id);
}

type Links = Awaited<ReturnType<typeof resolveLinks>>;

async function changeMembers(
  deps: Store,
  scope: Scope,
  id: number,
  { vehicles, added, removed }: Links,
): Promise<void> {
  const replace = async (wanted: readonly number[], check: () => void): Promise<void> => {
    check();
    await leaveGroup(deps, scope, id, { $nin: wanted });
    check();
    await joinGroup(deps, scope, id, wanted);
  };
  // Concurrent replacements run one after another.
  if (vehicles !== undefined)
    await withLock(deps.records.database, `vehicles of group ${id}`, (check) => replace(vehicles, check));
  if (added.length > 0) await joinGroup(deps, scope, id, added);
  if (removed.length > 0) await leaveGroup(deps, scope, id, { $in: removed });
}

/** Removes links to records that were deleted before the links were written. The deletion has not seen these links. */
async function removeMissing(
  deps: Store,
  scope: Scope,
  id: number,
  { drivers = [], geofences = [] }: Links,
): Promise<void> {
  if ((await ownGroupIds(deps, scope, [id])).length === 0) await leaveGroup(deps, scope, id);
  const [leftDrivers, leftGeofences] = [
    await filterOwnDriverIds(deps, scope, drivers),
    await ownGeofenceIds(deps, scope, geofences),
  ];
  for (const each of drivers) if (!leftDrivers.includes(each)) await dropDriverFromGroups(deps, scope, each);
  for (const each of geofences) if (!leftGeofences.includes(each)) await dropGeofenceFromGroups(deps, scope, each);
}

/**
 * Deletes a group and moves its children to its parent; with `isCascade` the children are deleted too. Vehicles are not
 * deleted. Returns the deleted group, or null.
 */
export const deleteGroup = (
  deps: Parts,
  caller: Caller,
  id: number,
  options: { readonly isCascade: boolean; readonly expectedVersion: number | undefined },
): Promise<GroupResponse | null> => withTreeLock(deps, caller, () => removeGroup(deps, caller, id, options));

async function removeGroup(
  deps: Parts,
  caller: Caller,
  id: number,
  { isCascade, expectedVersion }: Parameters<typeof deleteGroup>[3],
): Promise<GroupResponse | null> {
  const groups = groupCollection(deps.records);
  const group = await groups.find(caller, id);
  if (group === null) return null;
  const response = await readWritten(deps, caller, id);
  // Checked before the children are changed, so that a rejected deletion changes nothing. Later changes of the group
  // are deleted with it.
  if (expectedVersion !== undefined && (await groups.update(caller, id, {}, expectedVersion)) === null) return null;
  const tree = await readTree(deps, caller);
  if (!isCascade)
    for (const child of tree.childrenOf(id)) await reparentChild(deps, caller, child._id, tree.parentOf(group));
  // From the bottom up: a crash leaves a smaller but valid tree.
  const deletedGroups = isCascade ? tree.descendants(id).toReversed() : [group];
  for (const { _id } of deletedGroups) {
    await leaveGroup(deps, caller, _id);
    const isGone = (await groups.remove(caller, _id)) === null;
    if (isGone) {
      if (_id === id) return null;
      continue;
    }
    // A vehicle may have been added concurrently.
    await leaveGroup(deps, caller, _id);
    await dropGroupFromGeofences(deps, caller, _id);
    await audit(deps, caller, 'vehicle-groups.delete', { type: 'vehicle_groups', id: _id });
  }
  return response;
}

/**
 * Returns the ids of a body; throws 404 unless all are of the account. Drivers and geofences that were already linked
 * may have been deleted since.
 */
async function resolveLinks(
  deps: Store,
  scope: Scope,
  body: GroupBody,
  known: Pick<VehicleGroup, 'drivers' | 'geofences'> = { drivers: [], geofences: [] },
) {
  const vehicles = body.vehicles && idsOf(body.vehicles);
  const added = idsOf(body.add_vehicles ?? []);
  const removed = idsOf(body.remove_vehicles ?? []);
  const geofences = body.geofences && idsOf(body.geofences);
  const drivers = body.drivers && idsOf(body.drivers);
  const wanted = [...(vehicles ?? []), ...added];
  if (wanted.length > 0) assertAllFound('vehicle', wanted, await ownVehicleIds(deps, scope, wanted));
  const newDrivers = (drivers ?? []).filter((id) => !known.drivers.includes(id));
  const newGeofences = (geofences ?? []).filter((id) => !known.geofences.includes(id));
  assertAllFound('driver', newDrivers, await filterOwnDriverIds(deps, scope, newDrivers));
  assertAllFound('geofence', newGeofences, await ownGeofenceIds(deps, scope, newGeofences));
  return { vehicles, added, removed, geofences, drivers };
}

async function checkParent(deps: Store, scope: Scope, id: number | null, parent: number | null): Promise<void> {
  if (parent === null) return;
  const tree = await readTree(deps, scope);
  if (!tree.has(parent)) throw groupNotFound(parent);
  assertValidParent(tree, id, parent);
}

type ParentChange = { name?: string; parentGroup?: number | null };

const parentChange = ({ name, parent_group: parentGroup }: GroupBody): ParentChange =>
  omitUndefined({ name, parentGroup });

/**
 * Writes a change. The sibling key consists of name and parent. If either changes, the change is written to the version
 * that was read.
 */
function write(
  { records }: Store,
  scope: Scope,
  id: number,
  change: Change<VehicleGroup> & ParentChange,
  expectedVersion: number | undefined,
): Promise<VehicleGroup | null> {
  const groups = groupCollection(records);
  if (change.name === undefined && change.parentGroup === undefined)
    return groups.update(scope, id, change, expectedVersion);
  return updateWithVersion(expectedVersion, async () => {
    const now = await groups.find(scope, id);
    if (now === null) return null;
    const { name = now.name, parentGroup = now.parentGroup } = change;
    const whole = { ...change, siblingKey: siblingKey(parentGroup, name) };
    return namingSiblings(groups.update(scope, id, whole, expectedVersion ?? now.version));
  });
}

/** Moves a child of a deleted group to another parent, under a name that no sibling has. */
async function reparentChild(deps: Store, scope: Scope, id: number, parentGroup: number | null): Promise<void> {
  const groups = groupCollection(deps.records);
  const move = async (): Promise<void> => {
    const child = await groups.find(scope, id);
    if (child === null) return;
    const siblings = await groups.project(scope, ['name'], { parentGroup, _id: { $ne: id } });
    const name = uniqueName(child.name, new Set(siblings.map((sibling) => sibling.name)));
    await write(deps, scope, id, { parentGroup, name }, undefined);
  };
  await retryOnConflict(move, isDuplicateError);
}
