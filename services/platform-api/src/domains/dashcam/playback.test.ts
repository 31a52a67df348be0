import { randomBytes, randomUUID } from 'node:crypto';
import { deviceApi, playbackProgress, publish, serveUseCase } from '@fleet/bus';
import { AppError, type Running } from '@fleet/service-kit';
import { acknowledgeStream, cancelStreamRequest, reserveStream, type StreamRequest } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { newImei } from '../../testing/fake-terminals.ts';
import { LiveEventRecorder } from '../../testing/live-event-recorder.ts';
import { type Client, PlatformHarness } from '../../testing/platform-harness.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(60_000);

let harness: PlatformHarness;
let owner: Client;
let manager: Client;
let liveEvents: LiveEventRecorder;
let served: Running[];
let commands: object[];
let refusal: AppError | null;
let vehicleId: number;
let imei: string;
let count = 0;

const accepted = { responseId: '0x9201', result: 'success' } as const;
const idOf = (channel: number) => ({ kind: 'history', imei, channel }) as const;

/** Fakes the accepted request of device-api: the channel counts as streaming. */
async function beginStream(channel: number): Promise<void> {
  const request: StreamRequest = {
    requestId: randomUUID(),
    status: 'asking',
    dataType: 0,
    streamType: 0,
    isForeign: false,
    requestedAtMs: Date.now(),
    correlationId: randomBytes(4).toString('hex'),
  };
  await reserveStream(harness.deps.redis, idOf(channel), request);
  await acknowledgeStream(harness.deps.redis, idOf(channel), request.requestId);
}

beforeAll(async () => {
  harness = await PlatformHarness.open({ PLATFORM_ROLES: 'api,websocket,telemetry' });
  owner = harness.as(harness.ours.owner);
  manager = harness.as(await harness.user('manager'));
  liveEvents = new LiveEventRecorder(harness);
  const options = { queue: 'test', onError: () => undefined };
  served = [
    serveUseCase(harness.bus, deviceApi.wakeUp, options, async () => ({ result: 'success' }) as const),
    serveUseCase(harness.bus, deviceApi.startPlayback, options, async (request) => {
      if (refusal !== null) throw refusal;
      commands.push({ start: request });
      await beginStream(request.channel);
      return accepted;
    }),
    serveUseCase(harness.bus, deviceApi.controlPlayback, options, async (request) => {
      commands.push({ control: request });
      if (request.control === 2) await cancelStreamRequest(harness.deps.redis, idOf(request.channel));
      return accepted;
    }),
  ];
  await harness.bus.nc.flush();
});
afterAll(async () => {
  await Promise.all(served?.map((each) => each.stop()) ?? []);
  liveEvents?.stop();
  await harness?.close();
});
beforeEach(async () => {
  count += 1;
  [commands, refusal, imei] = [[], null, newImei()];
  vehicleId = (await owner.post('/api/vehicles', { vehicle_no: `PLAY${count}`, imei })).data.id;
});

const path = () => `/api/vehicles/${vehicleId}/dashcam-playback`;
const span = { from: '2026-01-22T06:00:00Z', to: '2026-01-22T06:10:00Z' };
const otherSpan = { from: '2026-01-22T08:00:00Z', to: '2026-01-22T08:10:00Z' };
const start = (body: object = {}, client = owner) => client.post(path(), { ...span, ...body });
const control = (body: object, client = owner) => client.post(`${path()}/control`, body);

