import type { Scope } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { SharePermission } from './schema.ts';
import { findEnded, findSharedBy, findSharedWith, removeShare } from './store.ts';

/** Dependencies of share lookups. */
interface SharingStore {
  readonly records: RecordStore;
}

/** A vehicle of any account that the caller may use because it is shared. */
export interface SharedVehicle {
  readonly vehicleId: number;
  /** The account that owns the vehicle and its records. */
  readonly accountId: number;
  readonly permissions: readonly SharePermission[];
  /** Null: until sharing is stopped. */
  readonly expiresAt: Date | null;
}

/** Returns the vehicles that are currently shared with a user, each once. */
export const sharedVehicles = async (
  { records }: SharingStore,
  caller: { readonly userId: number },
  now = new Date(),
): Promise<SharedVehicle[]> => (await findSharedWith(records, caller.userId, { now })).map(asSharedVehicle);

/** Returns the current share of a vehicle with a user, or null. */
export async function sharedVehicle(
  { records }: SharingStore,
  caller: { readonly userId: number },
  vehicleId: number,
  now = new Date(),
): Promise<SharedVehicle | null> {
  const [share] = await findSharedWith(records, caller.userId, { vehicleId, now });
  return share === undefined ? null : asSharedVehicle(share);
}

/** Returns the users with whom a vehicle is currently shared with a permission. */
export async function usersSharing(
  { records }: SharingStore,
  scope: Scope,
  vehicleId: number,
  permission: SharePermission,
): Promise<number[]> {
  const shares = await findSharedBy(records, scope, { vehicleId }, new Date());
  return shares
    .filter(({ permissions }) => permissions.includes(permission))
    .map(({ secondaryUserId }) => secondaryUserId);
}

/** Removes all shares of a deleted vehicle. */
export async function endSharesOfVehicle({ records }: SharingStore, scope: Scope, vehicleId: number): Promise<void> {
  for (const { _id } of await findSharedBy(records, scope, { vehicleId }, new Date(0)))
    await removeShare(records, scope, _id);
}

const asSharedVehicle = (share: {
  readonly vehicleId: number;
  readonly accountId: number;
  readonly permissions: readonly SharePermission[];
  readonly expiresAt: Date | null;
}): SharedVehicle => ({
  vehicleId: share.vehicleId,
  accountId: share.accountId,
  permissions: share.permissions,
  expiresAt: share.expiresAt,
});

/** Removes all shares with a removed user. */
export async function endSharesOfUser({ records }: SharingStore, userId: number): Promise<void> {
  for (const share of await findSharedWith(records, userId, { now: new Date(0) }))
    await removeShare(records, share, share._id);
}

/** Removes expired shares; returns their number. */
export async function removeEndedShares({ records }: SharingStore, now = new Date()): Promise<number> {
  const ended = await findEnded(records, now);
  for (const share of ended) await removeShare(records, share, share._id);
  return ended.length;
}
