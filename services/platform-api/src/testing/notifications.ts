import type { Notification } from '../domains/notifications/schema.ts';
import { notificationCollection } from '../domains/notifications/store.ts';
import { findTypeDefinition } from '../domains/notifications/types.ts';
import type { Deps } from '../platform/deps.ts';

let serial = 0;

/** Stores a notification as the event rules do. */
export async function recordTestNotification(
  deps: Pick<Deps, 'records'>,
  accountId: number,
  { type = 'sos', ...of }: Partial<Notification> & { readonly vehicleId: number },
): Promise<Notification> {
  serial += 1;
  const kind = findTypeDefinition(type);
  if (kind === undefined) throw new Error(`unknown notification type ${type}`);
  const fields = {
    dedupeKey: `test-${process.pid}-${serial}`,
    type,
    title: kind.title,
    description: kind.description,
    category: kind.category,
    severity: kind.severity,
    vehicleNo: 'WS',
    imei: '013800138000',
    driverId: 9,
    latitude: 1.5,
    longitude: 2.5,
    address: null,
    attributes: '{}',
    media: [],
    backfilled: false,
    timestamp: Date.now(),
    serverTimestamp: Date.now() + serial,
    acknowledgedAt: null,
    acknowledgedBy: null,
    ...of,
  };
  return notificationCollection(deps.records).insert({ accountId }, fields);
}
