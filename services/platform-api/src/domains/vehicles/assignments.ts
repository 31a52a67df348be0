import type { Scope } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { Vehicle } from './schema.ts';
import { vehicleCollection } from './store.ts';

/**
 * Drivers and groups of the vehicles of an account. The record of the vehicle stores both; other domains read and
 * change them here.
 */

type Store = { readonly records: RecordStore };

/** Returns the vehicles of each driver. */
export async function vehiclesOfDrivers(
  { records }: Store,
  scope: Scope,
  driverIds: readonly number[],
): Promise<Map<number, number[]>> {
  const found = await vehicleCollection(records).project(scope, ['driverId'], { driverId: { $in: [...driverIds] } });
  const byDriver = new Map<number, number[]>(driverIds.map((id) => [id, []]));
  for (const { _id, driverId } of found) if (driverId !== null) byDriver.get(driverId)?.push(_id);
  for (const ids of byDriver.values()) ids.sort((a, b) => a - b);
  return byDriver;
}

/**
 * Assigns exactly these vehicles to a driver. A vehicle of another driver is reassigned. Calls `check` before each
 * write.
 */
export async function assignVehicles(
  { records }: Store,
  scope: Scope,
  driverId: number,
  vehicleIds: readonly number[],
  check: () => void = () => undefined,
): Promise<void> {
  const vehicles = vehicleCollection(records);
  check();
  await vehicles.updateMany(scope, { driverId, _id: { $nin: [...vehicleIds] } }, { $set: { driverId: null } });
  const others = { _id: { $in: [...vehicleIds] }, driverId: { $ne: driverId } };
  check();
  await vehicles.updateMany(scope, others, { $set: { driverId } });
}

/** Sets the driver of one vehicle. */
export async function setDriver(
  { records }: Store,
  { accountId }: Scope,
  vehicleId: number,
  driverId: number | null,
): Promise<void> {
  await vehicleCollection(records).updateMany(
    { accountId },
    { _id: vehicleId, driverId: { $ne: driverId } },
    { $set: { driverId } },
  );
}

/** Returns the vehicles of an account that are in any group, with their groups. */
export const groupedVehicles = async (
  { records }: Store,
  { accountId }: Scope,
): Promise<Pick<Vehicle, '_id' | 'groupIds'>[]> =>
  (await vehicleCollection(records).project({ accountId }, ['groupIds'])).filter(({ groupIds }) => groupIds.length > 0);

/** Fields of a vehicle that decide which areas and groups apply to it. */
export type AccountVehicle = Pick<Vehicle, '_id' | 'imei' | 'recordedImei' | 'groupIds'>;

/** Returns all vehicles of an account. */
export const accountVehicles = ({ records }: Store, scope: Scope): Promise<AccountVehicle[]> =>
  vehicleCollection(records).project({ accountId: scope.accountId }, ['imei', 'recordedImei', 'groupIds']);

/** Returns those of the ids that are vehicles of the account. */
export const ownVehicleIds = async ({ records }: Store, scope: Scope, ids: readonly number[]): Promise<number[]> =>
  (await vehicleCollection(records).project(scope, [], { _id: { $in: [...ids] } })).map(({ _id }) => _id);

/** Returns the vehicles of an account that are in any of the groups. */
export const vehiclesInGroups = async (
  { records }: Store,
  { accountId }: Scope,
  groupIds: readonly number[],
): Promise<number[]> =>
  (await vehicleCollection(records).project({ accountId }, [], { groupIds: { $in: [...groupIds] } })).map(
    ({ _id }) => _id,
  );

/** Adds vehicles to a group. */
export const joinGroup = ({ records }: Store, scope: Scope, groupId: number, ids: readonly number[]): Promise<number> =>
  vehicleCollection(records).updateMany(
    scope,
    { _id: { $in: [...ids] }, groupIds: { $ne: groupId } },
    { $addToSet: { groupIds: groupId } },
  );

/** Removes vehicles from a group: all of them, or only those that match `which`. */
export const leaveGroup = (
  { records }: Store,
  scope: Scope,
  groupId: number,
  which: { readonly $in: readonly number[] } | { readonly $nin: readonly number[] } = { $nin: [] },
): Promise<number> =>
  vehicleCollection(records).updateMany(scope, { _id: which, groupIds: groupId }, { $pull: { groupIds: groupId } });
