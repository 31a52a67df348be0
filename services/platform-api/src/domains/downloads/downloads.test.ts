import type { UploadRecord } from '@fleet/storage';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { newImei } from '../../testing/fake-terminals.ts';
import { newMedia } from '../../testing/media-records.ts';
import { type Client, PlatformHarness, type TestUser } from '../../testing/platform-harness.ts';
import { queuedMp4, storeUpload } from '../../testing/uploads.ts';
import { clipKey, recordMedia } from '../media/record.ts';
import type { Media } from '../media/schema.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { vehicleCollection } from '../vehicles/store.ts';

// The tests use real servers on a machine that may be busy.
jest.setTimeout(120_000);

let harness: PlatformHarness;
let api: Client;
let theirs: Client;
let vehicle: Vehicle;
let count = 0;

beforeAll(async () => {
  harness = await PlatformHarness.open();
  [api, theirs] = [harness.as(harness.ours.owner), harness.as(harness.theirs.owner)];
});
afterAll(() => harness?.close());
beforeEach(async () => {
  vehicle = await newVehicle();
});

async function newVehicle(): Promise<Vehicle> {
  count += 1;
  const created = await api.post('/api/vehicles', { vehicle_no: `LOADS${count}`, imei: newImei() });
  return (await vehicleCollection(harness.records).find(harness.ours, created.data.id)) as Vehicle;
}
const path = '/api/user/downloaded-dashcam-videos';
const list = (query = '', client = api) => client.get(`${path}?vehicle_id=${vehicle._id}${query}`);
const videoIds = async (query = '', client = api): Promise<unknown[]> =>
  (await list(query, client)).items.map(({ video_id: id }) => id);
const share = async (user: TestUser, ...permissions: string[]): Promise<void> => {
  const body = { secondaryUser: user.id, vehicles: [vehicle._id], permissions };
  expect((await api.post('/api/vehicle/share-vehicles', body)).status).toBe(200);
};
const recordClip = (upload: UploadRecord): Promise<Media> =>
  recordMedia(
    harness.deps,
    vehicle,
    newMedia(vehicle, 'pod-a', {
      mediaKey: clipKey(upload._id),
      kind: 'video',
      file: null,
      clip: { uploadId: upload._id },
    }),
  );

