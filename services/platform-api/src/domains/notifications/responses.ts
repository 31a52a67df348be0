import { parseAttributes } from '../../platform/fields.ts';
import { formatTime, toRecordResponse } from '../../platform/schemas.ts';
import type { Notification, NotificationResponse } from './schema.ts';
import { textsOf } from './type-texts.ts';
import { isOnByDefault, type NotificationKind } from './types.ts';

export const toKindResponse = (kind: NotificationKind, language: string) => ({
  type: kind.type,
  ...textsOf(kind, language),
  category: kind.category,
  severity: kind.severity,
  default_enabled: isOnByDefault(kind),
  sources: [...kind.sources],
});

/** The URL of a file for whoever looks; null: this one may not see files. */
export type UrlOf = ((mediaId: number) => string) | null;

/** A notification as the account itself is shown it; without files where nobody in particular looks. */
export const toNotificationResponse = (notification: Notification, urlOf: UrlOf = null): NotificationResponse => ({
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

/** The driver, and the card that the driver was known by. */
const ofDriver = /(^|_)driver(_|$)|^card_number$/;

/** Drivers are of the account that owns the vehicle, and not for those it is shared with. */
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

/** Who is shown a notification: the account's own people, of them drivers, who do not see its geofences, or users whom the vehicle is shared with. */
export type NotificationViewer = 'own' | 'driver' | 'shared';

/** A notification as it is shown to somebody. */
export function shownTo(viewer: NotificationViewer, notification: Notification, urlOf: UrlOf): NotificationResponse {
  if (viewer === 'own') return toNotificationResponse(notification, urlOf);
  const response = toNotificationResponse({ ...notification, area: null }, urlOf);
  return viewer === 'driver' ? response : withoutDriver(response);
}

/** A notification as it was told, for one viewer: with the area as address, or without. */
export function toViewerEvent(
  viewer: NotificationViewer,
  told: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const { area, ...others } = told;
  if (viewer === 'own') return { ...others, ...(typeof area === 'string' ? { address: area } : {}) };
  return viewer === 'driver' ? others : withoutDriver(others);
}

/** A notification as websockets are told of it, complete; `toldTo` makes of it what a viewer may see, and each makes the URLs of its own viewers. */
export const toEvent = (notification: Notification, user: number | null): Record<string, unknown> => ({
  ...toNotificationResponse(notification),
  address: notification.address,
  area: notification.area ?? null,
  media: notification.media.map(({ id, kind }) => ({ id, kind })),
  user,
});
