import type { SharePermission } from '../domains/vehicle-shares/schema.ts';
import type { SharedVehicle } from '../domains/vehicle-shares/use-cases.ts';
import type { Viewer } from '../domains/vehicles/visibility.ts';
import type { BoundApiKey } from './api-key-monitor.ts';
import type { EventRecipients } from './outgoing-event.ts';

/** What a user may see of a vehicle. */
export interface EventAccess {
  readonly audience: Exclude<EventRecipients, 'public'>;
  readonly permissions: readonly SharePermission[];
}

/** Visibility of a user at a time. */
export interface VisibilitySnapshot {
  readonly caller: Viewer;
  readonly own: EventAccess;
  /** Null: the whole account. */
  readonly ownIds: ReadonlySet<number> | null;
  /** By vehicle id; includes shares that have ended since. */
  readonly shares: ReadonlyMap<number, SharedVehicle>;
  readonly wants: (vehicleId: number, type: string) => boolean;
  /** Null without any that can change. */
  readonly key: BoundApiKey | null;
}

/** Returns whether a share has not ended. */
export const isLive = ({ expiresAt }: SharedVehicle): boolean => expiresAt === null || expiresAt.getTime() > Date.now();

/** Returns what the user may see of a vehicle, null for an invisible one. */
export function visibilityOf(
  { caller, own, ownIds, shares }: VisibilitySnapshot,
  accountId: number,
  vehicleId: number,
): EventAccess | null {
  if (accountId === caller.accountId && (ownIds === null || ownIds.has(vehicleId))) return own;
  const share = shares.get(vehicleId);
  if (share === undefined || share.accountId !== accountId || !isLive(share)) return null;
  return { audience: 'shared', permissions: share.permissions };
}

/** Ids of the vehicles whose share began or ended. */
export interface ShareChanges {
  readonly shared: readonly number[];
  readonly unshared: readonly number[];
}

/** Returns the shares that began or ended between two snapshots. */
export const shareChanges = (before: VisibilitySnapshot, after: VisibilitySnapshot): ShareChanges => ({
  shared: [...after.shares.keys()].filter((id) => !before.shares.has(id)),
  unshared: [...before.shares.keys()].filter((id) => !after.shares.has(id)),
});
