import { terminalKey } from '@fleet/jt808';
import { createReservation, type Mp4Job, type UploadRecord, UploadRepository } from '@fleet/storage';
import type { Vehicle } from '../domains/vehicles/schema.ts';
import type { PlatformHarness } from './platform-harness.ts';

/** A conversion that no process has claimed. */
export const queuedMp4: Mp4Job = {
  status: 'queued',
  percent: 0,
  requestedAtMs: 0,
  sizeBytes: null,
  error: null,
  isRefused: false,
  claim: null,
};

/** A vehicle, or a terminal without one. */
type UploadOwner = Pick<Vehicle, 'imei'> & { readonly accountId: number | null; readonly _id: number | null };

let count = 0;

/** Stores an upload of a vehicle, `uploading` by default, and returns its record. */
export async function storeUpload(
  { deps }: Pick<PlatformHarness, 'deps'>,
  { accountId, _id: vehicleId, imei }: UploadOwner,
  more: Partial<UploadRecord> = {},
): Promise<UploadRecord> {
  count += 1;
  const startMs = Date.parse('2026-01-31T02:00:00Z') + count * 60_000;
  const clip = {
    imei: imei === null ? '1' : (terminalKey(imei) ?? imei),
    channel: 1,
    startMs,
    endMs: startMs + 30_000,
    mediaType: 3,
    streamType: 0,
    storageType: 0,
    alarmFlags: '0',
  };
  const reservation = createReservation(clip, {
    accountId,
    vehicleId,
    requestedBy: null,
    shownImei: clip.imei,
    askedImei: clip.imei,
    cameraUtcOffset: '+08:00',
    reservedUntilMs: 0,
    mobileNetwork: true,
  });
  const record: UploadRecord = { ...reservation, status: 'uploading', ...more };
  const uploads = new UploadRepository(deps.database);
  if (!(await uploads.reserve(record))) throw new Error('the clip has an upload');
  return (await uploads.find(record._id)) as UploadRecord;
}
