import { findLastLocations } from '../domains/last-positions/queries.ts';
import type { NotificationRequest } from '../domains/notifications/to-notification.ts';
import type { Vehicle } from '../domains/vehicles/schema.ts';
import type { Deps } from '../platform/deps.ts';

/** Dependencies of the event consumers. */
export type EventConsumerDeps = Pick<
  Deps,
  'bus' | 'config' | 'database' | 'log' | 'notifications' | 'records' | 'redis' | 'thresholds'
>;

/** An event of a vehicle that did not come from a location report. */
export interface VehicleEvent {
  readonly type: string;
  readonly subject: string;
  readonly atMs: number;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly description?: string;
  readonly driverId?: number | null;
  /** Position of the event, if reported. */
  readonly position?: { readonly latitude: number; readonly longitude: number };
}

/** Returns the vehicle's part of a notification. */
export const toNotificationVehicle = (vehicle: Vehicle): NotificationRequest['vehicle'] => ({
  id: vehicle._id,
  accountId: vehicle.accountId,
  ownerUserId: vehicle.ownerUserId,
  vehicleNo: vehicle.vehicleNo,
  driverId: vehicle.driverId,
  imei: vehicle.imei,
});

/** Creates notifications of events, by default at the vehicle's last position. They are durable once this resolves. */
export async function raiseVehicleEvents(
  deps: Pick<EventConsumerDeps, 'log' | 'notifications' | 'redis' | 'config'>,
  entries: readonly { readonly vehicle: Vehicle; readonly event: VehicleEvent }[],
): Promise<void> {
  const imeis = entries.flatMap(({ vehicle: { imei }, event }) =>
    imei === null || event.position !== undefined ? [] : [imei],
  );
  const locations = await findLastLocations(deps, [...new Set(imeis)]);
  await deps.notifications.raise(
    entries.map(({ vehicle, event: { position, ...event } }) => {
      const last = vehicle.imei === null ? undefined : locations.get(vehicle.imei);
      const { latitude, longitude } = position ?? last ?? { latitude: 0, longitude: 0 };
      const gpsValid = position !== undefined || (last?.gpsValid ?? false);
      return {
        vehicle: toNotificationVehicle(vehicle),
        raised: { ...event, latitude, longitude, gpsValid, backfilled: false },
      };
    }),
  );
}
