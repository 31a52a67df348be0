import { deviceApi, serveUseCase } from '@fleet/bus';
import { AppError, type Running } from '@fleet/service-kit';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { newImei } from '../../testing/fake-terminals.ts';
import { LiveEventRecorder } from '../../testing/live-event-recorder.ts';
import { type Client, PlatformHarness } from '../../testing/platform-harness.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(60_000);

let harness: PlatformHarness;
let api: Client;
let liveEvents: LiveEventRecorder;
let served: Running[];
let refusal: AppError | null = null;
let count = 0;

beforeAll(async () => {
  harness = await PlatformHarness.open({ PLATFORM_ROLES: 'api,websocket,telemetry' });
  api = harness.as(harness.ours.owner);
  liveEvents = new LiveEventRecorder(harness);
  const accepted = { responseId: '0x9101', result: 'success' } as const;
  const options = { queue: 'test', onError: () => undefined };
  served = [
    serveUseCase(harness.bus, deviceApi.wakeUp, options, async () => {
      if (refusal !== null) throw refusal;
      return { result: 'success' } as const;
    }),
    serveUseCase(harness.bus, deviceApi.startLive, options, async () => accepted),
  ];
  await harness.bus.nc.flush();
});
afterAll(async () => {
  await Promise.all(served?.map((each) => each.stop()) ?? []);
  liveEvents?.stop();
  await harness?.close();
});
beforeEach(() => {
  refusal = null;
});

async function newVehicle(): Promise<number> {
  count += 1;
  return (await api.post('/api/vehicles', { vehicle_no: `PHASES${count}`, imei: newImei() })).data.id;
}
const start = (id: number, body: object = {}) => api.post(`/api/vehicles/start-dashcam-stream/${id}`, body);
const phasesOf = (id: number) => liveEvents.of('stream', id).map(({ phase, status }) => [phase, status]);

describe('the start of a stream', () => {
  it('is published step by step while the request runs', async () => {
    const id = await newVehicle();
    const { status, data } = await start(id, { channel_id: 2 });
    expect([status, data['status'], data['phase'], data['reason']]).toEqual([200, 'starting', 'connecting', null]);
    await waitFor(() => phasesOf(id).length >= 2);
    expect(phasesOf(id)).toEqual([
      ['waking', 'starting'],
      ['requested', 'starting'],
    ]);
    expect(liveEvents.of('stream', id)[0]).toMatchObject({ channel_id: 2, stream_type: 'LOW', talk_url: null });
  });

  it('begins with the request to the camera if nothing is woken', async () => {
    const id = await newVehicle();
    await start(id, { wake: false });
    await waitFor(() => phasesOf(id).length >= 1);
    expect(phasesOf(id)).toEqual([['requested', 'starting']]);
  });

  it('ends with the reason of a failure', async () => {
    const id = await newVehicle();
    refusal = new AppError('device_timeout', 'The device did not reply in time.');
    expect((await start(id)).status).toBe(504);
    await waitFor(() => phasesOf(id).length >= 2);
    expect(liveEvents.of('stream', id).at(-1)).toMatchObject({
      status: 'stopped',
      phase: null,
      reason: { code: 'device_timeout', text: 'The device did not reply in time.' },
    });
  });
});
