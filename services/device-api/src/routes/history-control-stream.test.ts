import { callUseCase, deviceApi, mediaControl, mediaControlSubject, type Outcome, subscribe } from '@fleet/bus';
import { readStream } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createOutcome, DeviceApiHarness } from '../testing/harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let harness: DeviceApiHarness;
let api: Awaited<ReturnType<DeviceApiHarness['startService']>>;
beforeAll(async () => {
  harness = await DeviceApiHarness.open({ platform: true });
  api = await harness.startService();
});
afterAll(() => harness.close());

const history = (imei: string) => ({ kind: 'history', imei, channel: 1 }) as const;
const control = (imei: string, query: string) =>
  api.get(`/history/control-stream?imei=${imei}&channel=1&playback_control=${query}`);

/** A camera that plays to a media pod whose events are recorded; `order` is their sequence. */
async function playing(outcome: Outcome): Promise<{ imei: string; order: unknown[] }> {
  const order: unknown[] = [];
  const imei = await harness.connectDevice(() => {
    order.push('command');
    return outcome;
  });
  const pod = `media-${imei}`;
  subscribe(
    harness.bus,
    mediaControl,
    (error) => order.push(error),
    ({ change, pace }) => order.push(pace === undefined ? change : `${change} ${pace}`),
    mediaControlSubject(pod),
  );
  await harness.bus.nc.flush();
  await harness.connectStream(imei, 1, 'http://127.0.0.1:1', pod, 'history');
  return { imei, order };
}

describe('a control', () => {
  const seek = '&drag_playback_time=2026-08-01T02:30:00Z';
  it.each([
    ['0', { control: 0 }, ['restarting device', 'command', 'resumed', 'restarted device']],
    ['1', { control: 1 }, ['command', 'paused']],
    ['2', { control: 2 }, ['command', 'ended']],
    [
      '3&fast_forward_rewind_times=4',
      { control: 3, speed: 4 },
      ['restarting arrival', 'command', 'resumed', 'restarted arrival'],
    ],
    ['3', { control: 3 }, ['restarting arrival', 'command', 'resumed', 'restarted arrival']],
    [
      '4&fast_forward_rewind_times=5',
      { control: 4, speed: 5 },
      ['restarting arrival', 'command', 'resumed', 'restarted arrival'],
    ],
    [`5${seek}`, { control: 5, seekTime: '260801103000' }, ['restarting', 'command', 'restarted']],
    ['6', { control: 6 }, ['restarting arrival', 'command', 'resumed', 'restarted arrival']],
    // Fields of other controls are omitted.
    [`1&fast_forward_rewind_times=4${seek}`, { control: 1 }, ['command', 'paused']],
    [
      `5&fast_forward_rewind_times=4${seek}`,
      { control: 5, seekTime: '260801103000' },
      ['restarting', 'command', 'restarted'],
    ],
  ])('%s reaches the camera and the media service', async (query, changed, expected) => {
    const { imei, order } = await playing(createOutcome(0x9202));
    expect(await control(imei, query)).toMatchObject({
      status: 200,
      body: { response_id: '0x9202', result: 'success' },
    });
    const command = { kind: 'controlPlayback', channel: 1, control: 0, speed: 0, seekTime: null };
    expect(harness.findCommands(imei).map((each) => each.command)).toEqual([{ ...command, ...changed }]);
    await waitFor(() => order.length >= expected.length);
    expect(order).toEqual(expected);
  });

  it.each<[string, Outcome, number, unknown]>([
    ['refuses', createOutcome(0x9202, 1), 200, { response_id: '0x9202', result: 'failure' }],
    ['does not know it', createOutcome(0x9202, 3), 200, { response_id: '0x9202', result: 'unsupported' }],
    ['is silent', { kind: 'timedOut' }, 504, { status: 504, error: expect.any(String) }],
    ['is gone', { kind: 'notConnected' }, 404, { status: 404, error: expect.any(String) }],
  ])('causes no change if the camera %s', async (_what, outcome, status, body) => {
    const { imei, order } = await playing(outcome);
    expect(await control(imei, '2')).toMatchObject({ status, body });
    expect(await control(imei, '3')).toMatchObject({ status, body });
    await harness.bus.nc.flush();
    expect(order).toEqual(['command', 'restarting arrival', 'command']);
  });

  it('is sent on a channel without playback: the camera decides', async () => {
    const imei = await harness.connectDevice(() => createOutcome(0x9202, 1));
    expect((await control(imei, '0')).body).toEqual({ response_id: '0x9202', result: 'failure' });
  });

  it('cancels the request if it stops a playback that has not begun', async () => {
    const imei = await harness.connectDevice(({ command }) =>
      createOutcome(command.kind === 'startPlayback' ? 0x9201 : 0x9202),
    );
    const span = 'start_time=2026-08-01T02:00:00Z&end_time=2026-08-01T03:00:00Z';
    await api.get(`/history/start-stream?imei=${imei}&channel=1&resource_type=0&stream_type=1&memory_type=1&${span}`);
    expect((await readStream(harness.redis, history(imei))).request?.status).toBe('acknowledged');
    await control(imei, '2');
    expect((await readStream(harness.redis, history(imei))).request).toBeNull();
    expect((await api.get(`/history/stream.flv?imei=${imei}&channel=1`)).status).toBe(404);
  });
});

describe('a seek', () => {
  it('without drag_playback_time is 400 and sends no command', async () => {
    const imei = await harness.connectDevice(() => createOutcome(0x9202));
    expect(await control(imei, '5')).toMatchObject({
      status: 400,
      body: { status: 400, error: 'The parameter drag_playback_time is required with playback_control 5.' },
    });
    expect(harness.findCommands(imei)).toEqual([]);
  });

  it("is on the camera's own clock", async () => {
    const imei = await harness.connectDevice(() => createOutcome(0x9202));
    harness.utcOffsets.set(imei, '+05:45');
    await control(imei, '5&drag_playback_time=2026-08-01T10:30:00.75%2B08:00');
    expect(harness.findCommands(imei)[0]?.command).toMatchObject({ seekTime: '260801081500' });
  });
});

describe('parameters', () => {
  it.each([
    '',
    '7',
    '-1',
    'play',
    '3&fast_forward_rewind_times=6',
    '5&drag_playback_time=soon',
    '1&drag_playback_time=',
  ])('%j is 400', async (query) => {
    const imei = await harness.connectDevice(() => createOutcome(0x9202));
    expect((await control(imei, query)).status).toBe(400);
    expect(harness.findCommands(imei)).toEqual([]);
  });
});

describe('over the bus', () => {
  it('has the same effect', async () => {
    const { imei, order } = await playing(createOutcome(0x9202));
    const seekMs = Date.parse('2026-08-01T02:30:00Z');
    const result = await callUseCase(
      harness.bus,
      deviceApi.controlPlayback,
      { imei, channel: 1, control: 5, speed: 0, seekMs },
      { timeoutMs: 10_000 },
    );
    expect(result).toEqual({ responseId: '0x9202', result: 'success' });
    await waitFor(() => order.length === 3);
    expect(harness.findCommands(imei)[0]?.command).toMatchObject({ control: 5, seekTime: '260801103000' });
  });
});
