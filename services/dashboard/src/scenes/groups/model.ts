import type { NamedGroup } from '../../common/fleet/folder-tree.ts';
import type { Group, Vehicle } from '../../common/fleet/vehicle.ts';

/** A change of one group, with the change that reverts it. */
export interface Step {
  readonly groupId: number;
  readonly body: StepBody;
  readonly undo: StepBody;
}

type StepBody = Readonly<{ add_vehicles: number[] } | { remove_vehicles: number[] } | { parent_group: number | null }>;

/** Returns the vehicles of the account that are in no group. */
export function ungroupedVehicles(vehicles: readonly Vehicle[], groups: readonly NamedGroup[]): readonly Vehicle[] {
  const grouped = new Set(groups.flatMap(({ vehicleIds }) => vehicleIds));
  return vehicles.filter(({ id, access }) => access === 'owner' && !grouped.has(id));
}

/** Returns the groups that can contain a group: neither itself nor a group below it. */
export function possibleParents(groups: readonly NamedGroup[], groupId: number | null): readonly NamedGroup[] {
  const below = new Set([groupId]);
  // Parents are before their children.
  for (const { id, parentId } of groups) if (parentId !== null && below.has(parentId)) below.add(id);
  return groups.filter(({ id }) => !below.has(id));
}

/**
 * Returns the steps that move vehicles from one group to another; null is no group. Vehicles are added before they are
 * removed, so that an interrupted move leaves each of them in a group.
 */
export function moveVehicles(
  groups: readonly NamedGroup[],
  vehicleIds: readonly number[],
  { fromId, toId }: { readonly fromId: number | null; readonly toId: number | null },
): readonly Step[] {
  if (fromId === toId) return [];
  const known = new Set(groups.find(({ id }) => id === toId)?.vehicleIds);
  const added = vehicleIds.filter((id) => !known.has(id));
  const removed = [...vehicleIds];
  return [
    ...(toId === null || added.length === 0
      ? []
      : [{ groupId: toId, body: { add_vehicles: added }, undo: { remove_vehicles: added } }]),
    ...(fromId === null || removed.length === 0
      ? []
      : [{ groupId: fromId, body: { remove_vehicles: removed }, undo: { add_vehicles: removed } }]),
  ];
}

/** Returns the step that moves a group into another one; null is the top level. Returns none if it is there already. */
export function moveGroup(groups: readonly NamedGroup[], groupId: number, parentId: number | null): readonly Step[] {
  const group = groups.find(({ id }) => id === groupId);
  if (group === undefined || group.parentId === parentId || groupId === parentId) return [];
  return [{ groupId, body: { parent_group: parentId }, undo: { parent_group: group.parentId } }];
}

/** Returns the steps that revert others, the last one first. */
export const revertSteps = (steps: readonly Step[]): readonly Step[] =>
  steps.map(({ groupId, body, undo }) => ({ groupId, body: undo, undo: body })).toReversed();

/** The record as the form edits it: an empty text is an absent value. */
export interface GroupForm {
  readonly name: string;
  readonly description: string;
  readonly color: string;
  /** Id of the group above; empty at the top level. */
  readonly parent_group: string;
  readonly geofences: readonly number[];
  readonly drivers: readonly number[];
}

type GroupFields = Pick<Group, 'name' | 'description' | 'color' | 'parent_group' | 'geofences' | 'drivers'>;

export const toForm = (group: GroupFields): GroupForm => ({
  name: group.name,
  description: group.description ?? '',
  color: group.color ?? '',
  parent_group: group.parent_group === null ? '' : String(group.parent_group),
  geofences: group.geofences,
  drivers: group.drivers,
});

export const toBody = (form: GroupForm) => ({
  name: form.name.trim(),
  description: form.description.trim() || null,
  color: form.color || null,
  parent_group: form.parent_group === '' ? null : Number(form.parent_group),
  geofences: [...form.geofences],
  drivers: [...form.drivers],
});

export type GroupChange = Partial<ReturnType<typeof toBody>>;
