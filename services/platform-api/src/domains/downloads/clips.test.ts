import { deviceApi, serveUseCase } from '@fleet/bus';
import { AppError, type Running } from '@fleet/service-kit';
import { UploadRepository } from '@fleet/storage';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { newImei } from '../../testing/fake-terminals.ts';
import { type Client, PlatformHarness } from '../../testing/platform-harness.ts';
import { storeUpload } from '../../testing/uploads.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { vehicleCollection } from '../vehicles/store.ts';

// The tests use real servers on a machine that may be busy.
jest.setTimeout(120_000);

const openStatuses = ['uploading', 'paused'] as const;

let harness: PlatformHarness;
let api: Client;
let theirs: Client;
let served: Running[];
let vehicle: Vehicle;
/** Requests that device-api received. */
let requests: { imei: string; channel: number; startMs: number; endMs: number; conditions: number }[] = [];
let refusal: AppError | null = null;
let count = 0;

beforeAll(async () => {
  harness = await PlatformHarness.open();
  [api, theirs] = [harness.as(harness.ours.owner), harness.as(harness.theirs.owner)];
  const options = { queue: 'test', onError: () => undefined };
  served = [
    serveUseCase(harness.bus, deviceApi.requestUpload, options, async (request) => {
      if (refusal !== null) throw refusal;
      requests.push(request);
      const { _id: videoId } = await storeUpload(harness, vehicle, { requestedBy: request.requestedBy ?? null });
      return { responseId: '0x9206', result: 'success' as const, videoId };
    }),
    serveUseCase(harness.bus, deviceApi.controlUpload, options, async ({ videoId, action }) => {
      if (refusal !== null) throw refusal;
      const status = (['paused', 'uploading', 'cancelled'] as const)[action] ?? 'uploading';
      const changed = await new UploadRepository(harness.deps.database).set(videoId, openStatuses, { status });
      if (changed === null) throw new AppError('state_conflict', 'The action does not fit the upload.');
      const { clip, cameraUtcOffset } = changed;
      const { imei, channel, startMs, endMs } = clip;
      return { videoId, imei, channel, startMs, endMs, cameraUtcOffset, filesize: 0, status, filename: null };
    }),
  ];
  await harness.bus.nc.flush();
});
afterAll(async () => {
  await Promise.all(served?.map((each) => each.stop()) ?? []);
  await harness?.close();
});
beforeEach(async () => {
  [requests, refusal] = [[], null];
  count += 1;
  const { data } = await api.post('/api/vehicles', { vehicle_no: `CLIPS${count}`, imei: newImei() });
  vehicle = (await vehicleCollection(harness.records).find(harness.ours, data.id)) as Vehicle;
});

const body = (more: object = {}) => ({
  vehicle_id: vehicle._id,
  channel_id: 2,
  from: '2026-01-22T06:10:00.400Z',
  to: '2026-01-22T06:11:29.200Z',
  ...more,
});
const requestClip = (more: object = {}, client = api) => client.post('/api/dashcam-downloads', body(more));

describe('POST /api/dashcam-downloads', () => {
  it('requests a clip of whole seconds over the named networks and returns its upload', async () => {
    const { status, data } = await requestClip({ networks: ['wifi', 'mobile'] });
    expect({ status, data }).toMatchObject({
      status: 202,
      data: { status: 'uploading', vehicle_id: vehicle._id, requested_by: harness.ours.owner.id },
    });
    expect(requests).toEqual([
      expect.objectContaining({
        imei: String(Number(vehicle.imei)),
        channel: 2,
        startMs: Date.parse('2026-01-22T06:10:00Z'),
        endMs: Date.parse('2026-01-22T06:11:30Z'),
        conditions: 0b101,
      }),
    ]);
  });

  it('rejects an empty, a too long and a future clip, and one without a network', async () => {
    const invalid = [
      { to: '2026-01-22T06:10:00.400Z', from: '2026-01-22T06:10:00.400Z' },
      { to: '2026-01-22T07:30:00Z' },
      { from: new Date(Date.now() + 3_600_000).toISOString(), to: new Date(Date.now() + 3_660_000).toISOString() },
      { networks: [] },
      { channel_id: 0 },
    ];
    const statuses = [];
    for (const more of invalid) statuses.push((await requestClip(more)).status);
    expect(statuses).toEqual(invalid.map(() => 400));
    expect(requests).toEqual([]);
  });

  it('is refused for vehicles of others and for viewers, and passes on that the camera is busy', async () => {
    expect((await requestClip({}, theirs)).status).toBe(404);
    expect((await requestClip({}, harness.as(await harness.user('viewer')))).status).toBe(403);
    refusal = new AppError('camera_busy', 'The camera is uploading another clip.');
    expect(await requestClip()).toMatchObject({ status: 409, body: { code: 'camera_busy' } });
  });
});

describe('POST /api/dashcam-downloads/:videoId/control', () => {
  const control = async (action: string, id: string, client = api) =>
    client.post(`/api/dashcam-downloads/${id}/control`, { action });

  it('pauses, resumes and cancels an upload, and returns it', async () => {
    const { _id: id } = await storeUpload(harness, vehicle);
    const states = [];
    for (const action of ['pause', 'resume', 'cancel']) states.push((await control(action, id)).data.status);
    expect(states).toEqual(['paused', 'uploading', 'cancelled']);
    expect(await control('resume', id)).toMatchObject({ status: 409, body: { code: 'state_conflict' } });
  });

  it('returns 404 for other accounts and unknown uploads, and 400 for another action', async () => {
    const { _id: id } = await storeUpload(harness, vehicle);
    expect((await control('pause', id, theirs)).status).toBe(404);
    expect((await control('pause', '0'.repeat(24))).status).toBe(404);
    expect((await control('stop', id)).status).toBe(400);
  });
});
