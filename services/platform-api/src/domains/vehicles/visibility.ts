import { AppError } from '@fleet/service-kit';
import type { Caller } from '../../access/caller.ts';
import { isPermitted } from '../../access/roles.ts';
import type { ReadScope } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import { type SharePermission, sharePermissions } from '../vehicle-shares/schema.ts';
import { type SharedVehicle, sharedVehicle, sharedVehicles } from '../vehicle-shares/use-cases.ts';
import type { Vehicle } from './schema.ts';
import { findVehicleByImei, vehicleCollection } from './store.ts';

/** User who reads vehicles. */
export type Viewer = Pick<Caller, 'accountId' | 'userId' | 'role' | 'canViewVideo'>;

/** Access of a user to a vehicle. */
export interface VehicleAccess {
  readonly access: 'owner' | 'shared';
  readonly permissions: readonly SharePermission[];
  /** When the share ends; null for own vehicles, and for a share without an end. */
  readonly expiresAt: Date | null;
}

/** Vehicle that a caller may see. */
export interface VisibleVehicle extends VehicleAccess {
  readonly vehicle: Vehicle;
}

/** Scope of the vehicles that a caller may see, as a query. */
export interface Visibility {
  readonly scope: ReadScope;
  readonly shares: ReadonlyMap<number, SharedVehicle>;
}

type Store = { readonly records: RecordStore };

/**
 * Returns the vehicles of the caller's account and those shared with the caller. A driver sees only own and shared
 * vehicles.
 */
export async function findVisibility({ records }: Store, caller: Viewer): Promise<Visibility> {
  const shared = await sharedVehicles({ records }, caller);
  const shares = new Map(shared.map((share) => [share.vehicleId, share]));
  const sharedIds = [...shares.keys()];
  // A driver's own vehicles are those with the driver as owning user.
  const own = caller.role === 'driver' ? { own: { ownerUserId: caller.userId } } : {};
  return { scope: { accountId: caller.accountId, sharedIds, ...own }, shares };
}

/** Returns the ids of all vehicles that the caller may see; with `vehicleIds` only of those. */
export async function visibleVehicleIds(
  deps: Store,
  caller: Viewer,
  vehicleIds?: readonly number[],
): Promise<number[]> {
  const { scope } = await findVisibility(deps, caller);
  const where = vehicleIds === undefined ? {} : { _id: { $in: [...vehicleIds] } };
  return (await vehicleCollection(deps.records).project(scope, [], where)).map(({ _id }) => _id);
}

/**
 * Returns a function that checks whether responses may name a vehicle of the account to the caller: to a driver only
 * visible vehicles, to others all.
 */
export async function createNamingCheck(deps: Store, caller: Viewer): Promise<(vehicleId: number) => boolean> {
  if (caller.role !== 'driver') return () => true;
  const visible = new Set(await visibleVehicleIds(deps, caller));
  return (vehicleId) => visible.has(vehicleId);
}

/** Returns all vehicles that the caller may see, with the caller's access; with `vehicleIds` only those. */
export async function visibleVehicles(
  deps: Store,
  caller: Viewer,
  vehicleIds?: readonly number[],
): Promise<VisibleVehicle[]> {
  const { scope, shares } = await findVisibility(deps, caller);
  const vehicles = vehicleCollection(deps.records);
  const found = await (vehicleIds === undefined
    ? vehicles.all(scope)
    : vehicles.findMany(scope, [...new Set(vehicleIds)]));
  return found.map((vehicle) => ({ vehicle, ...accessTo(vehicle, caller, shares.get(vehicle._id)) }));
}

/** Returns some fields of all vehicles that the caller may see, with the caller's access. */
export async function visibleVehicleFields<const K extends keyof Vehicle>(
  { records }: Store,
  caller: Viewer,
  fields: readonly K[],
): Promise<(VehicleAccess & { readonly vehicle: Pick<Vehicle, K | '_id' | 'accountId' | 'ownerUserId'> })[]> {
  const { scope, shares } = await findVisibility({ records }, caller);
  const found = await vehicleCollection(records).project(scope, [...fields, 'accountId', 'ownerUserId']);
  return found.map((vehicle) => ({ vehicle, ...accessTo(vehicle, caller, shares.get(vehicle._id)) }));
}

