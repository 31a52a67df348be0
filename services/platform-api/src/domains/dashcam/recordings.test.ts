import { deviceApi, serveUseCase } from '@fleet/bus';
import { AppError, type Running } from '@fleet/service-kit';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { newImei } from '../../testing/fake-terminals.ts';
import { type Client, PlatformHarness } from '../../testing/platform-harness.ts';

// The tests use real servers on a machine that may be busy.
jest.setTimeout(120_000);

let harness: PlatformHarness;
let api: Client;
let served: Running;
/** Beginnings of the recordings on the camera of channel 1, each of ten minutes; channel 2 has one. */
let starts: string[] = [];
let refusal: AppError | null = null;
let vehicleId: number;
let count = 0;

const toRecording = (channel: number, startTime: string) => ({
  channel,
  startTime,
  endTime: new Date(Date.parse(startTime) + 600_000).toISOString(),
  alarmFlags: channel === 2 ? '1' : '0',
  resourceType: 0,
  streamType: 1,
  memoryType: 1,
  fileSizeBytes: 1_000,
});

beforeAll(async () => {
  harness = await PlatformHarness.open();
  api = harness.as(harness.ours.owner);
  served = serveUseCase(
    harness.bus,
    deviceApi.listRecordings,
    { queue: 'test', onError: () => undefined },
    async ({ channel }) => {
      if (refusal !== null) throw refusal;
      const first = starts.map((start) => toRecording(1, start));
      const second = channel === 0 ? [toRecording(2, '2026-01-22T08:00:00Z')] : [];
      return { cameraUtcOffset: '+08:00', recordings: [...first, ...second] };
    },
  );
  await harness.bus.nc.flush();
});
afterAll(async () => {
  await served?.stop();
  await harness?.close();
});
beforeEach(async () => {
  refusal = null;
  count += 1;
  vehicleId = (await api.post('/api/vehicles', { vehicle_no: `RECORDINGS${count}`, imei: newImei() })).data.id;
});

const list = (query = '', client = api) =>
  client.get(`/api/vehicles/${vehicleId}/recordings?from=2026-01-22T06:00:00Z&to=2026-01-22T12:00:00Z${query}`);
const segmentsOf = (data: unknown) =>
  (data as { channels: { channel_id: number; segments: { from: string }[] }[] }).channels.map(
    ({ channel_id: channel, segments }) => [channel, ...segments.map(({ from }) => from.slice(11, 16))],
  );

describe('GET /api/vehicles/:vehicleId/recordings', () => {
  it('returns the list of the camera after a refresh, and its copy later', async () => {
    starts = ['2026-01-22T06:30:00Z', '2026-01-22T07:00:00Z'];
    expect((await list()).data).toEqual({ channels: [] });
    const refreshed = await list('&refresh=true');
    expect(refreshed.data).toEqual({
      channels: [
        {
          channel_id: 1,
          listed_at: expect.any(String),
          segments: [
            {
              from: '2026-01-22T06:30:00.000Z',
              to: '2026-01-22T06:40:00.000Z',
              alarm: false,
              stream_type: 'HIGH',
              memory_type: 1,
              size_bytes: 1_000,
            },
            expect.objectContaining({ from: '2026-01-22T07:00:00.000Z' }),
          ],
        },
        { channel_id: 2, listed_at: expect.any(String), segments: [expect.objectContaining({ alarm: true })] },
      ],
    });
    refusal = new AppError('device_not_connected', 'The device is not connected.');
    expect((await list()).data).toEqual(refreshed.data);
    expect((await list('&refresh=true')).status).toBe(404);
  });

  it('replaces the recordings of the listed channel and time, and keeps the others', async () => {
    starts = ['2026-01-22T06:30:00Z'];
    await list('&refresh=true');
    starts = ['2026-01-22T09:00:00Z'];
    await list('&refresh=true&channel_id=1');
    expect(segmentsOf((await list()).data)).toEqual([
      [1, '09:00'],
      [2, '08:00'],
    ]);
    expect(segmentsOf((await list('&channel_id=2')).data)).toEqual([[2, '08:00']]);
  });

  it('returns 404 for other accounts, 403 without the right to see video, and 400 for a wrong time', async () => {
    expect((await list('', harness.as(harness.theirs.owner))).status).toBe(404);
    expect((await list('', harness.as(await harness.user('viewer')))).status).toBe(403);
    const path = `/api/vehicles/${vehicleId}/recordings`;
    const statuses = [];
    for (const query of ['', '?from=2026-01-22T06:00:00Z&to=2026-01-22T06:00:00Z', '?from=2026-01-01&to=2026-01-22'])
      statuses.push((await api.get(`${path}${query}`)).status);
    expect(statuses).toEqual([400, 400, 400]);
  });
});
