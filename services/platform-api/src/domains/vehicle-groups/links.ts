import type { Scope } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import { GroupTree } from './rules.ts';
import type { VehicleGroup } from './schema.ts';
import { groupsIn } from './store.ts';

/** What other domains ask of groups, and tell them. */

type Store = { readonly records: RecordStore };

/** Those of the ids that are groups of the account. */
export const ownGroupIds = async ({ records }: Store, scope: Scope, ids: readonly number[]): Promise<number[]> =>
  ids.length === 0
    ? []
    : (await groupsIn(records).project(scope, [], { _id: { $in: [...ids] } })).map(({ _id }) => _id);

/** All groups of an account. */
export const groupTree = async ({ records }: Store, { accountId }: Scope): Promise<GroupTree<VehicleGroup>> =>
  new GroupTree(await groupsIn(records).all({ accountId }));

/** A group and all groups below it; empty when there is no such group. */
export const groupWithBelow = async ({ records }: Store, scope: Scope, id: number): Promise<number[]> =>
  new GroupTree(await groupsIn(records).project(scope, ['parentGroup'])).withBelow(id).map(({ _id }) => _id);

/** A driver is deleted: no group has him or her any more. */
export const dropDriverFromGroups = ({ records }: Store, scope: Scope, id: number): Promise<number> =>
  groupsIn(records).updateMany(scope, { drivers: id }, { $pull: { drivers: id } });

/** A geofence is deleted: no group has it any more. */
export const dropGeofenceFromGroups = ({ records }: Store, scope: Scope, id: number): Promise<number> =>
  groupsIn(records).updateMany(scope, { geofences: id }, { $pull: { geofences: id } });
