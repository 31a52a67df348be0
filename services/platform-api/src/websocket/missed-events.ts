import { missedNotifications } from '../domains/notifications/replay.ts';
import type { Notification } from '../domains/notifications/schema.ts';
import { vehiclesById } from '../domains/vehicles/use-cases.ts';
import type { Deps } from '../platform/deps.ts';
import { type OutgoingEvent, toOutgoingEvent } from './outgoing-event.ts';
import type { UserVisibility } from './user-visibility.ts';

/** Largest number of notifications of a resume. */
export const maxResumedNotifications = 500;

/** Returns the notifications after an id that the user may see; `isComplete` is false if older ones were omitted. */
export async function findMissedEvents(
  deps: Pick<Deps, 'records'>,
  visibility: UserVisibility,
  since: number,
  isWanted: (notification: Notification) => boolean,
): Promise<{ readonly events: readonly OutgoingEvent[]; readonly isComplete: boolean }> {
  const { caller, ownIds, shares } = visibility;
  const notifiedShares = shares.filter(({ permissions }) => permissions.includes('notifications'));
  const visible = {
    accountId: caller.accountId,
    ownVehicleIds: ownIds === null ? null : [...ownIds],
    sharedVehicleIds: notifiedShares.map(({ vehicleId }) => vehicleId),
  };
  const { notifications, isComplete } = await missedNotifications(deps, visible, since, {
    limit: maxResumedNotifications,
    isWanted,
  });
  const ownerIds = await findOwnerIds(deps, notifications);
  const events = notifications.map((each) => toOutgoingEvent(each, ownerIds.get(each.vehicleId) ?? null));
  return { events, isComplete };
}

/** Returns the owning users of the notifications' vehicles. */
async function findOwnerIds(
  { records }: Pick<Deps, 'records'>,
  notifications: readonly Notification[],
): Promise<Map<number, number>> {
  const ownerIds = new Map<number, number>();
  const byAccount = new Map<number, Set<number>>();
  for (const { accountId, vehicleId } of notifications)
    byAccount.set(accountId, (byAccount.get(accountId) ?? new Set()).add(vehicleId));
  for (const [accountId, ids] of byAccount)
    for (const [id, { ownerUserId }] of await vehiclesById(records, { accountId }, [...ids]))
      ownerIds.set(id, ownerUserId);
  return ownerIds;
}
