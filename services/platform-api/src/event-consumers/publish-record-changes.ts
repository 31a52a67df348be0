import { type Bus, fleetChanged, publish } from '@fleet/bus';
import type { Static } from 'typebox';
import type { Share } from '../domains/vehicle-shares/schema.ts';
import type { RecordChange, RecordStore } from '../store/record-store.ts';
import { publishLive } from './publish-live.ts';

type ChangeKind = Static<typeof fleetChanged.schema>['kind'];

/** Collections on which telemetry or delivery depend. */
const kindByCollection: Readonly<Record<string, ChangeKind>> = {
  vehicles: 'vehicles',
  shares: 'vehicles',
  drivers: 'drivers',
  vehicle_groups: 'groups',
  geofences: 'geofences',
  routes: 'routes',
  notification_preferences: 'preferences',
  user_preferences: 'preferences',
  global_config: 'preferences',
  webhooks: 'webhooks',
};

/** Publishes every change of the fleet's records by any domain, so that caches reload and websockets are updated. */
export function publishRecordChanges(records: RecordStore, bus: Bus): void {
  records.watch(Object.keys(kindByCollection), (change) => {
    const kind = kindByCollection[change.collection];
    if (kind !== undefined) publish(bus, fleetChanged, { accountId: change.accountId, kind });
    if (change.collection === 'vehicles') publishVehicleChanges(bus, change);
    if (change.collection === 'shares') publishShareChanges(bus, change);
  });
}

function publishVehicleChanges(bus: Bus, { accountId, action, records }: RecordChange): void {
  publishLive(
    bus,
    accountId,
    records.map(({ _id: vehicleId }) => vehicleEvent(vehicleId, action)),
  );
}

// Both accounts are notified: that of the vehicle, and that of the user who gained or lost access.
function publishShareChanges(bus: Bus, { accountId, action, records }: RecordChange): void {
  const shares = records as readonly Share[];
  for (const { vehicleId, secondaryAccountId } of shares) {
    if (vehicleId === undefined) continue;
    for (const each of new Set([accountId, secondaryAccountId])) {
      if (each !== accountId) publish(bus, fleetChanged, { accountId: each, kind: 'vehicles' });
      publishLive(bus, each, [vehicleEvent(vehicleId, action === 'removed' ? 'unshared' : 'shared')]);
    }
  }
}

const vehicleEvent = (vehicleId: number, action: string) =>
  ({ type: 'vehicle', vehicleId, data: { vehicle_id: vehicleId, action } }) as const;
