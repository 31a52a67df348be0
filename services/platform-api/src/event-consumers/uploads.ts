import {
  DurableConsumer,
  mp4Changed,
  mp4Subject,
  subscribe,
  uploadChanged,
  uploadRevoked,
  uploadSubject,
} from '@fleet/bus';
import type { Running } from '@fleet/service-kit';
import { type UploadRecord, UploadRepository, type UploadStatus } from '@fleet/storage';
import { countSentBytes } from '../domains/data-usage/use-cases.ts';
import { publishDownload } from '../domains/downloads/publish-download.ts';
import { formatInOffset } from '../domains/downloads/responses.ts';
import { removeClipRecord } from '../domains/media/record.ts';
import { recordClip } from '../domains/media/record-clip.ts';
import { findVehicleByImei } from '../domains/vehicles/queries.ts';
import type { Vehicle } from '../domains/vehicles/schema.ts';
import { raiseVehicleEvent } from './media.ts';
import type { EventConsumerDeps } from './vehicle-events.ts';

interface UploadChange {
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

/** Events wait for the thumbnail for this long. */
const previewWaitMs = 5_000;

/** Notification types of ended uploads. Users cancel uploads themselves and need no notification. */
const notificationTypes: Partial<Record<UploadStatus, string>> = {
  completed: 'video_upload_completed',
  failed: 'video_upload_failed',
};

/** Starts to publish clip uploads: progress to websockets, their end as notifications too. */
export function startUploadConsumer(deps: EventConsumerDeps): Running {
  const { bus, log } = deps;
  const onError = (error: unknown): void => log.warn({ err: error }, 'could not publish an upload change');
  const ends = new DurableConsumer(bus, {
    stream: 'UPLOADS',
    durable: 'platform-uploads',
    subject: uploadSubject('*', 'closed'),
    onError,
    handler: async ({ data, subject }) => {
      const change = readChange(data);
      if (change === null) return log.warn({ subject }, 'invalid upload event');
      await handleEnd(deps, change);
    },
  });
  const progress = subscribe(
    bus,
    uploadChanged,
    onError,
    (change) => void handleProgress(deps, change).catch(onError),
    uploadSubject('*', 'progress'),
    'platform-uploads',
  );
  const conversions = subscribe(
    bus,
    mp4Changed,
    onError,
    (change) => void handleProgress(deps, change).catch(onError),
    mp4Subject('*'),
    'platform-uploads',
  );
  const revoked = subscribe(
    bus,
    uploadRevoked,
    onError,
    ({ uploadId }) => void deleteRevoked(deps, uploadId).catch(onError),
    uploadRevoked.subject,
    'platform-uploads',
  );
  return {
    stop: async () => {
      progress.stop();
      conversions.stop();
      revoked.stop();
      await ends.stop();
    },
  };
}

function readChange(data: Uint8Array): UploadChange | null {
  try {
    const body = JSON.parse(decoder.decode(data)) as unknown;
    return uploadChanged.check(body) ? (body as UploadChange) : null;
  } catch {
    return null;
  }
}

async function handleEnd(deps: EventConsumerDeps, change: UploadChange): Promise<void> {
  const vehicle = await findVehicleByImei(deps.records, change.imei);
  if (vehicle === null) return;
  const record = await new UploadRepository(deps.database).find(change.uploadId);
  if (isOfOtherAccount(vehicle, record)) return;
  const type = notificationTypes[change.status];
  const { channel, filesize, filename, status, uploadId, atMs } = change;
  // What a camera sends to an external server is unknown.
  if (filesize > 0 && change.external !== true) {
    const span = { session: `clip-${uploadId}`, fromBytes: 0, toBytes: filesize };
    await countSentBytes(deps, [{ vehicle, kind: 'upload', channelId: channel, atMs, ...span }]);
  }
  if (type !== undefined) {
    const attributes = {
      video_id: uploadId,
      channels: [channel],
      status,
      filesize,
      filename,
      ...externalField(change),
      ...clipTimes(record),
    };
    const notificationId = await raiseVehicleEvent(deps, vehicle, { type, subject: uploadId, atMs, attributes });
    // A clip on an external server is no file of this product.
    if (status === 'completed' && record !== null && change.external !== true)
      await recordClip(deps, vehicle, { record, receivedAtMs: atMs, notificationId, previewTimeoutMs: previewWaitMs });
  }
  await publishDownload(deps, change.uploadId, vehicle);
}

/** Deletes the file of a deleted upload; a cancelled one has none. */
async function deleteRevoked(deps: EventConsumerDeps, uploadId: string): Promise<void> {
  if ((await new UploadRepository(deps.database).find(uploadId)) === null) await removeClipRecord(deps, uploadId);
}

async function handleProgress(deps: EventConsumerDeps, change: Pick<UploadChange, 'imei' | 'uploadId'>): Promise<void> {
  const vehicle = await findVehicleByImei(deps.records, change.imei);
  if (vehicle === null) return;
  await publishDownload(deps, change.uploadId, vehicle);
}

// The terminal was in a vehicle of another account at the request: its current owner is not notified.
const isOfOtherAccount = ({ accountId }: Vehicle, record: UploadRecord | null): boolean =>
  (record?.accountId ?? accountId) !== accountId;

const externalField = ({ external }: UploadChange): { readonly external?: true } =>
  external === true ? { external } : {};

/** Returns the time span of the clip on the camera's clock; null for a deleted upload. */
function clipTimes(record: UploadRecord | null): Readonly<Record<string, string>> {
  if (record === null) return {};
  const { clip, cameraUtcOffset } = record;
  return {
    video_start_time: formatInOffset(clip.startMs, cameraUtcOffset),
    video_end_time: formatInOffset(clip.endMs, cameraUtcOffset),
  };
}
