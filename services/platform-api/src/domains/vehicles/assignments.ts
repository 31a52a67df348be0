import type { Scope } from '../../store/account-repository.ts';
import type { RecordStore } from '../../store/record-store.ts';
import type { Vehicle } from './schema.ts';
import { vehiclesIn } from './store.ts';

/** Which vehicles of an account a driver has and a group holds: the vehicle's record says so, and the other domains ask and tell it here. */

type Store = { readonly records: RecordStore };

/** Vehicles by driver. */
export async function vehiclesOfDrivers(
  { records }: Store,
  scope: Scope,
  driverIds: readonly number[],
): Promise<Map<number, number[]>> {
  const found = await vehiclesIn(records).project(scope, ['driverId'], { driverId: { $in: [...driverIds] } });
  const byDriver = new Map<number, number[]>(driverIds.map((id) => [id, []]));
  for (const { _id, driverId } of found) if (driverId !== null) byDriver.get(driverId)?.push(_id);
  for (const ids of byDriver.values()) ids.sort((a, b) => a - b);
  return byDriver;
}

/** Gives a driver these vehicles and no others. A vehicle that another one had changes hands. `check` is called before each write. */
export async function assignVehicles(
  { records }: Store,
  scope: Scope,
  driverId: number,
  vehicleIds: readonly number[],
  check: () => void = () => undefined,
): Promise<void> {
  const vehicles = vehiclesIn(records);
  check();
  await vehicles.updateMany(scope, { driverId, _id: { $nin: [...vehicleIds] } }, { $set: { driverId: null } });
  const others = { _id: { $in: [...vehicleIds] }, driverId: { $ne: driverId } };
  check();
  await vehicles.updateMany(scope, others, { $set: { driverId } });
}

/** Names the driver of one vehicle. */
export async function setDriver(
  { records }: Store,
  { accountId }: Scope,
  vehicleId: number,
  driverId: number | null,
): Promise<void> {
  await vehiclesIn(records).updateMany(
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
  (await vehiclesIn(records).project({ accountId }, ['groupIds'])).filter(({ groupIds }) => groupIds.length > 0);

/** A vehicle as far as areas and groups hold for it. */
export type AccountVehicle = Pick<Vehicle, '_id' | 'imei' | 'recordedImei' | 'groupIds'>;

/** All vehicles of an account. */
export const accountVehicles = ({ records }: Store, scope: Scope): Promise<AccountVehicle[]> =>
  vehiclesIn(records).project({ accountId: scope.accountId }, ['imei', 'recordedImei', 'groupIds']);

/** Those of the ids that are vehicles of the account. */
export const ownVehicleIds = async ({ records }: Store, scope: Scope, ids: readonly number[]): Promise<number[]> =>
  (await vehiclesIn(records).project(scope, [], { _id: { $in: [...ids] } })).map(({ _id }) => _id);

/** Puts vehicles into a group. */
export const joinGroup = ({ records }: Store, scope: Scope, groupId: number, ids: readonly number[]): Promise<number> =>
  vehiclesIn(records).updateMany(
    scope,
    { _id: { $in: [...ids] }, groupIds: { $ne: groupId } },
    { $addToSet: { groupIds: groupId } },
  );

/** Takes vehicles out of a group; all of them, or only those that `which` names. */
export const leaveGroup = (
  { records }: Store,
  scope: Scope,
  groupId: number,
  which: { readonly $in: readonly number[] } | { readonly $nin: readonly number[] } = { $nin: [] },
): Promise<number> =>
  vehiclesIn(records).updateMany(scope, { _id: which, groupIds: groupId }, { $pull: { groupIds: groupId } });
