import { type MediaStored, publish, uploadChanged, uploadRevoked, uploadSubject } from '@fleet/bus';
import { multimediaEvent } from '@fleet/jt808';
import { createReservation, type UploadRecord, UploadRepository } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { retryPendingRemovals } from '../domains/media/removal.ts';
import { findByKey, findRemoval, findUsage } from '../domains/media/store.ts';
import type { Vehicle } from '../domains/vehicles/schema.ts';
import { type FakeMediaPod, openFakeMediaPod } from '../testing/fake-media-pod.ts';
import { newImei } from '../testing/fake-terminals.ts';
import { LiveEventRecorder } from '../testing/live-event-recorder.ts';
import { publishMediaStored, storedPicture } from '../testing/media-files.ts';
import { recordTestNotification } from '../testing/notifications.ts';
import { type Client, type Data, PlatformHarness } from '../testing/platform-harness.ts';
import { publishTerminalMessage } from '../testing/terminal-messages.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(120_000);

let harness: PlatformHarness;
let api: Client;
let liveEvents: LiveEventRecorder;
let pod: FakeMediaPod;
let count = 0;

beforeAll(async () => {
  harness = await PlatformHarness.open({ PLATFORM_ROLES: 'api,websocket,telemetry' });
  api = harness.as(harness.ours.owner);
  liveEvents = new LiveEventRecorder(harness);
  pod = await openFakeMediaPod(harness.bus, 'pod-a');
});
afterAll(async () => {
  liveEvents?.stop();
  await pod?.close();
  await harness?.close();
});

async function newVehicle(more: object = {}): Promise<{ id: number; imei: string }> {
  const imei = newImei();
  count += 1;
  const made = await api.post('/api/vehicles', { vehicle_no: `MEDIA${count}`, imei, ...more });
  expect(made.status).toBe(201);
  // Its terminal was assigned a while ago.
  await vehicles().updateOne({ _id: made.data.id }, { $set: { createdAt: new Date(0) } });
  return { id: made.data.id, imei };
}
const vehicles = () => harness.records.collection<Vehicle>('vehicles');
const mediaOf = async (id: number): Promise<readonly Data[]> =>
  (await api.get(`/api/vehicles/${id}/list-dashcam-media`)).items;
const notificationsOf = async (id: number, type: string): Promise<readonly Data[]> =>
  (await api.get(`/api/notifications?vehicle_id=${id}&type=${type}`)).items;
const linked = (notification: Data | undefined): number[] =>
  ((notification?.['media'] ?? []) as { id: number }[]).map(({ id }) => id);

/** Waits until earlier events have been processed. */
async function settled(): Promise<void> {
  const { id, imei } = await newVehicle();
  await publishMediaStored(harness, storedPicture(imei, pod.id));
  await waitFor(async () => (await mediaOf(id)).length === 1);
}

