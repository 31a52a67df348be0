import { randomBytes } from 'node:crypto';
import type { Capture } from '../domains/captures/schema.ts';
import type { Media } from '../domains/media/schema.ts';
import type { Vehicle } from '../domains/vehicles/schema.ts';
import type { NewAccountRecord } from '../store/account-repository.ts';
import type { NewRecord } from '../store/record-store.ts';

/** Returns a file of a vehicle that is not stored yet. */
export function newMedia(
  { accountId, _id: vehicleId, imei }: Pick<Vehicle, 'accountId' | '_id' | 'imei'>,
  server: string,
  more: Partial<Media> = {},
): NewRecord<Media> {
  const file = { imei: imei ?? '1', fileId: randomBytes(12).toString('hex'), server };
  return {
    accountId,
    mediaKey: `file:${file.imei}:${file.fileId}`,
    captureId: null,
    vehicleId,
    imei: file.imei,
    channelId: 1,
    kind: 'image',
    source: 'capture',
    mimeType: 'image/jpeg',
    sizeBytes: 100,
    takenAt: new Date(),
    receivedAt: new Date(),
    latitude: null,
    longitude: null,
    notificationId: null,
    protected: false,
    toldAtMs: null,
    file,
    clip: null,
    ...more,
  };
}

/** Returns a pending capture of a vehicle, whose terminal has accepted the command. */
export function newCapture(
  { _id: vehicleId, imei }: Pick<Vehicle, 'accountId' | '_id' | 'imei'>,
  more: Partial<Capture> = {},
): NewAccountRecord<Capture> {
  const requestedAt = new Date();
  const expiresAt = new Date(requestedAt.getTime() + 600_000);
  return {
    captureId: randomBytes(12).toString('hex'),
    claimToken: 'of a test',
    commandId: randomBytes(16).toString('hex'),
    vehicleId,
    imei: imei ?? '1',
    channelId: 1,
    kind: 'photo',
    quality: 'MEDIUM',
    count: 1,
    intervalSeconds: 0,
    durationSeconds: 1,
    hasAudio: true,
    status: 'pending',
    method: null,
    step: 'arriving',
    multimediaIds: null,
    files: [],
    errorCode: null,
    error: null,
    requestedBy: null,
    requestedAt,
    expiresAt,
    completedAt: null,
    leasedUntil: expiresAt,
    ...more,
  };
}
