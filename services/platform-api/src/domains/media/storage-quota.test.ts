import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { unlimited } from '../../jobs/job-slice.ts';
import { type FakeMediaPod, openFakeMediaPod } from '../../testing/fake-media-pod.ts';
import { newImei } from '../../testing/fake-terminals.ts';
import { newMedia } from '../../testing/media-records.ts';
import { type Client, type Data, PlatformHarness } from '../../testing/platform-harness.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { vehicleCollection } from '../vehicles/store.ts';
import { recordMedia } from './record.ts';
import { evictMedia, removeMedia, removeMediaOfAccount, retryPendingRemovals } from './removal.ts';
import { deleteOldRemovals, removeLostClips, removeOldMedia } from './retention.ts';
import type { Media, MediaRemoval } from './schema.ts';
import { recalculateAllUsage } from './storage-quota.ts';
import { findMedia, findRemoval, findUsage, incrementUsage, recordRemoval } from './store.ts';

// The tests use real servers on a machine that may be busy.
jest.setTimeout(120_000);

const dayMs = 86_400_000;
const ascending = (a: number, b: number): number => a - b;
let harness: PlatformHarness;
let api: Client;
let pod: FakeMediaPod;
let vehicle: Vehicle;
let count = 0;

beforeAll(async () => {
  harness = await PlatformHarness.open({ MEDIA_MAX_BYTES_PER_VEHICLE: '1000', MEDIA_TTL_DAYS: '30' });
  api = harness.as(harness.ours.owner);
  pod = await openFakeMediaPod(harness.bus, 'pod-a');
});
afterAll(async () => {
  await pod?.close();
  await harness?.close();
});
beforeEach(async () => {
  vehicle = await newVehicle();
});
afterEach(() => {
  pod.isRemoving = true;
});

async function newVehicle(client = api): Promise<Vehicle> {
  count += 1;
  const created = await client.post('/api/vehicles', { vehicle_no: `ROOM${count}`, imei: newImei() });
  const found = await vehicleCollection(harness.records).find(
    { accountId: Number(created.data['account_id']) },
    created.data.id,
  );
  if (found === null) throw new Error('the vehicle does not exist');
  return found;
}

let lastReceivedMs = Date.now() - dayMs;
/** Records a file that was received after all previous ones. */
async function recordFile(more: Partial<Media> = {}, of = vehicle): Promise<Media> {
  lastReceivedMs += 1000;
  return recordMedia(harness.deps, of, newMedia(of, pod.id, { receivedAt: new Date(lastReceivedMs), ...more }));
}
const toRemoval = ({
  _id: recordId,
  mediaKey,
  accountId,
  file,
  clip,
}: Pick<Media, '_id' | 'mediaKey' | 'accountId' | 'file' | 'clip'>) => ({
  _id: mediaKey,
  recordId,
  accountId,
  file,
  clip,
});
const listedIds = async (of = vehicle): Promise<number[]> => {
  const client = of.accountId === harness.ours.accountId ? api : harness.as(harness.theirs.owner);
  return (await client.get(`/api/vehicles/${of._id}/list-dashcam-media`)).items.map(({ id }) => id).toSorted(ascending);
};
const quotaNotifications = async (): Promise<readonly Data[]> =>
  (await api.get(`/api/notifications?vehicle_id=${vehicle._id}&type=storage_quota`)).items;
const usedBytes = async (): Promise<number> => (await findUsage(harness.deps.database, vehicle._id))?.bytes ?? 0;

