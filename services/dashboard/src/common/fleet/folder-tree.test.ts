import { describe, expect, it } from '@jest/globals';
import { type Folder, flattenFolders } from './folder-tree.ts';

const folder = (id: number, children: readonly Folder[] = []): Folder => ({
  id,
  name: `Folder ${id}`,
  color: null,
  vehicle_count: id,
  vehicles: [id * 10],
  children,
});

describe('the folders of the list', () => {
  it('are in the order of the tree with their levels', () => {
    const named = flattenFolders([folder(1, [folder(2), folder(3)]), folder(4)]);
    expect(named.map(({ id, parentId, depth }) => [id, parentId, depth])).toEqual([
      [1, null, 0],
      [2, 1, 1],
      [3, 1, 1],
      [4, null, 0],
    ]);
    expect(named[1]).toMatchObject({ name: 'Folder 2', vehicleCount: 2, vehicleIds: [20] });
  });
});
