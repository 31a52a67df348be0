import type { ToRaise } from '../domains/notifications/content.ts';
import { lastLocationsIfKnown } from '../domains/realtime/look-ups.ts';
import type { Vehicle } from '../domains/vehicles/schema.ts';
import type { Deps } from '../platform/deps.ts';

/** What the events beside locations need. */
export type EventParts = Pick<Deps, 'bus' | 'config' | 'database' | 'log' | 'notifications' | 'records' | 'redis'>;

/** Something that has happened to a vehicle, and was not told by a location. */
export interface Happening {
  readonly type: string;
  readonly subject: string;
  readonly atMs: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly description?: string;
  readonly driverId?: number | null;
  /** Where it happened, if that was told. */
  readonly place?: { readonly latitude: number; readonly longitude: number };
}

/** The vehicle's part of a notification. */
export const raisedFor = (vehicle: Vehicle): ToRaise['vehicle'] => ({
  id: vehicle._id,
  accountId: vehicle.accountId,
  ownerUserId: vehicle.ownerUserId,
  vehicleNo: vehicle.vehicleNo,
  driverId: vehicle.driverId,
  imei: vehicle.imei,
});

/** Raises what has happened, at the vehicle's last position where no other is told; on record and in the stream once this resolves. */
export async function raiseHappenings(
  parts: Pick<EventParts, 'log' | 'notifications' | 'redis'>,
  happenings: readonly { readonly vehicle: Vehicle; readonly happening: Happening }[],
): Promise<void> {
  const imeis = happenings.flatMap(({ vehicle: { imei }, happening }) =>
    imei === null || happening.place !== undefined ? [] : [imei],
  );
  const locations = await lastLocationsIfKnown(parts, [...new Set(imeis)]);
  await parts.notifications.raise(
    happenings.map(({ vehicle, happening: { place, ...happening } }) => {
      const last = vehicle.imei === null ? undefined : locations.get(vehicle.imei);
      const { latitude, longitude } = place ?? last ?? { latitude: 0, longitude: 0 };
      const gpsValid = place !== undefined || (last?.gpsValid ?? false);
      return {
        vehicle: raisedFor(vehicle),
        raised: { ...happening, latitude, longitude, gpsValid, backfilled: false },
      };
    }),
  );
}