describe('storage of a vehicle', () => {
  it('retains the newest and the protected files', async () => {
    const first = await recordFile({ sizeBytes: 400 });
    const second = await recordFile({ sizeBytes: 400, protected: true });
    const third = await recordFile({ sizeBytes: 400 });
    expect(await listedIds()).toEqual([second._id, third._id].toSorted(ascending));
    expect(await usedBytes()).toBe(800);
    expect(pod.removed).toContain(first.file?.fileId);
    expect(pod.removed).not.toContain(second.file?.fileId);
    // Files are ordered by their reception, so an old recording that was requested just now stays.
    const old = await recordFile({ sizeBytes: 300, takenAt: new Date(0) });
    expect(await listedIds()).toEqual([second._id, old._id].toSorted(ascending));
    // Only the newest file is left that may be removed.
    await recordFile({ sizeBytes: 900, protected: true });
    expect(await usedBytes()).toBe(1300);
  });

  it('raises a warning once when it is nearly full, until it has room again', async () => {
    await recordFile({ sizeBytes: 800 });
    expect(await quotaNotifications()).toEqual([]);
    const last = await recordFile({ sizeBytes: 100 });
    await waitFor(async () => (await quotaNotifications()).length === 1);
    expect((await quotaNotifications())[0]).toMatchObject({
      attributes: { used_bytes: 900, limit_bytes: 1000, percent: 90 },
      severity: 'warning',
    });
    await recordFile({ sizeBytes: 50 });
    expect(await recalculateAllUsage(harness.deps)).toBeNull();
    expect(await quotaNotifications()).toHaveLength(1);
    expect((await api.delete(`/api/dashcam-media/${last._id}`)).status).toBe(200);
    expect(await recalculateAllUsage(harness.deps)).toBeNull();
    await recordFile({ sizeBytes: 90 });
    await waitFor(async () => (await quotaNotifications()).length === 2);
  });

  it('is recounted when a crash has left a wrong size', async () => {
    await recordFile({ sizeBytes: 300 });
    await incrementUsage(harness.deps.database, { accountId: vehicle.accountId, vehicleId: vehicle._id }, 12_345);
    expect(await recalculateAllUsage(harness.deps)).toBeNull();
    expect(await usedBytes()).toBe(300);
    expect(await listedIds()).toHaveLength(1);
    // The file is reported again, because the process died before it was counted.
    const fields = newMedia(vehicle, pod.id, { sizeBytes: 200 });
    await recordMedia(harness.deps, vehicle, fields);
    await incrementUsage(harness.deps.database, fields, -200);
    await recordMedia(harness.deps, vehicle, fields);
    expect(await usedBytes()).toBe(500);
  });
});