describe('GET /api/user/downloaded-dashcam-videos', () => {
  it('lists an upload in progress with its requester, its speed and the time left', async () => {
    const upload = await storeUpload(harness, vehicle, {
      requestedBy: harness.ours.owner.id,
      filename: 'clip.h264',
      filesize: 250,
      expectedBytes: 1_000,
      bytesPerSecond: 50,
      lastByteAtMs: Date.now(),
    });
    expect((await list()).items).toEqual([
      {
        id: expect.any(Number),
        created_at: expect.any(String),
        updated_at: expect.any(String),
        version: 1,
        video_id: upload._id,
        imei: vehicle.imei,
        channel: 1,
        video_start_time: expect.stringMatching(/^2026-01-31T1\d:\d\d:00\+08:00$/),
        video_end_time: expect.stringMatching(/^2026-01-31T1\d:\d\d:30\+08:00$/),
        filesize: 250,
        status: 'uploading',
        filename: 'clip.h264',
        vehicle_id: vehicle._id,
        vehicle_no: vehicle.vehicleNo,
        requested_by: harness.ours.owner.id,
        requested_by_name: expect.any(String),
        completed_at: null,
        media_id: null,
        download_url: null,
        duration_seconds: 30,
        thumbnail_url: null,
        thumbnail_width: null,
        error: null,
        percent: 25,
        bytes_per_second: 50,
        seconds_left: 15,
        mp4: null,
      },
    ]);
  });

  it('gives a completed upload the URL of its file', async () => {
    const upload = await storeUpload(harness, vehicle, { status: 'completed', filesize: 1_000 });
    const media = await recordClip(upload);
    const [download] = (await list()).items;
    expect(download).toMatchObject({ media_id: media._id, percent: 100, completed_at: expect.any(String) });
    expect(String(download?.['download_url'])).toContain(`/api/dashcam-media/${media._id}/file?user=`);
  });

  it('states why an upload failed, and that one goes to another server', async () => {
    await storeUpload(harness, vehicle, { status: 'failed', failureReason: 'silence', external: true });
    expect((await list()).items).toMatchObject([{ error: 'The camera stopped sending.', external: true }]);
  });

  it('lists the newest requests first, by status, time and page, without reservations', async () => {
    const at = (hour: number): number => Date.UTC(2026, 0, 31, hour);
    const first = await storeUpload(harness, vehicle, { createdAtMs: at(1), status: 'failed' });
    const second = await storeUpload(harness, vehicle, { createdAtMs: at(3) });
    const third = await storeUpload(harness, vehicle, { createdAtMs: at(5), status: 'paused' });
    await storeUpload(harness, vehicle, { createdAtMs: at(7), status: 'reserved' });
    expect(await videoIds()).toEqual([third._id, second._id, first._id]);
    expect(await videoIds('&sort=id')).toEqual([first._id, second._id, third._id]);
    expect(await videoIds('&status=paused')).toEqual([third._id]);
    expect(await videoIds(`&from=${at(3)}&to=${at(5)}`)).toEqual([second._id]);
    const page = await list('&limit=1&offset=1');
    expect(page.items).toMatchObject([{ video_id: second._id }]);
    expect(page.body).toMatchObject({ meta: { pagination: { total: 3, page: 2, pageSize: 1 } } });
  });

  it.each(['status=done', 'from=never', 'vehicle_id=x', 'limit=0', 'sort=filesize'])(
    'returns 400 for %s',
    async (query) => expect((await api.get(`${path}?${query}`)).status).toBe(400),
  );

  it('merges the uploads of shared vehicles into the pages of a user', async () => {
    const stranger = harness.theirs.owner;
    const created = await theirs.post('/api/vehicles', { vehicle_no: `OWN${count}`, imei: newImei() });
    const own = (await vehicleCollection(harness.records).find(harness.theirs, created.data.id)) as Vehicle;
    const uploads = [
      await storeUpload(harness, own),
      await storeUpload(harness, vehicle),
      await storeUpload(harness, own),
      await storeUpload(harness, vehicle),
    ];
    const all = async (query = ''): Promise<unknown[]> =>
      (await theirs.get(`${path}?${query}`)).items.map(({ video_id: id }) => id);
    expect(await all()).toEqual([uploads[2]?._id, uploads[0]?._id]);
    await share(stranger, 'notifications', 'live_video');
    expect(await all()).toHaveLength(2);
    await share(stranger, 'history_video');
    expect(await all()).toEqual(uploads.map(({ _id }) => _id).toReversed());
    expect(await all('limit=2&offset=1')).toEqual([uploads[2]?._id, uploads[1]?._id]);
    expect(await all(`vehicle_id=${vehicle._id}&limit=1`)).toEqual([uploads[3]?._id]);
  });

  it('requires the right to see video, and leaves out vehicles of other accounts', async () => {
    await storeUpload(harness, vehicle);
    const viewer = await harness.user('viewer', harness.ours, { canViewVideo: true });
    const blind = await harness.user('viewer', harness.ours, { canViewVideo: false });
    expect(await videoIds('', harness.as(viewer))).toHaveLength(1);
    for (const user of [blind, await harness.user('driver')])
      expect((await list('', harness.as(user))).status).toBe(403);
    expect(await videoIds('', theirs)).toEqual([]);
  });

  it('lists the uploads of shared vehicles to every role, and no others to those who see no video', async () => {
    await storeUpload(harness, vehicle);
    const created = await theirs.post('/api/vehicles', { vehicle_no: `THEIRS${count}`, imei: newImei() });
    const own = (await vehicleCollection(harness.records).find(harness.theirs, created.data.id)) as Vehicle;
    await storeUpload(harness, own);
    for (const role of ['viewer', 'driver'] as const) {
      const user = await harness.user(role, harness.theirs, { canViewVideo: false });
      await share(user, 'history_video');
      const { items } = await harness.as(user).get(path);
      expect(items.map(({ vehicle_id: id }) => id)).toEqual([vehicle._id]);
    }
  });

  it('leaves out the uploads of a deleted vehicle', async () => {
    await storeUpload(harness, vehicle);
    expect(await videoIds()).toHaveLength(1);
    expect((await api.delete(`/api/vehicles/${vehicle._id}`)).status).toBe(200);
    expect(await videoIds()).toEqual([]);
  });
});

