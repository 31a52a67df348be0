import { DurableConsumer, decodeJson, type MediaStored, mediaStored, mediaStoredSubject } from '@fleet/bus';
import type { Running } from '@fleet/service-kit';
import { assignFile, completeCapture } from '../domains/captures/files.ts';
import { countSentBytes } from '../domains/data-usage/use-cases.ts';
import { captureTime } from '../domains/media/capture-time.ts';
import { changeMedia } from '../domains/media/commands.ts';
import { createMediaPreview, newPreviewFields } from '../domains/media/previews.ts';
import { findByKey, findRemoval } from '../domains/media/queries.ts';
import { fileKey, linkAndPublish, recordMedia } from '../domains/media/record.ts';
import { deleteReplica, deleteResentFile, deleteUnrecordedFile } from '../domains/media/removal.ts';
import type { FileLocation, Media } from '../domains/media/schema.ts';
import { recalculateUsage } from '../domains/media/storage-quota.ts';
import { findNotification } from '../domains/notifications/queries.ts';
import { findVehicleByImei, vehicleCollection } from '../domains/vehicles/queries.ts';
import { hadTerminalAt } from '../domains/vehicles/rules.ts';
import type { Vehicle } from '../domains/vehicles/schema.ts';
import { type Picture, raiseMediaCaptured } from './media.ts';
import { recordPictureSighting } from './picture-sightings.ts';
import type { EventConsumerDeps } from './vehicle-events.ts';

/** Events and captures wait for the thumbnail for this long. */
const previewWaitMs = 5_000;

/** Consumes MEDIA: each stored file becomes a record of its vehicle; files without an owner are deleted. */
export const startMediaFileConsumer = (deps: EventConsumerDeps): Running =>
  new DurableConsumer(deps.bus, {
    stream: 'MEDIA',
    durable: 'platform-media',
    subject: mediaStoredSubject('*'),
    onError: (error) => deps.log.warn({ err: error }, 'could not record a file yet'),
    handler: async ({ data, subject }) => {
      const stored = parseStored(data);
      // It will never become valid.
      if (stored === null) return deps.log.warn({ subject }, 'invalid file event');
      await recordStoredFile(deps, stored);
    },
  });

function parseStored(data: Uint8Array): MediaStored | null {
  try {
    const body = decodeJson(data);
    return mediaStored.check(body) ? (body as MediaStored) : null;
  } catch {
    // Not JSON: invalid as well.
    return null;
  }
}

async function recordStoredFile(deps: EventConsumerDeps, stored: MediaStored): Promise<void> {
  const file: FileLocation = { imei: stored.imei, fileId: stored.fileId, server: stored.server };
  const key = fileKey(file);
  const removal = await findRemoval(deps.database, key);
  // The file was deleted and has arrived again.
  if (removal !== null) return deleteResentFile(deps, removal, file);
  const known = await findByKey(deps.records, key);
  if (known !== null) return completeKnownFile(deps, known, stored, file);
  const vehicle = await findOwner(deps, stored);
  if (vehicle === null)
    return deleteUnrecordedFile(deps, { _id: key, file, accountId: stored.attachment?.accountId ?? null });
  await countFile(deps, vehicle, stored);
  const takenAtMs = takenAtIfKnown(vehicle, stored);
  const captureId = await assignFile(deps, vehicle, stored, { mediaKey: key, takenAtMs });
  const fields = { ...(await toMediaFields(deps, vehicle, stored, file)), captureId };
  const recorded = await recordMedia(deps, vehicle, fields);
  const media = await createMediaPreview(deps, recorded, previewWaitMs);
  await completeCapture(deps, media, captureId);
  await notifyAndLink(deps, vehicle, media, stored);
}

/** Counts the bytes of a file that a terminal sent; one that was recorded from a stream has been counted there. */
async function countFile(deps: EventConsumerDeps, vehicle: Vehicle, stored: MediaStored): Promise<void> {
  const { attachment, channel, fileId, multimediaId, receivedAtMs: atMs, sizeBytes } = stored;
  if (attachment === null && multimediaId === null) return;
  const kind = attachment === null ? 'picture' : 'upload';
  const span = { session: `file-${fileId}`, fromBytes: 0, toBytes: sizeBytes };
  await countSentBytes(deps, [{ vehicle, kind, channelId: channel, atMs, ...span }]);
}

