import type { VehicleState } from './protocol.ts';

/** What the page shows of a vehicle beside numbers. */
export interface VehicleText {
  readonly slot: number;
  readonly id: number;
  readonly name: string;
  readonly vehicleNo: string;
  readonly imei: string | null;
  readonly driverId: number | null;
  readonly driverName: string | null;
  readonly groupIds: readonly number[];
  readonly channelIds: readonly number[];
  readonly permissions: readonly string[];
}

/** Orders of the list. */
export const fleetSorts = ['state', 'name', 'age'] as const;
export type FleetSort = (typeof fleetSorts)[number];

/** A state, or vehicles with an open critical event. */
export type StateFilter = VehicleState | 'alarm';

/** A folder of vehicles, with its level in the tree. */
export interface GroupNode {
  readonly id: number;
  readonly parentId: number | null;
  readonly depth: number;
}

/** Filters and order of the list, which also decide what the map shows. */
export interface FleetQuery {
  readonly state?: StateFilter | undefined;
  /** Part of a number, name or driver; case and spaces do not matter. */
  readonly text?: string | undefined;
  /** Only vehicles of this group and of those below. */
  readonly groupId?: number | undefined;
  readonly sort: FleetSort;
  /** The tree in the order of the list: parents before their children. */
  readonly groups: readonly GroupNode[];
  readonly collapsedIds: readonly number[];
}

export const everything: FleetQuery = { sort: 'state', groups: [], collapsedIds: [] };

/** Returns text for comparisons: lower case without spaces. */
export const normalizeText = (text: string): string => text.toLowerCase().replaceAll(/\s/g, '');