describe('a stored picture', () => {
  it('becomes a file of its vehicle, with the time of the terminal’s clock and a notification', async () => {
    const { id, imei } = await newVehicle({ camera_utc_offset: '+05:30' });
    const receivedAtMs = Date.parse('2026-11-22T10:00:00Z');
    const place = { latitude: 22.6, longitude: 114.2 };
    await publishMediaStored(
      harness,
      storedPicture(imei, pod.id, { takenAt: '2026-11-22T15:20:00', receivedAtMs, place, source: 'timer' }),
    );
    await waitFor(async () => linked((await notificationsOf(id, 'media_captured'))[0]).length > 0);
    const [notification] = await notificationsOf(id, 'media_captured');
    const [media] = await mediaOf(id);
    expect(media).toMatchObject({
      vehicle_id: id,
      imei,
      channel_id: 2,
      kind: 'image',
      source: 'timer',
      mime_type: 'image/jpeg',
      size_bytes: 1000,
      taken_at: '2026-11-22T09:50:00.000Z',
      received_at: '2026-11-22T10:00:00.000Z',
      ...place,
      capture_id: null,
      thumbnail_url: expect.stringMatching(/&thumbnail=1$/),
      protected: false,
      notification_id: notification?.id,
    });
    expect(notification).toMatchObject({
      location: place,
      attributes: { channel_id: 2, kind: 'image', source: 'timer', multimedia_id: 77, size_bytes: 1000 },
      media: [{ id: media?.id, kind: 'image', url: expect.stringContaining(`/api/dashcam-media/${media?.id}/file?`) }],
    });
    await waitFor(async () => liveEvents.of('media', id).length > 0);
    const { url: _url, ...published } = media ?? { url: '' };
    // Each receiver gets its own URLs.
    expect(liveEvents.of('media', id)[0]).toEqual({ ...published, thumbnail_url: '' });
  });

  it('that was recorded from live video has the time of its begin', async () => {
    const { id, imei } = await newVehicle();
    const receivedAtMs = Date.now();
    const times = { receivedAtMs, startedAtMs: receivedAtMs - 10_000, multimediaId: null };
    await publishMediaStored(harness, storedPicture(imei, pod.id, { kind: 'video', mimeType: 'video/mp4', ...times }));
    await waitFor(async () => (await mediaOf(id)).length === 1);
    expect((await mediaOf(id))[0]?.['taken_at']).toBe(new Date(receivedAtMs - 10_000).toISOString());
  });

  it('is one file and one notification for repeated events, and counts once', async () => {
    const { id, imei } = await newVehicle();
    const stored = storedPicture(imei, pod.id);
    for (let time = 0; time < 3; time += 1) await publishMediaStored(harness, stored, { again: true });
    await settled();
    await waitFor(async () => linked((await notificationsOf(id, 'media_captured'))[0]).length > 0);
    expect(await mediaOf(id)).toHaveLength(1);
    expect(await notificationsOf(id, 'media_captured')).toHaveLength(1);
    expect((await findUsage(harness.deps.database, id))?.bytes).toBe(1000);
  });

  it('shares its notification with the 0x0800 that announced it', async () => {
    const { id, imei } = await newVehicle();
    const head = { multimediaId: 77, type: 0, format: 0, eventCode: 0, channel: 2 };
    await publishTerminalMessage(harness, imei, multimediaEvent, head, { receivedAtMs: Date.now() - 5_000 });
    await waitFor(async () => (await notificationsOf(id, 'media_captured')).length > 0);
    expect(await mediaOf(id)).toEqual([]);
    await publishMediaStored(harness, storedPicture(imei, pod.id));
    await waitFor(async () => linked((await notificationsOf(id, 'media_captured'))[0]).length > 0);
    expect(await notificationsOf(id, 'media_captured')).toHaveLength(1);
    await waitFor(async () => liveEvents.of('notification', id).some(({ version }) => version === 2));
    expect(liveEvents.of('notification', id).at(-1)).toMatchObject({ media: [{ kind: 'image' }] });
  });

  it('shares its notification with a 0x0800 one hour earlier', async () => {
    const { id, imei } = await newVehicle();
    const head = { multimediaId: 77, type: 0, format: 0, eventCode: 0, channel: 2 };
    await publishTerminalMessage(harness, imei, multimediaEvent, head, { receivedAtMs: Date.now() - 3_600_000 });
    await waitFor(async () => (await notificationsOf(id, 'media_captured')).length > 0);
    await publishMediaStored(harness, storedPicture(imei, pod.id));
    await waitFor(async () => linked((await notificationsOf(id, 'media_captured')).at(-1)).length > 0);
    expect(await notificationsOf(id, 'media_captured')).toHaveLength(1);
  });

  it('of a terminal without a vehicle is deleted; an invalid event delays no other', async () => {
    const stored = storedPicture(newImei(), pod.id);
    await publishMediaStored(harness, stored);
    await waitFor(async () => pod.removed.includes(stored.fileId));
    const bad = { ...stored, sizeBytes: -1 };
    await harness.bus.js.publish(`media-file.${stored.imei}.stored`, JSON.stringify(bad));
    await harness.bus.js.publish(`media-file.${stored.imei}.stored`, 'nothing');
    await settled();
    expect(await findByKey(harness.records, `file:${stored.imei}:${stored.fileId}`)).toBeNull();
  });

  it('from before the terminal was assigned is deleted without a notification', async () => {
    const theirs = harness.as(harness.theirs.owner);
    const { id, imei } = await newVehicle();
    expect((await api.put(`/api/vehicles/${id}`, { imei: null })).status).toBe(200);
    const made = await theirs.post('/api/vehicles', { vehicle_no: `MOVED${count}`, imei });
    const createdAt = (await vehicles().findOne({ _id: made.data.id }))?.createdAt.getTime() ?? 0;
    const late = storedPicture(imei, pod.id, { receivedAtMs: createdAt - 1 });
    const head = { multimediaId: 78, type: 0, format: 0, eventCode: 0, channel: 2 };
    await publishTerminalMessage(harness, imei, multimediaEvent, head, { receivedAtMs: createdAt - 1 });
    await publishMediaStored(harness, late);
    await waitFor(async () => pod.removed.includes(late.fileId));
    const files = async () => (await theirs.get(`/api/vehicles/${made.data.id}/list-dashcam-media`)).items;
    expect(await files()).toEqual([]);
    await publishMediaStored(harness, storedPicture(imei, pod.id, { receivedAtMs: createdAt }));
    await waitFor(async () => (await files()).length === 1);
    // The terminal returns: pictures from other vehicles stay excluded.
    expect((await theirs.put(`/api/vehicles/${made.data.id}`, { imei: null })).status).toBe(200);
    expect((await api.put(`/api/vehicles/${id}`, { imei })).status).toBe(200);
    const since = (await vehicles().findOne({ _id: id }))?.terminalSinceMs ?? 0;
    const early = storedPicture(imei, pod.id, { receivedAtMs: since - 1 });
    await publishMediaStored(harness, early);
    await waitFor(async () => pod.removed.includes(early.fileId));
    expect(await mediaOf(id)).toEqual([]);
    const all = await theirs.get(`/api/notifications?vehicle_id=${made.data.id}&type=media_captured`);
    expect(all.items.map(({ attributes }) => attributes)).toEqual([expect.objectContaining({ multimedia_id: 77 })]);
  });

  it('stays deleted after a repeated event', async () => {
    const { id, imei } = await newVehicle();
    const stored = storedPicture(imei, pod.id);
    await publishMediaStored(harness, stored);
    await waitFor(async () => (await mediaOf(id)).length === 1);
    const [media] = await mediaOf(id);
    expect((await api.delete(`/api/dashcam-media/${media?.id}`)).status).toBe(200);
    await waitFor(async () => pod.removed.includes(stored.fileId));
    const removals = (): number => pod.removed.filter((each) => each === stored.fileId).length;
    const before = removals();
    await publishMediaStored(harness, stored, { again: true });
    await waitFor(async () => removals() > before);
    expect(await mediaOf(id)).toEqual([]);
    expect((await notificationsOf(id, 'media_captured')).flatMap(linked)).toEqual([]);
  });

  it('that was sent to another pod again belongs to that, and the older copy is deleted', async () => {
    const other = await openFakeMediaPod(harness.bus, 'pod-b');
    const { id, imei } = await newVehicle();
    const stored = storedPicture(imei, pod.id, { receivedAtMs: Date.now() - 60_000 });
    await publishMediaStored(harness, stored);
    await waitFor(async () => (await mediaOf(id)).length === 1);
    const newer = { ...stored, server: other.id, receivedAtMs: Date.now() };
    await publishMediaStored(harness, newer, { again: true });
    await waitFor(async () => pod.removed.includes(stored.fileId));
    // The same file in a second copy: the first one stays.
    await publishMediaStored(harness, { ...stored, server: pod.id }, { again: true });
    await waitFor(async () => pod.removed.filter((each) => each === stored.fileId).length === 2);
    expect(other.removed).toEqual([]);
    expect(await mediaOf(id)).toHaveLength(1);
    // If both share a volume, the remaining file was stored after these timestamps.
    expect(pod.fileRequests.filter(({ fileId }) => fileId === stored.fileId)).toEqual([
      { imei, fileId: stored.fileId, storedBeforeMs: newer.receivedAtMs },
      { imei, fileId: stored.fileId, storedBeforeMs: stored.receivedAtMs },
    ]);
    await other.close();
  });

  it('in a second copy is deleted when its unavailable pod is back', async () => {
    const other = await openFakeMediaPod(harness.bus, 'pod-c');
    const { id, imei } = await newVehicle();
    const stored = storedPicture(imei, other.id, { receivedAtMs: Date.now() - 60_000 });
    const key = `file:${imei}:${stored.fileId}`;
    await publishMediaStored(harness, stored);
    await waitFor(async () => (await mediaOf(id)).length === 1);
    other.isRemoving = false;
    await publishMediaStored(harness, { ...stored, server: pod.id, receivedAtMs: Date.now() }, { again: true });
    await waitFor(async () => (await findRemoval(harness.deps.database, `${key}@${other.id}`)) !== null);
    // The file is deleted and arrives at the other pod again: both copies are deleted.
    pod.isRemoving = false;
    const [media] = await mediaOf(id);
    expect((await api.delete(`/api/dashcam-media/${media?.id}`)).status).toBe(200);
    await publishMediaStored(harness, stored, { again: true });
    await settled();
    expect(await findRemoval(harness.deps.database, key)).toMatchObject({
      recordId: media?.id,
      file: { server: pod.id },
    });
    [pod.isRemoving, other.isRemoving] = [true, true];
    await retryPendingRemovals(harness.deps);
    for (const each of [pod, other]) expect(each.removed).toContain(stored.fileId);
    await other.close();
  });
});

