import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { findVisibility, visibleVehicles } from '../vehicles/visibility.ts';
import type { Notification } from './schema.ts';
import type { VisibleNotifications } from './store.ts';

type Store = Pick<Deps, 'records'>;

/** Returns which notifications the caller may see. */
export async function visibleNotifications(deps: Store, caller: Caller): Promise<VisibleNotifications> {
  const { shares } = await findVisibility(deps, caller);
  const recipients = [...shares.values()].filter(({ permissions }) => permissions.includes('notifications'));
  return {
    accountId: caller.accountId,
    ownVehicleIds: caller.role === 'driver' ? await ownVehicleIds(deps, caller) : null,
    sharedVehicleIds: recipients.map(({ vehicleId }) => vehicleId),
  };
}

export async function ownVehicleIds(deps: Store, caller: Caller): Promise<number[]> {
  const seen = await visibleVehicles(deps, caller);
  return seen.filter(({ access }) => access === 'owner').map(({ vehicle }) => vehicle._id);
}

/** Returns true if a notification is one of those that the caller may see. */
export function isVisible(
  { accountId, ownVehicleIds: own, sharedVehicleIds }: VisibleNotifications,
  notification: Pick<Notification, 'accountId' | 'vehicleId'>,
): boolean {
  const { vehicleId } = notification;
  if (notification.accountId === accountId && (own === null || own.includes(vehicleId))) return true;
  return sharedVehicleIds.includes(vehicleId);
}