/**
 * Returns a vehicle that the caller may see; throws 404 if it is not visible, and 403 if the caller lacks the
 * permission.
 */
export async function visibleVehicle(
  deps: Store,
  caller: Viewer,
  id: number,
  permission: SharePermission = 'view',
): Promise<VisibleVehicle> {
  const visible = await findVisible(deps, caller, id);
  if (visible === null) throw vehicleNotFound(id);
  if (visible.permissions.includes(permission)) return visible;
  throw new AppError('permission_denied', `Vehicle ${id} is visible, but the permission ${permission} is missing.`);
}

/** Returns the vehicle of a terminal if the caller may see it, else null. */
export async function findVisibleByImei(deps: Store, caller: Viewer, imei: string): Promise<VisibleVehicle | null> {
  const vehicle = await findVehicleByImei(deps.records, imei);
  const visible = vehicle && (await findVisible(deps, caller, vehicle._id));
  // The terminal may have moved to another vehicle between the two reads.
  return visible?.vehicle.imei === imei ? visible : null;
}

async function findVisible({ records }: Store, caller: Viewer, id: number): Promise<VisibleVehicle | null> {
  const share = await sharedVehicle({ records }, caller, id);
  const scope = { accountId: caller.accountId, sharedIds: share === null ? [] : [id] };
  const vehicle = await vehicleCollection(records).find(scope, id);
  if (vehicle === null || !isVisible(vehicle, caller, share)) return null;
  return { vehicle, ...accessTo(vehicle, caller, share ?? undefined) };
}

/**
 * Returns a vehicle of the caller's own account for a change; throws 404 if it is not visible, and 403 if it is only
 * shared.
 */
export async function assertOwnVehicle(deps: Store, caller: Viewer, id: number): Promise<Vehicle> {
  return assertOwned(await visibleVehicle(deps, caller, id));
}

/**
 * Returns several vehicles like `assertOwnVehicle`, in their order; throws for the first one that the caller may not change.
 */
export async function assertOwnVehicles(deps: Store, caller: Viewer, ids: readonly number[]): Promise<Vehicle[]> {
  const found = await visibleVehicles(deps, caller, ids);
  const visible = new Map(found.map((each) => [each.vehicle._id, each]));
  return ids.map((id) => {
    const each = visible.get(id);
    if (each === undefined) throw vehicleNotFound(id);
    return assertOwned(each);
  });
}

function assertOwned({ vehicle, access }: VisibleVehicle): Vehicle {
  if (access === 'owner') return vehicle;
  throw new AppError('permission_denied', `Vehicle ${vehicle._id} is only shared with the caller.`);
}

export const vehicleNotFound = (id: number): AppError =>
  new AppError('vehicle_not_found', `There is no vehicle ${id}.`);

const isVisible = (vehicle: Vehicle, caller: Viewer, share: SharedVehicle | null): boolean =>
  share !== null || caller.role !== 'driver' || vehicle.ownerUserId === caller.userId;

/** Returns the caller's access to a visible vehicle. */
export function accessTo(
  vehicle: Pick<Vehicle, 'accountId' | 'ownerUserId'>,
  caller: Viewer,
  share: SharedVehicle | undefined,
): VehicleAccess {
  const isOwn =
    vehicle.accountId === caller.accountId && (caller.role !== 'driver' || vehicle.ownerUserId === caller.userId);
  if (isOwn) return { access: 'owner', permissions: rolePermissions(caller), expiresAt: null };
  const permissions = [...new Set<SharePermission>(['view', ...(share?.permissions ?? [])])];
  return { access: 'shared', permissions, expiresAt: share?.expiresAt ?? null };
}

/** Returns what a role may do with vehicles of its own account. */
function rolePermissions(caller: Viewer): SharePermission[] {
  const mayViewVideo = isPermitted(caller.role, 'video') && (caller.role !== 'viewer' || caller.canViewVideo);
  return sharePermissions.filter((permission) => {
    if (permission === 'commands') return isPermitted(caller.role, 'commands');
    return permission === 'live_video' || permission === 'history_video' ? mayViewVideo : true;
  });
}
