import type { Caller } from '../../access/caller.ts';
import type { Deps } from '../../platform/deps.ts';
import { findDriverNames } from '../drivers/queries.ts';
import { mayViewVideo } from '../media/access.ts';
import { findIdsWithThumbnail } from '../media/queries.ts';
import { toThumbnailUrl } from '../media/responses.ts';
import { mediaUrlBuilder } from '../media/urls.ts';
import { createUserNaming } from '../users/use-cases.ts';
import { findVisibility } from '../vehicles/visibility.ts';
import { toViewerResponse, type UrlOf } from './responses.ts';
import type { Notification, NotificationContent, NotificationResponse } from './schema.ts';
import { ownVehicleIds } from './visibility.ts';

type Store = Pick<Deps, 'records'>;

/**
 * Converts notifications for the caller: without the driver and the geofence if their vehicle is only shared with the
 * caller, and with pictures if the caller may see them.
 */
export async function toNotificationsResponse(
  deps: Store & Pick<Deps, 'config'>,
  caller: Caller,
  notifications: readonly Notification[],
): Promise<NotificationResponse[]> {
  const contentOf = await createContentBuilder(deps, caller, notifications);
  const contents = notifications.map((each) => contentOf(each));
  const [driverNames, userName, withThumbnail] = await Promise.all([
    // Drivers of other accounts are not visible.
    findDriverNames(
      deps,
      caller,
      contents.flatMap(({ driver_id: id }) => id ?? []),
    ),
    createUserNaming(
      deps.records,
      caller,
      notifications.map(({ accountId, acknowledgedBy }) => ({ accountId, userId: acknowledgedBy })),
    ),
    findIdsWithThumbnail(
      deps.records,
      contents.flatMap(({ media }) => media.map(({ id }) => id)),
    ),
  ]);
  return contents.map((content, at) => ({
    ...content,
    media: content.media.map((file) => ({
      ...file,
      thumbnail_url: withThumbnail.has(file.id) ? toThumbnailUrl(file.url) : null,
    })),
    acknowledged_by_name: userName({
      accountId: notifications[at]?.accountId ?? 0,
      userId: content.acknowledged_by,
    }),
    driver_name: content.driver_id === null ? null : (driverNames.get(content.driver_id) ?? null),
  }));
}

async function createContentBuilder(
  deps: Store & Pick<Deps, 'config'>,
  caller: Caller,
  notifications: readonly Notification[],
): Promise<(notification: Notification) => NotificationContent> {
  const own = caller.role === 'driver' ? new Set(await ownVehicleIds(deps, caller)) : null;
  const owns = ({ accountId, vehicleId }: Notification): boolean =>
    accountId === caller.accountId && (own === null || own.has(vehicleId));
  const urlOf: UrlOf = caller.scopes.includes('video') ? mediaUrlBuilder(deps, caller.userId) : null;
  const urlOfOwn = mayViewVideo(caller) ? urlOf : null;
  const hasShared = notifications.some((each) => each.media.length > 0 && !owns(each));
  const shares = urlOf !== null && hasShared ? (await findVisibility(deps, caller)).shares : null;
  const viewerOfOwn = own === null ? 'own' : 'driver';
  return (notification) => {
    const { accountId, vehicleId } = notification;
    if (owns(notification)) return toViewerResponse(viewerOfOwn, notification, urlOfOwn);
    const share = shares?.get(vehicleId);
    const seesVideo = share?.accountId === accountId && share.permissions.includes('history_video');
    return toViewerResponse('shared', notification, seesVideo ? urlOf : null);
  };
}