describe('a recording that a camera plays', () => {
  it('is started with its window, and returns URLs and the user who started it', async () => {
    const { status, data } = await start({ channel_id: 2, stream_type: 'LOW', memory_type: 1 });
    expect(status).toBe(200);
    expect(data).toMatchObject({
      vehicle_id: vehicleId,
      channel_id: 2,
      kind: 'history',
      from: '2026-01-22T06:00:00.000Z',
      to: '2026-01-22T06:10:00.000Z',
      position: '2026-01-22T06:00:00.000Z',
      pace: 1,
      started_by_name: expect.any(String),
    });
    expect(data['ws_flv_url']).toMatch(/^ws:.*\/2\/stream\.flv\?token=.*&kind=history$/);
    const startMs = Date.parse(span.from);
    expect(commands).toMatchObject([{ start: { imei, channel: 2, startMs, streamType: 2, memoryType: 1 } }]);
    const read = await owner.get(`${path()}?channel_id=2`);
    expect(read.data['playback_id']).toBe(data['playback_id']);
    expect((await owner.get(path())).status).toBe(404);
  });

  it('is returned as it is for the same window, and replaced by another window of the same user', async () => {
    const first = await start();
    expect((await start({}, manager)).data['playback_id']).toBe(first.data['playback_id']);
    expect(commands).toHaveLength(1);
    const second = await start(otherSpan);
    expect(second.data['from']).toBe('2026-01-22T08:00:00.000Z');
    expect(commands.slice(1)).toMatchObject([{ control: { control: 2 } }, { start: { channel: 1 } }]);
  });

  it('is 409 for the window of another user, who may take over', async () => {
    await start();
    const busy = await start(otherSpan, manager);
    expect(busy).toMatchObject({ status: 409, body: { code: 'camera_busy' } });
    const { name } = (await owner.get(`/api/users/${harness.ours.owner.id}`)).data;
    expect(JSON.stringify(busy.body)).toContain(name);
    expect((await control({ playback_control: 1 }, manager)).status).toBe(409);
    expect((await start({ ...otherSpan, takeover: true }, manager)).status).toBe(200);
    expect((await control({ playback_control: 1 }, manager)).status).toBe(200);
    expect((await control({ playback_control: 1 })).status).toBe(409);
  });

  it('is paused, sped up, moved and stopped', async () => {
    await start();
    const fast = await control({ playback_control: 3, fast_forward_rewind_times: 3 });
    expect(fast.data['pace']).toBe(4);
    const moved = await control({ playback_control: 5, drag_playback_time: '2026-01-22T06:05:00Z' });
    expect(moved.data['position']).toBe('2026-01-22T06:05:00.000Z');
    expect((await control({ playback_control: 5 })).status).toBe(400);
    expect((await control({ playback_control: 5, drag_playback_time: '2026-01-22T07:00:00Z' })).status).toBe(400);
    expect((await control({ playback_control: 0 })).data['pace']).toBe(1);
    expect((await control({ playback_control: 2 })).status).toBe(200);
    expect((await owner.get(path())).status).toBe(404);
    expect((await control({ playback_control: 0 })).status).toBe(404);
    const actions = (await owner.get('/api/audit-log?limit=20')).items;
    expect(actions.map((entry) => entry['action'])).toEqual(
      expect.arrayContaining(['video.playback', 'video.playback_control']),
    );
  });

  it('reports its position each second, and its end', async () => {
    await start();
    const fromMs = Date.parse(span.from);
    const report = (timestampMs: number, isEnded = false) =>
      publish(harness.bus, playbackProgress, { imei, channel: 1, timestampMs, viewers: 1, isEnded });
    report(fromMs + 7_000);
    await waitFor(() => liveEvents.of('stream', vehicleId).length > 0);
    expect(liveEvents.of('stream', vehicleId)[0]).toMatchObject({
      kind: 'history',
      status: 'streaming',
      stream_url: null,
      viewers: 1,
      playback: { position: '2026-01-22T06:00:07.000Z', pace: 1 },
    });
    expect((await owner.get(path())).data['position']).toBe('2026-01-22T06:00:07.000Z');
    await cancelStreamRequest(harness.deps.redis, idOf(1));
    report(fromMs + 600_000, true);
    await waitFor(() => liveEvents.of('stream', vehicleId).length > 1);
    expect(liveEvents.of('stream', vehicleId)[1]).toMatchObject({ kind: 'history', status: 'stopped' });
    expect((await owner.get(path())).status).toBe(404);
  });

  it('is 400 for a wrong window, 403 without the right, 404 for others, and passes refusals on', async () => {
    expect((await start({ to: span.from })).status).toBe(400);
    expect((await start({ to: '2026-01-24T06:00:00Z' })).status).toBe(400);
    expect((await start({}, harness.as(await harness.user('viewer')))).status).toBe(403);
    expect((await start({}, harness.as(harness.theirs.owner))).status).toBe(404);
    refusal = new AppError('device_not_connected', 'The device is not connected.');
    expect((await start()).status).toBe(404);
    expect((await owner.get(path())).status).toBe(404);
  });
});
