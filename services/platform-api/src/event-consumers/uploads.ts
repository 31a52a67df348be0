import { DurableConsumer, subscribe, uploadChanged, uploadRevoked, uploadSubject } from '@fleet/bus';
import { type Running, videoMimeType } from '@fleet/service-kit';
import { type UploadRecord, UploadRepository, type UploadStatus } from '@fleet/storage';
import { findRemoval } from '../domains/media/queries.ts';
import { clipKey, linkAndPublish, recordMedia, removeClipRecord } from '../domains/media/record.ts';
import { findVehicleByImei } from '../domains/vehicles/queries.ts';
import type { Vehicle } from '../domains/vehicles/schema.ts';
import { publishLive } from './live.ts';
import { raisedOne } from './media.ts';
import type { EventParts } from './parts.ts';

interface Change {
  readonly uploadId: string;
  /** Canonical terminal number. */
  readonly imei: string;
  readonly channel: number;
  readonly status: UploadStatus;
  readonly filesize: number;
  readonly filename: string | null;
  readonly atMs: number;
  readonly external?: boolean;
}

const decoder = new TextDecoder();

/** Notification types of ended uploads. Users cancel uploads themselves and need no notification. */
const types: Partial<Record<UploadStatus, string>> = {
  completed: 'video_upload_completed',
  failed: 'video_upload_failed',
};

/** Publishes clip uploads: progress to websockets, their end as notifications too. */
export function followUploads(parts: EventParts): readonly Running[] {
  const { bus, log } = parts;
  const onError = (error: unknown): void => log.warn({ err: error }, 'could not publish an upload change');
  const ends = new DurableConsumer(bus, {
    stream: 'UPLOADS',
    durable: 'platform-uploads',
    subject: uploadSubject('*', 'closed'),
    onError,
    handler: async ({ data, subject }) => {
      const change = readChange(data);
      if (change === null) return log.warn({ subject }, 'invalid upload event');
      await tellOfEnd(parts, change);
    },
  });
  const progress = subscribe(
    bus,
    uploadChanged,
    onError,
    (change) => void tellOfProgress(parts, change).catch(onError),
    uploadSubject('*', 'progress'),
    'platform-uploads',
  );
  const revoked = subscribe(
    bus,
    uploadRevoked,
    onError,
    ({ uploadId }) => void forgetRevoked(parts, uploadId).catch(onError),
    uploadRevoked.subject,
    'platform-uploads',
  );
  return [ends, { stop: async () => progress.stop() }, { stop: async () => revoked.stop() }];
}

function readChange(data: Uint8Array): Change | null {
  try {
    const body = JSON.parse(decoder.decode(data)) as unknown;
    return uploadChanged.check(body) ? (body as Change) : null;
  } catch {
    return null;
  }
}

async function tellOfEnd(parts: EventParts, change: Change): Promise<void> {
  const vehicle = await findVehicleByImei(parts.records, change.imei);
  if (vehicle === null) return;
  const record = await new UploadRepository(parts.database).find(change.uploadId);
  if (isOfAnother(vehicle, record)) return;
  const type = types[change.status];
  const { channel, filesize, filename, status, uploadId, atMs } = change;
  if (type !== undefined) {
    const attributes = {
      video_id: uploadId,
      channels: [channel],
      status,
      filesize,
      filename,
      ...externalOf(change),
      ...timesOf(record),
    };
    const told = await raisedOne(parts, vehicle, { type, subject: uploadId, atMs, attributes });
    // A clip on an external server is no file of this product.
    if (status === 'completed' && record !== null && change.external !== true)
      await keepClip(parts, vehicle, { change, record, told });
  }
  tell(parts, vehicle, change, record);
}

const audio = 1;

/** A received clip becomes a file of its vehicle. */
async function keepClip(
  parts: EventParts,
  vehicle: Vehicle,
  { change, record, told }: { change: Change; record: UploadRecord; told: number | null },
): Promise<void> {
  const { uploadId, channel, filesize, filename, atMs } = change;
  // Deleted already, by a user or by the quota.
  if ((await findRemoval(parts.database, clipKey(uploadId))) !== null) return;
  const media = await recordMedia(parts, vehicle, {
    accountId: vehicle.accountId,
    mediaKey: clipKey(uploadId),
    captureId: null,
    vehicleId: vehicle._id,
    imei: record.shownImei,
    channelId: channel,
    kind: record.clip.mediaType === audio ? 'audio' : 'video',
    source: 'upload',
    mimeType: (filename === null ? undefined : videoMimeType(filename)) ?? 'application/octet-stream',
    sizeBytes: filesize,
    takenAt: new Date(record.clip.startMs),
    receivedAt: new Date(atMs),
    latitude: null,
    longitude: null,
    notificationId: told,
    protected: false,
    toldAtMs: null,
    file: null,
    clip: { uploadId },
  });
  await linkAndPublish(parts, media, told);
}

/** Deletes the file of a deleted upload; a cancelled one has none. */
async function forgetRevoked(parts: EventParts, uploadId: string): Promise<void> {
  if ((await new UploadRepository(parts.database).find(uploadId)) === null) await removeClipRecord(parts, uploadId);
}

async function tellOfProgress(parts: EventParts, change: Change): Promise<void> {
  const vehicle = await findVehicleByImei(parts.records, change.imei);
  if (vehicle === null) return;
  const record = await new UploadRepository(parts.database).find(change.uploadId);
  if (!isOfAnother(vehicle, record)) tell(parts, vehicle, change, record);
}

/** The terminal was in a vehicle of another account at the request: its current owner is not notified. */
const isOfAnother = ({ accountId }: Vehicle, record: UploadRecord | null): boolean =>
  (record?.accountId ?? accountId) !== accountId;

const externalOf = ({ external }: Change): { readonly external?: true } => (external === true ? { external } : {});

/** `UploadedVideo` of the interface, and its owner. */
function tell({ bus }: EventParts, vehicle: Vehicle, change: Change, record: UploadRecord | null): void {
  const { uploadId, channel, filesize, filename, status, atMs } = change;
  const data = {
    vehicle_id: vehicle._id,
    video_id: uploadId,
    imei: record?.shownImei ?? vehicle.recordedImei ?? change.imei,
    channel,
    ...timesOf(record),
    filesize,
    status,
    ...(filename === null ? {} : { filename }),
    ...externalOf(change),
  };
  publishLive(bus, vehicle.accountId, [{ type: 'upload', vehicleId: vehicle._id, atMs, data }]);
}

/** Time span of the clip on the camera's clock; null for a deleted upload. */
function timesOf(record: UploadRecord | null): Readonly<Record<string, string>> {
  if (record === null) return {};
  const { clip, cameraUtcOffset } = record;
  return {
    video_start_time: inOffset(clip.startMs, cameraUtcOffset),
    video_end_time: inOffset(clip.endMs, cameraUtcOffset),
  };
}

function inOffset(atMs: number, offset: string): string {
  const minutes = Number(offset.slice(1, 3)) * 60 + Number(offset.slice(4, 6));
  const shifted = new Date(atMs + (offset.startsWith('-') ? -minutes : minutes) * 60_000);
  return shifted.toISOString().slice(0, 19) + offset;
}
