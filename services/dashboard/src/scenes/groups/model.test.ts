import { describe, expect, it } from '@jest/globals';
import { flattenFolders } from '../../common/fleet/folder-tree.ts';
import type { Vehicle } from '../../common/fleet/vehicle.ts';
import { changedFields } from '../../common/forms/changed-fields.ts';
import { moveGroup, moveVehicles, possibleParents, revertSteps, toBody, toForm, ungroupedVehicles } from './model.ts';

const folder = (id: number, vehicles: readonly number[], children: readonly ReturnType<typeof create>[] = []) =>
  create(id, vehicles, children);
const create = (id: number, vehicles: readonly number[], children: readonly object[]) => ({
  id,
  name: `Folder ${id}`,
  color: null,
  vehicle_count: vehicles.length,
  vehicles,
  children: children as never,
});
const groups = flattenFolders([folder(1, [10, 11], [folder(2, [11, 12], [folder(3, [])])]), folder(4, [])]);

describe('moving vehicles between groups', () => {
  it('adds them before it removes them, and leaves out those that are there already', () => {
    expect(moveVehicles(groups, [10, 11], { fromId: 1, toId: 2 })).toEqual([
      { groupId: 2, body: { add_vehicles: [10] }, undo: { remove_vehicles: [10] } },
      { groupId: 1, body: { remove_vehicles: [10, 11] }, undo: { add_vehicles: [10, 11] } },
    ]);
  });

  it('only adds vehicles that had no group, and only removes those that get none', () => {
    expect(moveVehicles(groups, [13], { fromId: null, toId: 4 }).map(({ body }) => body)).toEqual([
      { add_vehicles: [13] },
    ]);
    expect(moveVehicles(groups, [10], { fromId: 1, toId: null }).map(({ body }) => body)).toEqual([
      { remove_vehicles: [10] },
    ]);
    expect(moveVehicles(groups, [10], { fromId: 1, toId: 1 })).toEqual([]);
  });

  it('is reverted from the last step to the first', () => {
    const steps = moveVehicles(groups, [10], { fromId: 1, toId: 4 });
    expect(revertSteps(steps).map(({ groupId, body }) => [groupId, body])).toEqual([
      [1, { add_vehicles: [10] }],
      [4, { remove_vehicles: [10] }],
    ]);
  });
});

describe('moving a group', () => {
  it('changes its parent, and nothing if it is there already', () => {
    expect(moveGroup(groups, 4, 1)).toEqual([{ groupId: 4, body: { parent_group: 1 }, undo: { parent_group: null } }]);
    expect(moveGroup(groups, 2, 1)).toEqual([]);
    expect(moveGroup(groups, 2, 2)).toEqual([]);
  });

  it('is possible into every group that is not below it', () => {
    expect(possibleParents(groups, 1).map(({ id }) => id)).toEqual([4]);
    expect(possibleParents(groups, 3).map(({ id }) => id)).toEqual([1, 2, 4]);
    expect(possibleParents(groups, null)).toHaveLength(4);
  });
});

it('vehicles without a group are those of the account only', () => {
  const vehicles = [
    { id: 12, access: 'owner' },
    { id: 13, access: 'owner' },
    { id: 14, access: 'shared' },
  ] as unknown as readonly Vehicle[];
  expect(ungroupedVehicles(vehicles, groups).map(({ id }) => id)).toEqual([13]);
});

it('the form of a group sends only the fields that were changed', () => {
  const form = toForm({ name: 'Kochi', description: null, color: null, parent_group: 1, geofences: [5], drivers: [] });
  expect(changedFields(toBody(form), toBody(form))).toEqual({});
  expect(changedFields(toBody(form), toBody({ ...form, parent_group: '', description: ' Port ' }))).toEqual({
    parent_group: null,
    description: 'Port',
  });
});
