import { randomBytes } from 'node:crypto';
import type { Media } from '../domains/media/schema.ts';
import type { Vehicle } from '../domains/vehicles/schema.ts';
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
