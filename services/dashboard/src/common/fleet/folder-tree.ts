import type { GroupNode } from '../live/fleet-query.ts';

/** A folder of the tree; the children have the same shape. */
export interface Folder {
  readonly id: number;
  readonly name: string;
  readonly color: string | null;
  /** Number of vehicles in the folder and below, each counted once. */
  readonly vehicle_count: number;
  /** Vehicles of the folder itself. */
  readonly vehicles: readonly number[];
  readonly children: readonly Folder[];
}

/** A folder with its place in the tree. */
export interface NamedGroup extends GroupNode {
  readonly name: string;
  readonly color: string | null;
  readonly vehicleCount: number;
  readonly vehicleIds: readonly number[];
}

/** Returns the folders in the order of the list: parents before their children. */
export const flattenFolders = (
  folders: readonly Folder[],
  parentId: number | null = null,
  depth = 0,
): readonly NamedGroup[] =>
  folders.flatMap(({ id, name, color, vehicle_count: vehicleCount, vehicles: vehicleIds, children }) => [
    { id, name, color, vehicleCount, vehicleIds, parentId, depth },
    ...flattenFolders(children, id, depth + 1),
  ]);
