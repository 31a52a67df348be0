import type { Deps } from '../../platform/deps.ts';
import type { Scope } from '../../store/account-repository.ts';
import { setDriver } from '../vehicles/assignments.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import type { Driver } from './schema.ts';
import { driverCollection } from './store.ts';

type SessionDeps = Pick<Deps, 'records'>;

/** The driver whose card is in a vehicle, or null. */
export const currentDriver = ({ records }: SessionDeps, { accountId, _id }: Vehicle): Promise<Driver | null> =>
  driverCollection(records).findOne({ accountId }, { currentVehicleId: _id });

/** A vehicle is deleted: no driver's card is in it any more. */
export async function endDriverSessions({ records }: SessionDeps, scope: Scope, vehicleId: number): Promise<void> {
  await driverCollection(records).updateMany(
    scope,
    { currentVehicleId: vehicleId },
    { $set: { currentVehicleId: null } },
  );
}

/** A driver's card is in a vehicle now: the session there before, and the driver's own elsewhere, have ended. */
export async function openDriverSession({ records }: SessionDeps, vehicle: Vehicle, driver: Driver): Promise<void> {
  const drivers = driverCollection(records);
  const previous = { currentVehicleId: vehicle._id, _id: { $ne: driver._id } };
  await drivers.updateMany(vehicle, previous, { $set: { currentVehicleId: null } });
  await setDriver({ records }, vehicle, vehicle._id, driver._id);
  // Last: it says that all of this is done.
  await drivers.update(vehicle, driver._id, { currentVehicleId: vehicle._id });
}

/** The card is out, or that of somebody who is not known is in. The vehicle keeps a driver whom somebody has assigned to it. */
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
