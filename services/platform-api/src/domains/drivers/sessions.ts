import type { Deps } from '../../platform/deps.ts';
import type { Scope } from '../../store/account-repository.ts';
import { setDriver } from '../vehicles/assignments.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import type { Driver } from './schema.ts';
import { driverCollection } from './store.ts';

type SessionDeps = Pick<Deps, 'records'>;

/** Returns the driver whose card is in a vehicle, or null. */
export const currentDriver = ({ records }: SessionDeps, { accountId, _id }: Vehicle): Promise<Driver | null> =>
  driverCollection(records).findOne({ accountId }, { currentVehicleId: _id });

/** Ends the driver session of a deleted vehicle. */
export async function endDriverSessions({ records }: SessionDeps, scope: Scope, vehicleId: number): Promise<void> {
  await driverCollection(records).updateMany(
    scope,
    { currentVehicleId: vehicleId },
    { $set: { currentVehicleId: null } },
  );
}

/**
 * Opens the session of a driver whose card was inserted in a vehicle. Ends the previous session in the vehicle and the
 * driver's session elsewhere.
 */
export async function openDriverSession({ records }: SessionDeps, vehicle: Vehicle, driver: Driver): Promise<void> {
  const drivers = driverCollection(records);
  const previous = { currentVehicleId: vehicle._id, _id: { $ne: driver._id } };
  await drivers.updateMany(vehicle, previous, { $set: { currentVehicleId: null } });
  await setDriver({ records }, vehicle, vehicle._id, driver._id);
  // Written last: `currentVehicleId` marks the steps above as completed.
  await drivers.update(vehicle, driver._id, { currentVehicleId: vehicle._id });
}

/**
 * Ends the session of a vehicle whose card was removed or replaced by an unknown card. A driver assigned by a user
 * stays assigned.
 */
export async function closeDriverSession(
  { records }: SessionDeps,
  vehicle: Vehicle,
  isReplaced: boolean,
): Promise<void> {
  const driver = await currentDriver({ records }, vehicle);
  if (driver === null) return;
  if (isReplaced && vehicle.driverId === driver._id) await setDriver({ records }, vehicle, vehicle._id, null);
  await driverCollection(records).update(vehicle, driver._id, { currentVehicleId: null });
}
