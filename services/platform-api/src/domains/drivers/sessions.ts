import type { Deps } from '../../deps.ts';
import type { Scope } from '../../store/account-records.ts';
import { setDriver } from '../vehicles/assignments.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import type { Driver } from './schema.ts';
import { driversIn } from './store.ts';

type Store = Pick<Deps, 'records'>;

/** The driver whose card is in a vehicle, or null. */
export const driverAtWheel = ({ records }: Store, { accountId, _id }: Vehicle): Promise<Driver | null> =>
  driversIn(records).findOne({ accountId }, { currentVehicleId: _id });

/** A vehicle is deleted: no driver's card is in it any more. */
export async function endDriverSessions({ records }: Store, scope: Scope, vehicleId: number): Promise<void> {
  await driversIn(records).updateMany(scope, { currentVehicleId: vehicleId }, { $set: { currentVehicleId: null } });
}

/** A driver's card is in a vehicle now: the session there before, and the driver's own elsewhere, have ended. */
export async function openDriverSession({ records }: Store, vehicle: Vehicle, driver: Driver): Promise<void> {
  const drivers = driversIn(records);
  const before = { currentVehicleId: vehicle._id, _id: { $ne: driver._id } };
  await drivers.updateMany(vehicle, before, { $set: { currentVehicleId: null } });
  await setDriver({ records }, vehicle, vehicle._id, driver._id);
  // Last: it says that all of this is done.
  await drivers.update(vehicle, driver._id, { currentVehicleId: vehicle._id });
}

/** The card is out, or that of somebody who is not known is in. The vehicle keeps a driver whom somebody has assigned to it. */
export async function closeDriverSession({ records }: Store, vehicle: Vehicle, isReplaced: boolean): Promise<void> {
  const driver = await driverAtWheel({ records }, vehicle);
  if (driver === null) return;
  if (isReplaced && vehicle.driverId === driver._id) await setDriver({ records }, vehicle, vehicle._id, null);
  await driversIn(records).update(vehicle, driver._id, { currentVehicleId: null });
}
