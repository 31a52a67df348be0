import type { Scope } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import { GroupTree } from './rules.ts';
import type { VehicleGroup } from './schema.ts';
import { groupCollection } from './store.ts';

/** Queries and updates of groups for other domains. */

type Store = { readonly records: RecordStore };

/** Returns those of the ids that are groups of the account. */
export const ownGroupIds = async ({ records }: Store, scope: Scope, ids: readonly number[]): Promise<number[]> =>
  ids.length === 0
    ? []
    : (await groupCollection(records).project(scope, [], { _id: { $in: [...ids] } })).map(({ _id }) => _id);

/** Returns all groups of an account. */
export const groupTree = async ({ records }: Store, { accountId }: Scope): Promise<GroupTree<VehicleGroup>> =>
  new GroupTree(await groupCollection(records).all({ accountId }));

/** Returns a group and all groups below it; empty if the group does not exist. */
export const groupAndDescendantIds = async ({ records }: Store, scope: Scope, id: number): Promise<number[]> =>
  new GroupTree(await groupCollection(records).project(scope, ['parentGroup'])).descendants(id).map(({ _id }) => _id);

/** Removes a deleted driver from all groups. */
export const dropDriverFromGroups = ({ records }: Store, scope: Scope, id: number): Promise<number> =>
  groupCollection(records).updateMany(scope, { drivers: id }, { $pull: { drivers: id } });

/** Removes a deleted geofence from all groups. */
export const dropGeofenceFromGroups = ({ records }: Store, scope: Scope, id: number): Promise<number> =>
  groupCollection(records).updateMany(scope, { geofences: id }, { $pull: { geofences: id } });