/** Handles a repeated event: completes steps that a crash interrupted. */
async function completeKnownFile(
  deps: EventConsumerDeps,
  known: Media,
  stored: MediaStored,
  file: FileLocation,
): Promise<void> {
  const media = await keepNewestCopy(deps, known, stored, file);
  const vehicle = await vehicleCollection(deps.records).find(media, media.vehicleId);
  if (vehicle === null) return;
  await recalculateUsage(deps, vehicle);
  await completeCapture(deps, media);
  await notifyAndLink(deps, vehicle, media, stored);
}

// A file that was sent again may be on another pod; the older copy is deleted.
async function keepNewestCopy(
  deps: EventConsumerDeps,
  known: Media,
  stored: MediaStored,
  file: FileLocation,
): Promise<Media> {
  if (known.file === null || known.file.server === file.server) return known;
  const isNewer = stored.receivedAtMs > known.receivedAt.getTime();
  const changed = isNewer ? await changeMedia(deps.records, known, known._id, { file }) : null;
  // On a shared volume it is one file, stored after that timestamp.
  const storedBeforeMs = changed === null ? known.receivedAt.getTime() : stored.receivedAtMs;
  const about = { key: known.mediaKey, accountId: known.accountId, storedBeforeMs };
  await deleteReplica(deps, changed === null ? file : known.file, about);
  return changed ?? known;
}

/** Returns the owner of a file; null if the vehicle, or the file's alarm, was deleted. */
async function findOwner(
  deps: EventConsumerDeps,
  { imei, attachment, receivedAtMs }: MediaStored,
): Promise<Vehicle | null> {
  const { records } = deps;
  if (attachment === null) {
    const current = await findVehicleByImei(records, imei);
    return current !== null && hadTerminalAt(current, receivedAtMs) ? current : null;
  }
  const { accountId, vehicleId, notificationId } = attachment;
  const vehicle = await vehicleCollection(records).find({ accountId }, vehicleId);
  const notification = vehicle === null ? null : await findNotification(records, notificationId);
  return notification?.accountId === accountId && notification.vehicleId === vehicleId ? vehicle : null;
}

async function toMediaFields(deps: EventConsumerDeps, vehicle: Vehicle, stored: MediaStored, file: FileLocation) {
  const { attachment, channel, imei, kind, mimeType, place, receivedAtMs, sizeBytes, source, startedAtMs, takenAt } =
    stored;
  return {
    accountId: vehicle.accountId,
    mediaKey: fileKey(file),
    vehicleId: vehicle._id,
    imei: vehicle.imei === imei ? (vehicle.recordedImei ?? imei) : imei,
    channelId: channel,
    kind,
    source,
    mimeType,
    sizeBytes,
    takenAt:
      startedAtMs === undefined ? captureTime(takenAt, vehicle.cameraUtcOffset, receivedAtMs) : new Date(startedAtMs),
    receivedAt: new Date(receivedAtMs),
    latitude: place?.latitude ?? null,
    longitude: place?.longitude ?? null,
    notificationId: attachment?.notificationId ?? null,
    protected: false,
    toldAtMs: attachment === null ? await announcedAtMs(deps, vehicle, stored) : null,
    file,
    clip: null,
    ...newPreviewFields(kind),
  };
}

async function announcedAtMs({ redis }: EventConsumerDeps, vehicle: Vehicle, stored: MediaStored): Promise<number> {
  const { imei, multimediaId, receivedAtMs } = stored;
  if (multimediaId === null) return receivedAtMs;
  const takenAtMs = takenAtIfKnown(vehicle, stored);
  return recordPictureSighting(redis, imei, toPicture(stored), { by: 'file', receivedAtMs, takenAtMs });
}

const takenAtIfKnown = ({ cameraUtcOffset }: Vehicle, { takenAt, receivedAtMs }: MediaStored): number | null =>
  takenAt === null ? null : captureTime(takenAt, cameraUtcOffset, receivedAtMs).getTime();

const toPicture = ({ multimediaId, channel, kind, source, sizeBytes, place }: MediaStored): Picture => ({
  multimediaId: multimediaId ?? 0,
  channel,
  kind,
  source,
  sizeBytes,
  position: place ?? undefined,
});

/** Pictures create `media_captured`; attachments belong to an existing notification. */
async function notifyAndLink(
  deps: EventConsumerDeps,
  vehicle: Vehicle,
  media: Media,
  stored: MediaStored,
): Promise<void> {
  const notificationId =
    media.toldAtMs === null
      ? media.notificationId
      : await raiseMediaCaptured(deps, vehicle, toPicture(stored), media.toldAtMs);
  await linkAndPublish(deps, media, notificationId);
}
