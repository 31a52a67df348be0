import type { LiveEventType } from '@fleet/bus';
import type { Scope as KeyScope } from '../domains/api-keys/schema.ts';
import type { SharePermission } from '../domains/vehicle-shares/schema.ts';
import type { OutgoingEvent } from './outgoing-event.ts';
import type { UserVisibility } from './user-visibility.ts';
import type { EventAccess } from './visibility-snapshot.ts';

/** Share permission that an event of the vehicle requires; `stream` and `media` have no URLs without further ones. */
const requiredPermission: Readonly<Record<LiveEventType, SharePermission>> = {
  location: 'view',
  status: 'view',
  vehicle: 'view',
  notification: 'notifications',
  command: 'commands',
  upload: 'history_video',
  stream: 'view',
  media: 'view',
  delivery: 'notifications',
};

/** Scopes of the API key, any of which an event requires, as requests do. */
const requiredScopes: Readonly<Partial<Record<LiveEventType, readonly KeyScope[]>>> = {
  media: ['video'],
  stream: ['command', 'video'],
  upload: ['command', 'video'],
  delivery: ['webhook'],
};

/** Returns what the user may see of an event; null if the user or the API key may not receive it. */
export function eventAccess(visibility: UserVisibility, event: OutgoingEvent): EventAccess | null {
  const { accountId, vehicleId, type, userId } = event;
  if (userId !== undefined && userId !== visibility.caller.userId) return null;
  const access = visibility.accessTo(accountId, vehicleId);
  if (access === null || !access.permissions.includes(requiredPermission[type])) return null;
  const scopes = requiredScopes[type];
  return scopes === undefined || visibility.hasScope(scopes) ? access : null;
}

/** Returns whether an event concerns the user, who may receive it. */
export function isRelevant(visibility: UserVisibility, event: OutgoingEvent, { audience }: EventAccess): boolean {
  const { type, vehicleId, data } = event;
  if (type === 'notification') return visibility.wants(vehicleId, String(data['notification_type']));
  // Users of a share do not see with whom else the vehicle is shared; their visibility reports their own share.
  return audience !== 'shared' || !event.isShareChange;
}

/** Returns whether the user and the API key may open the pictures of a vehicle. */
export const mayOpenFiles = (visibility: UserVisibility, { permissions }: EventAccess): boolean =>
  permissions.includes('history_video') && visibility.hasScope(['video']);

/** Returns whether the user and the API key may watch live video of a vehicle. */
export const mayWatch = (visibility: UserVisibility, { permissions }: EventAccess): boolean =>
  permissions.includes('live_video') && visibility.hasScope(['video']);