describe('files of an alarm', () => {
  const attached = (imei: string, ids: { vehicleId: number; notificationId: number }): MediaStored =>
    storedPicture(imei, pod.id, {
      kind: 'video',
      mimeType: 'video/mp4',
      source: 'alarm',
      multimediaId: null,
      attachment: { alarmNo: 'ab'.repeat(16), accountId: harness.ours.accountId, name: '00_65_6501_1.mp4', ...ids },
    });

  it('belong to its notification and create none', async () => {
    const { id, imei } = await newVehicle();
    const alarm = await recordTestNotification(harness.deps, harness.ours.accountId, {
      vehicleId: id,
      type: 'dsm_phone',
    });
    const files = [1, 2, 3].map(() => attached(imei, { vehicleId: id, notificationId: alarm._id }));
    for (const stored of files) await publishMediaStored(harness, stored);
    for (const stored of files) await publishMediaStored(harness, stored, { again: true });
    await waitFor(async () => linked((await notificationsOf(id, 'dsm_phone'))[0]).length === 3);
    await settled();
    const media = await mediaOf(id);
    expect(media.map((each) => each['notification_id'])).toEqual([alarm._id, alarm._id, alarm._id]);
    expect(new Set(linked((await notificationsOf(id, 'dsm_phone'))[0]))).toEqual(new Set(media.map((each) => each.id)));
    expect(await notificationsOf(id, 'media_captured')).toEqual([]);
    await waitFor(async () => liveEvents.of('notification', id).length >= 3);
    const [removed] = media;
    expect((await api.delete(`/api/dashcam-media/${removed?.id}`)).status).toBe(200);
    expect(linked((await notificationsOf(id, 'dsm_phone'))[0])).not.toContain(removed?.id);
  });

  it('are deleted if the alarm does not exist or belongs to another account', async () => {
    const { id, imei } = await newVehicle();
    const foreign = await recordTestNotification(harness.deps, harness.theirs.accountId, { vehicleId: id });
    const files = [
      attached(imei, { vehicleId: id, notificationId: 999_999 }),
      attached(imei, { vehicleId: 999_999, notificationId: foreign._id }),
      attached(imei, { vehicleId: id, notificationId: foreign._id }),
    ];
    for (const stored of files) await publishMediaStored(harness, stored);
    await waitFor(async () => files.every(({ fileId }) => pod.removed.includes(fileId)));
    expect(await mediaOf(id)).toEqual([]);
  });
});

