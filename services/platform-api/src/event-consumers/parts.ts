import { lastLocationsIfKnown } from '../domains/last-positions/queries.ts';
import type { NotificationRequest } from '../domains/notifications/to-notification.ts';
import type { Vehicle } from '../domains/vehicles/schema.ts';
import type { Deps } from '../platform/deps.ts';

/** Dependencies of the event consumers. */
export type EventParts = Pick<Deps, 'bus' | 'config' | 'database' | 'log' | 'notifications' | 'records' | 'redis'>;

/** An event of a vehicle that did not come from a location report. */
export interface Happening {
  readonly type: string;
  readonly subject: string;
  readonly atMs: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly description?: string;
  readonly driverId?: number | null;
  /** Position of the event, if reported. */
  readonly place?: { readonly latitude: number; readonly longitude: number };
}

/** Returns the vehicle's part of a notification. */
export const raisedFor = (vehicle: Vehicle): NotificationRequest['vehicle'] => ({
  id: vehicle._id,
  accountId: vehicle.accountId,
  ownerUserId: vehicle.ownerUserId,
  vehicleNo: vehicle.vehicleNo,
  driverId: vehicle.driverId,
  imei: vehicle.imei,
});

/** Creates notifications of events, by default at the vehicle's last position. They are durable once this resolves. */
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
