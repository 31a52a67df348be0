import { randomBytes } from 'node:crypto';
import type { UploadRecord } from '@fleet/storage';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createJobSlice, type JobSlice } from '../../jobs/job-slice.ts';
import { runDueJobs } from '../../jobs/scheduler.ts';
import { type FakeMediaPod, openFakeMediaPod } from '../../testing/fake-media-pod.ts';
import { newImei } from '../../testing/fake-terminals.ts';
import { newMedia } from '../../testing/media-records.ts';
import { PlatformHarness } from '../../testing/platform-harness.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { vehicleCollection } from '../vehicles/store.ts';
import { recordMedia } from './record.ts';
import { retryPendingRemovals } from './removal.ts';
import { deleteOldRemovals, removeLostClips, removeOldMedia } from './retention.ts';
import type { Media, MediaRemoval } from './schema.ts';
import { recalculateAllUsage } from './storage-quota.ts';
import { findMedia, findUsage, incrementUsage } from './store.ts';

// The tests use real servers on a machine that may be busy.
jest.setTimeout(120_000);

const dayMs = 86_400_000;
let harness: PlatformHarness;
let pod: FakeMediaPod;
let count = 0;
beforeAll(async () => {
  harness = await PlatformHarness.open({ MEDIA_TTL_DAYS: '30' });
  pod = await openFakeMediaPod(harness.bus, 'pod-backlog');
});
afterAll(async () => {
  await pod?.close();
  await harness?.close();
});

async function newVehicle(): Promise<Vehicle> {
  count += 1;
  const { data } = await harness
    .as(harness.ours.owner)
    .post('/api/vehicles', { vehicle_no: `LOG${count}`, imei: newImei() });
  const found = await vehicleCollection(harness.records).find(harness.ours, data.id);
  if (found === null) throw new Error('the vehicle does not exist');
  return found;
}

const recordFile = (of: Vehicle, more: Partial<Media> = {}): Promise<Media> =>
  recordMedia(harness.deps, of, newMedia(of, pod.id, more));
const areStored = async (media: readonly Media[]): Promise<boolean[]> =>
  Promise.all(media.map(async ({ _id }) => (await findMedia(harness.records, _id)) !== null));

/** Returns a slice that ends after a number of changes. */
function sliceOf(changes: number, from: number): JobSlice {
  let requested = 0;
  return { from, isOver: () => (requested += 1) >= changes };
}

/** Runs slices with a number of changes each until the work is done; returns the number of slices. */
async function countSlices(changes: number, runSlice: (slice: JobSlice) => Promise<number | null>): Promise<number> {
  let next: number | null = 1;
  for (let slices = 1; slices < 100; slices += 1) {
    next = await runSlice(sliceOf(changes, next));
    if (next === null) return slices;
  }
  throw new Error('the work does not end');
}

describe('media jobs in slices', () => {
  it('removes old files in slices, each of which removes some', async () => {
    const vehicle = await newVehicle();
    const receivedAt = new Date(Date.now() - 31 * dayMs);
    const old: Media[] = [];
    for (let at = 0; at < 7; at += 1) old.push(await recordFile(vehicle, { receivedAt }));
    const retained = [await recordFile(vehicle, { receivedAt, protected: true }), await recordFile(vehicle)];
    const { accountId } = harness.ours;
    expect(await removeOldMedia(harness.deps, sliceOf(3, 1))).toBe(accountId);
    expect((await areStored(old)).filter(Boolean)).toHaveLength(4);
    const slices = await countSlices(3, (slice) => removeOldMedia(harness.deps, slice));
    expect(slices).toBeGreaterThan(1);
    expect(await areStored([...old, ...retained])).toEqual([...old.map(() => false), true, true]);
    for (const { file } of old) expect(pod.removed).toContain(file?.fileId);
  });

  it('ends after the current file when the service stops, and lets other jobs run', async () => {
    const vehicle = await newVehicle();
    const receivedAt = new Date(Date.now() - 31 * dayMs);
    const old = [await recordFile(vehicle, { receivedAt }), await recordFile(vehicle, { receivedAt })];
    const stopped = new AbortController();
    stopped.abort();
    await removeOldMedia(harness.deps, createJobSlice(1, stopped.signal));
    expect((await areStored(old)).filter(Boolean)).toHaveLength(1);
    let others = 0;
    const list = [
      { name: 'old media of a test', everyMs: 1, runSlice: () => removeOldMedia(harness.deps, sliceOf(1, 1)) },
      { name: 'another of a test', everyMs: 1, run: async () => (others += 1) },
    ];
    await runDueJobs(harness.deps, list);
    expect([(await areStored(old)).filter(Boolean).length, others]).toEqual([0, 1]);
  });

  it('removes clips without uploads in slices, also after clips that have uploads', async () => {
    const vehicle = await newVehicle();
    const uploads = harness.deps.database.collection<Pick<UploadRecord, '_id'>>('uploads');
    const clips: Media[] = [];
    const newClip = async (uploadId: string): Promise<void> => {
      const clip = { mediaKey: `clip:${uploadId}`, source: 'upload', file: null, clip: { uploadId } } as const;
      clips.push(await recordFile(vehicle, clip));
    };
    const isLost = [false, true, false, false, true, true];
    for (const lost of isLost) {
      const uploadId = randomBytes(12).toString('hex');
      if (!lost) await uploads.insertOne({ _id: uploadId });
      await newClip(uploadId);
    }
    expect(await countSlices(1, (slice) => removeLostClips(harness.deps, slice))).toBeGreaterThanOrEqual(clips.length);
    expect(await areStored(clips)).toEqual(isLost.map((lost) => !lost));
  });

  it('retries failed removals in slices, however many of the first are on unavailable pods', async () => {
    const removals = harness.deps.database.collection<MediaRemoval>('media_removals');
    const vehicle = await newVehicle();
    const pendingRemoval = (server: string, notedAt: Date): MediaRemoval => {
      const { mediaKey, accountId, file } = newMedia(vehicle, server);
      const fields = { accountId, file, clip: null, recordId: null, sparesProtected: false, storedBeforeMs: null };
      return { _id: mediaKey, ...fields, notedAt, doneAt: null };
    };
    const unavailable = Array.from({ length: 6 }, (_, at) => pendingRemoval(`pod-away-${at}`, new Date(5_000)));
    const available = pendingRemoval(pod.id, new Date(6_000));
    await removals.insertMany([...unavailable, available]);
    await countSlices(2, (slice) => retryPendingRemovals(harness.deps, slice));
    expect(pod.removed).toContain(available.file?.fileId);
    expect(await removals.countDocuments({ notedAt: new Date(5_000), doneAt: null })).toBe(6);
    // The removals are given up after some time, also a few at a time.
    await countSlices(1, (slice) => deleteOldRemovals(harness.deps, slice));
    expect(await removals.countDocuments({ notedAt: { $lte: new Date(6_000) } })).toBe(0);
  });

  it('recounts vehicles in slices', async () => {
    const vehicles = [await newVehicle(), await newVehicle(), await newVehicle()];
    for (const { accountId, _id: vehicleId } of vehicles)
      await incrementUsage(harness.deps.database, { accountId, vehicleId }, 12_345);
    expect(await countSlices(1, (slice) => recalculateAllUsage(harness.deps, slice))).toBeGreaterThanOrEqual(3);
    for (const { _id } of vehicles) expect(await findUsage(harness.deps.database, _id)).toMatchObject({ bytes: 0 });
  });
});
