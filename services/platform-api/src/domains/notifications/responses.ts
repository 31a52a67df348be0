import { parseAttributes } from '../../platform/fields.ts';
import { formatTime, toRecordResponse } from '../../platform/schemas.ts';
import type { Notification, NotificationContent } from './schema.ts';
import { textsOf } from './type-texts.ts';
import type { TypeDefinition } from './types.ts';

export const toTypeResponse = (kind: TypeDefinition, language: string) => ({
  type: kind.type,
  ...textsOf(kind, language),
  category: kind.category,
  severity: kind.severity,
  default_enabled: kind.isOnByDefault,
  sources: [...kind.sources],
});

/** Returns the URL of a file for the viewer; null if the viewer may not see files. */
export type UrlOf = ((mediaId: number) => string) | null;

/**
 * Converts a notification for users of its account. Without `urlOf`, that is without a specific viewer, it has no
 * files.
 */
export const toNotificationResponse = (notification: Notification, urlOf: UrlOf = null): NotificationContent => ({
  ...toRecordResponse(notification),
  title: notification.title,
  description: notification.description,
  notification_type: notification.type,
  imei: notification.imei,
  timestamp: notification.timestamp,
  server_timestamp: notification.serverTimestamp,
  location: { latitude: notification.latitude, longitude: notification.longitude },
  vehicle_id: notification.vehicleId,
  vehicle_no: notification.vehicleNo,
  driver_id: notification.driverId,
  category: notification.category,
  severity: notification.severity,
  address: notification.area ?? notification.address,
  attributes: parseAttributes(notification.attributes),
  media: urlOf === null ? [] : notification.media.map(({ id, kind }) => ({ id, kind, url: urlOf(id) })),
  backfilled: notification.backfilled,
  acknowledged_at: formatTime(notification.acknowledgedAt),
  acknowledged_by: notification.acknowledgedBy,
});

/** Names of attributes that contain the driver, or the card that identified the driver. */
const ofDriver = /(^|_)driver(_|$)|^card_number$/;

/** Removes the driver, who belongs to the account that owns the vehicle and is not visible to users of a share. */
export function withoutDriver<T extends object>(data: T): T {
  const { attributes } = data as { attributes?: unknown };
  const hasAttributes = typeof attributes === 'object' && attributes !== null && !Array.isArray(attributes);
  return {
    ...data,
    ...('driver_id' in data ? { driver_id: null } : {}),
    ...(hasAttributes
      ? { attributes: Object.fromEntries(Object.entries(attributes).filter(([name]) => !ofDriver.test(name))) }
      : {}),
  };
}

/**
 * Viewer of a notification: a user of the account, a driver of the account, who does not see its geofences, or a user
 * with a share.
 */
type NotificationViewer = 'own' | 'driver' | 'shared';

/** Converts a notification for a viewer. */
export function toViewerResponse(
  viewer: NotificationViewer,
  notification: Notification,
  urlOf: UrlOf,
): NotificationContent {
  if (viewer === 'own') return toNotificationResponse(notification, urlOf);
  const response = toNotificationResponse({ ...notification, area: null }, urlOf);
  return viewer === 'driver' ? response : withoutDriver(response);
}

/** Converts a published notification for a viewer: with the geofence as address, or without it. */
export function toViewerEvent(
  viewer: NotificationViewer,
  attributes: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const { area, ...others } = attributes;
  if (viewer === 'own') return { ...others, ...(typeof area === 'string' ? { address: area } : {}) };
  return viewer === 'driver' ? others : withoutDriver(others);
}

/**
 * Converts a notification to a complete event for websockets. `toViewerEvent` reduces it to what a viewer may see, and
 * each process creates the URLs of its own viewers.
 */
export const toEvent = (notification: Notification, user: number | null): Record<string, unknown> => ({
  ...toNotificationResponse(notification),
  address: notification.address,
  area: notification.area ?? null,
  media: notification.media.map(({ id, kind }) => ({ id, kind })),
  user,
});