describe('uploaded clips', () => {
  async function completed(imei: string, more: Partial<UploadRecord> = {}): Promise<UploadRecord> {
    const times = { startMs: Date.parse('2026-01-31T02:00:00Z'), endMs: Date.parse('2026-01-31T02:01:00Z') };
    const clip = { imei, channel: 3, ...times, mediaType: 0, streamType: 0, storageType: 0, alarmFlags: '0' };
    const who = { shownImei: imei, askedImei: imei, cameraUtcOffset: '+08:00', reservedUntilMs: 0 };
    const record: UploadRecord = {
      ...createReservation(clip, { ...who, mobileNetwork: false }),
      status: 'completed',
      filename: 'a.mp4',
      filesize: 5000,
      server: { podId: pod.id, httpUrl: 'http://127.0.0.1:1' },
      ...more,
    };
    await harness.deps.database.collection<UploadRecord>('uploads').insertOne(record);
    return record;
  }
  async function publishCompleted({ _id, clip, changedAtMs: atMs }: UploadRecord): Promise<void> {
    const about = { uploadId: _id, imei: clip.imei, channel: 3, filesize: 5000, filename: 'a.mp4', atMs };
    const body = { ...about, status: 'completed' as const };
    expect(uploadChanged.check(body)).toBe(true);
    await harness.bus.js.publish(uploadSubject(_id, 'closed'), JSON.stringify(body));
  }

  it('are files of their vehicle, linked to the notification of their upload', async () => {
    const { id, imei } = await newVehicle();
    const record = await completed(imei);
    await publishCompleted(record);
    await publishCompleted(record);
    await waitFor(async () => linked((await notificationsOf(id, 'video_upload_completed'))[0]).length > 0);
    const [notification] = await notificationsOf(id, 'video_upload_completed');
    const media = await mediaOf(id);
    expect(media).toHaveLength(1);
    expect(media[0]).toMatchObject({
      source: 'upload',
      kind: 'video',
      mime_type: 'video/mp4',
      size_bytes: 5000,
      video_id: record._id,
      taken_at: '2026-01-31T02:00:00.000Z',
      notification_id: notification?.id,
    });
  });

  it('are deleted with their upload, and delete it', async () => {
    const { id, imei } = await newVehicle();
    const uploads = new UploadRepository(harness.deps.database);
    const [first, second] = [await completed(imei), await completed(imei)];
    await publishCompleted(first);
    await publishCompleted(second);
    await waitFor(async () => (await mediaOf(id)).length === 2);
    await uploads.remove(first._id, ['completed']);
    await waitFor(async () => {
      publish(harness.bus, uploadRevoked, { uploadId: first._id });
      return (await mediaOf(id)).length === 1;
    });
    const [left] = await mediaOf(id);
    expect(left).toMatchObject({ video_id: second._id });
    expect((await api.delete(`/api/dashcam-media/${left?.id}`)).status).toBe(200);
    await waitFor(async () => pod.removed.includes(second._id));
    await waitFor(async () => (await uploads.find(second._id)) === null);
  });
});
