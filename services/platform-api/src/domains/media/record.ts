import { publishLive } from '../../event-consumers/publish-live.ts';
import type { Deps } from '../../platform/deps.ts';
import type { NewRecord } from '../../store/record-store.ts';
import { linkMedia } from '../notifications/media.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { removeMedia } from './removal.ts';
import type { RemovalDeps } from './removal-states.ts';
import { toMediaEvent } from './responses.ts';
import type { FileLocation, Media } from './schema.ts';
import { countNewFile, recalculateUsage, type StorageDeps } from './storage-quota.ts';
import { findByKey, insertMedia, updateMedia } from './store.ts';

/** Returns the unique key of a file. */
export const fileKey = ({ imei, fileId }: Pick<FileLocation, 'imei' | 'fileId'>): string => `file:${imei}:${fileId}`;

/** Returns the unique key of a clip. */
export const clipKey = (uploadId: string): string => `clip:${uploadId}`;

/**
 * Records a file of a vehicle and counts it. If the file was recorded before, returns that record unchanged and
 * recounts the vehicle.
 */
export async function recordMedia(deps: StorageDeps, vehicle: Vehicle, fields: NewRecord<Media>): Promise<Media> {
  const { record, created } = await insertMedia(deps.records, fields);
  await (created ? countNewFile(deps, vehicle, record) : recalculateUsage(deps, vehicle));
  return record;
}

/** Links a file to its notification and publishes both to subscribers. */
export async function linkAndPublish(
  { bus, notifications, records }: Pick<Deps, 'bus' | 'notifications' | 'records'>,
  media: Media,
  notificationId: number | null,
): Promise<void> {
  const isNew = notificationId !== null && media.notificationId !== notificationId;
  const current = isNew ? await updateMedia(records, media, media._id, { notificationId }) : media;
  // The file was removed concurrently, for lack of space or by a user.
  if (current === null || (await findByKey(records, media.mediaKey)) === null) return;
  const changed =
    notificationId === null ? null : await linkMedia(records, notificationId, { id: current._id, kind: current.kind });
  if (changed !== null) await notifications.publish([changed]);
  publishMedia(bus, current);
}

/** Publishes the current state of a file to subscribers. */
export const publishMedia = (bus: Deps['bus'], media: Media): void =>
  publishLive(bus, media.accountId, [{ type: 'media', vehicleId: media.vehicleId, data: { ...toMediaEvent(media) } }]);

/** Removes the record of a clip whose upload was deleted. */
export async function removeClipRecord(deps: RemovalDeps, uploadId: string): Promise<void> {
  const media = await findByKey(deps.records, clipKey(uploadId));
  if (media !== null) await removeMedia(deps, media);
}