describe('removal of media', () => {
  it('removes files after the retention of the installation or of the account', async () => {
    const [other, nowMs] = [await newVehicle(harness.as(harness.theirs.owner)), Date.now()];
    const config = await harness.as(harness.theirs.owner).put('/api/global-config', { retention: { media_days: 100 } });
    expect(config.status).toBe(200);
    expect((await api.get('/api/global-config')).data['retention']).toMatchObject({ media_days: 30 });
    const old = new Date(nowMs - 31 * dayMs);
    const expired = await recordFile({ receivedAt: old });
    const retained = [
      await recordFile({ receivedAt: old, protected: true }),
      await recordFile({ receivedAt: new Date(nowMs) }),
    ];
    const theirs = await recordFile({ receivedAt: old }, other);
    expect(await removeOldMedia(harness.deps, unlimited, nowMs)).toBeNull();
    expect(await listedIds()).toEqual(retained.map(({ _id }) => _id).toSorted(ascending));
    expect(pod.removed).toContain(expired.file?.fileId);
    expect(await listedIds(other)).toEqual([theirs._id]);
  });

  it('hides removed files immediately, and removes them once their pod is available', async () => {
    pod.isRemoving = false;
    const media = await recordFile();
    await removeMedia(harness.deps, media);
    expect(await listedIds()).toEqual([]);
    expect(await usedBytes()).toBe(0);
    await retryPendingRemovals(harness.deps);
    expect(await findRemoval(harness.deps.database, media.mediaKey)).toMatchObject({ doneAt: null });
    pod.isRemoving = true;
    await retryPendingRemovals(harness.deps);
    expect(pod.removed).toContain(media.file?.fileId);
    expect(await findRemoval(harness.deps.database, media.mediaKey)).toMatchObject({ doneAt: expect.any(Date) });
    expect(await deleteOldRemovals(harness.deps, unlimited, Date.now() + 9 * dayMs)).toBeNull();
    expect(await findRemoval(harness.deps.database, media.mediaKey)).toBeNull();
  });

  it('does not remove files that were protected since they were selected', async () => {
    const old = await recordFile({ receivedAt: new Date(Date.now() - 31 * dayMs) });
    expect((await api.put(`/api/dashcam-media/${old._id}`, { protected: true })).status).toBe(200);
    expect(await evictMedia(harness.deps, old, new Set())).toBeNull();
    // The file was protected after the last check.
    expect(await removeMedia(harness.deps, old, { sparesProtected: true })).toBeNull();
    expect(await findRemoval(harness.deps.database, old.mediaKey)).toBeNull();
    await recordRemoval(harness.deps.database, { ...toRemoval(old), sparesProtected: true });
    await retryPendingRemovals(harness.deps);
    expect(await findRemoval(harness.deps.database, old.mediaKey)).toBeNull();
    expect(await listedIds()).toEqual([old._id]);
    expect(pod.removed).not.toContain(old.file?.fileId);
    expect(await usedBytes()).toBe(100);
  });

  it('removes files from available pods, however many are on unavailable pods', async () => {
    const notedAt = new Date(0);
    const lost = Array.from({ length: 201 }, () => newMedia(vehicle, 'pod-lost')).map((media) => ({
      ...toRemoval({ ...media, _id: 0 }),
      _id: media.mediaKey,
      recordId: null,
      notedAt,
      doneAt: null,
    }));
    const removals = harness.deps.database.collection<MediaRemoval>('media_removals');
    await removals.insertMany(lost);
    pod.isRemoving = false;
    const media = await recordFile();
    await removeMedia(harness.deps, media);
    pod.isRemoving = true;
    await retryPendingRemovals(harness.deps);
    expect(pod.removed).toContain(media.file?.fileId);
    await removals.deleteMany({ 'file.server': 'pod-lost' });
  });

  it('does not wait for each file of an unavailable pod', async () => {
    const old = new Date(Date.now() - 31 * dayMs);
    const files = [
      await recordFile({ receivedAt: old }),
      await recordFile({ receivedAt: old }),
      await recordFile({ receivedAt: old }),
    ];
    pod.isRemoving = false;
    pod.fileRequests.length = 0;
    expect(await removeOldMedia(harness.deps)).toBeNull();
    expect(pod.fileRequests).toHaveLength(1);
    expect(await listedIds()).toEqual([]);
    pod.isRemoving = true;
    await retryPendingRemovals(harness.deps);
    for (const { file } of files) expect(pod.removed).toContain(file?.fileId);
  });

  it('removes a clip whose upload does not exist', async () => {
    const uploadId = 'ab'.repeat(12);
    const clip = { mediaKey: `clip:${uploadId}`, source: 'upload', file: null, clip: { uploadId } } as const;
    await recordFile(clip);
    expect(await removeLostClips(harness.deps)).toBeNull();
    expect(await listedIds()).toEqual([]);
  });

  it('completes the removal of an account only after the removal of its files', async () => {
    const { accountId, owner } = await harness.tenant('Leaving');
    const leaving = await newVehicle(harness.as(owner));
    await recordFile({}, leaving);
    await recordFile({ protected: true }, leaving);
    pod.isRemoving = false;
    expect(await removeMediaOfAccount(harness.deps, { accountId })).toBe(false);
    pod.isRemoving = true;
    expect(await removeMediaOfAccount(harness.deps, { accountId })).toBe(true);
    const { db } = harness.deps.database;
    for (const name of ['media', 'media_removals'])
      expect(await db.collection(name).countDocuments({ accountId })).toBe(0);
  });

  it('retains the files of a deleted vehicle until their retention ends', async () => {
    const media = await recordFile({ protected: true });
    expect((await api.delete(`/api/vehicles/${vehicle._id}`)).status).toBe(200);
    expect((await api.get(`/api/vehicles/${vehicle._id}/list-dashcam-media`)).status).toBe(404);
    expect((await api.put(`/api/dashcam-media/${media._id}`, { protected: true })).status).toBe(404);
    expect(pod.removed).not.toContain(media.file?.fileId);
    expect(await findMedia(harness.records, media._id)).toMatchObject({ protected: false });
    expect(await findUsage(harness.deps.database, vehicle._id)).toBeNull();
    await removeOldMedia(harness.deps, unlimited, Date.now() + 31 * dayMs);
    expect(pod.removed).toContain(media.file?.fileId);
    expect(await findUsage(harness.deps.database, vehicle._id)).toBeNull();
  });
});