describe('POST and DELETE /api/dashcam-downloads/:videoId/mp4', () => {
  const mp4Path = ({ _id }: UploadRecord): string => `/api/dashcam-downloads/${_id}/mp4`;
  const completed = (more: Partial<UploadRecord> = {}): Promise<UploadRecord> =>
    storeUpload(harness, vehicle, { status: 'completed', ...more });
  const failed = (isRefused: boolean): Partial<UploadRecord> => ({
    mp4: { ...queuedMp4, status: 'failed', error: 'The clip has no readable video.', isRefused },
  });

  it('queue a conversion, return it again while it is queued, and cancel it', async () => {
    const upload = await completed();
    const queued = await api.post(mp4Path(upload), {});
    expect([queued.status, queued.data]).toMatchObject([
      202,
      { video_id: upload._id, mp4: { status: 'queued', percent: 0, url: null, size_bytes: null, error: null } },
    ]);
    expect((await api.post(mp4Path(upload), {})).status).toBe(202);
    const canceled = await api.delete(mp4Path(upload));
    expect([canceled.status, canceled.data]).toMatchObject([200, { mp4: { status: 'canceled' } }]);
    expect((await api.delete(mp4Path(upload))).status).toBe(409);
    expect((await api.post(mp4Path(upload), {})).data).toMatchObject({ mp4: { status: 'queued' } });
  });

  it('queue a failed conversion again, unless the clip cannot be converted', async () => {
    expect((await api.post(mp4Path(await completed(failed(false))), {})).status).toBe(202);
    const refused = await api.post(mp4Path(await completed(failed(true))), {});
    expect([refused.status, JSON.stringify(refused.body)]).toEqual([
      409,
      expect.stringContaining('The clip has no readable video.'),
    ]);
  });

  it.each([
    ['an upload in progress', { status: 'uploading' }],
    ['a clip that has an MP4', { mp4: { ...queuedMp4, status: 'completed', sizeBytes: 5 } }],
  ] as const)('return 409 for %s', async (_what, more) => {
    const upload = await completed(more);
    for (const send of [() => api.post(mp4Path(upload), {}), () => api.delete(mp4Path(upload))])
      expect((await send()).status).toBe(409);
  });

  it('give the MP4 a URL in the list', async () => {
    const upload = await completed({ mp4: { ...queuedMp4, status: 'completed', percent: 100, sizeBytes: 5 } });
    await recordClip(upload);
    expect((await list()).items).toMatchObject([
      { mp4: { status: 'completed', percent: 100, size_bytes: 5, url: expect.stringMatching(/&format=mp4$/) } },
    ]);
  });

  it('return 404 for other accounts, and require both permissions of a share', async () => {
    const upload = await completed();
    const post = (): Promise<{ status: number }> => theirs.post(mp4Path(upload), {});
    expect((await post()).status).toBe(404);
    for (const permission of ['history_video', 'commands']) {
      await share(harness.theirs.owner, permission);
      expect((await post()).status).toBe(403);
    }
    await share(harness.theirs.owner, 'history_video', 'commands');
    expect((await post()).status).toBe(202);
    const viewer = await harness.user('viewer', harness.ours, { canViewVideo: true });
    expect((await harness.as(viewer).post(mp4Path(upload), {})).status).toBe(403);
    expect((await api.post('/api/dashcam-downloads/000000000000000000000000/mp4', {})).status).toBe(404);
  });
});
