import { mediaControl, mediaControlSubject, subscribe } from '@fleet/bus';
import { readStream } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createOutcome, DeviceApiHarness } from '../testing/harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let harness: DeviceApiHarness;
let api: Awaited<ReturnType<DeviceApiHarness['startService']>>;
const published: unknown[] = [];
beforeAll(async () => {
  harness = await DeviceApiHarness.open();
  api = await harness.startService();
  subscribe(
    harness.bus,
    mediaControl,
    (error) => {
      throw error;
    },
    (body) => published.push(body),
    mediaControlSubject('pod-7'),
  );
  await harness.bus.nc.flush();
});
afterAll(() => harness.close());

const control = (imei: string, query: string) => api.get(`/realtime/control-stream?imei=${imei}&channel=3&${query}`);
const findPublished = (imei: string): unknown[] => published.filter((body) => (body as { imei: string }).imei === imei);
/** Returns the events of the pod, once a final message has arrived. */
async function changes(imei: string): Promise<unknown[]> {
  await control(imei, 'ctrl_instruction=3');
  await waitFor(
    () => findPublished(imei).length > 0 && (findPublished(imei).at(-1) as { change: string }).change === 'resumed',
  );
  return findPublished(imei).slice(0, -1);
}

describe('the command', () => {
  it.each([
    ['ctrl_instruction=0', { control: 0, closeType: 0, streamType: 0 }],
    ['ctrl_instruction=0&close_stream_type=2', { control: 0, closeType: 2, streamType: 0 }],
    ['ctrl_instruction=1&stream_type=1', { control: 1, closeType: 0, streamType: 1 }],
    ['ctrl_instruction=0&stream_type=1', { control: 0, closeType: 0, streamType: 0 }],
    ['ctrl_instruction=1&close_stream_type=2', { control: 1, closeType: 0, streamType: 0 }],
    ['ctrl_instruction=2&close_stream_type=1&stream_type=1', { control: 2, closeType: 0, streamType: 0 }],
    ['ctrl_instruction=4', { control: 4, closeType: 0, streamType: 0 }],
  ])('contains %s, whether or not the channel streams', async (query, fields) => {
    const imei = await harness.connectDevice(() => createOutcome(0x9102));
    expect(await control(imei, query)).toMatchObject({
      status: 200,
      body: { response_id: '0x9102', result: 'success' },
    });
    expect(harness.findCommands(imei).map(({ command }) => command)).toEqual([
      { kind: 'controlLive', channel: 3, ...fields },
    ]);
  });
});

describe('the pod that owns the stream', () => {
  it.each([
    ['ctrl_instruction=0', [{ change: 'ended' }]],
    ['ctrl_instruction=2', [{ change: 'paused' }]],
    ['ctrl_instruction=0&close_stream_type=1', []],
    ['ctrl_instruction=0&close_stream_type=2', []],
    ['ctrl_instruction=1', [{ change: 'switched', streamType: 0 }]],
    ['ctrl_instruction=4', []],
  ])('is notified after %s: %p', async (query, expected) => {
    const imei = await harness.connectDevice(() => createOutcome(0x9102));
    await harness.connectStream(imei, 3, 'http://127.0.0.1:1', 'pod-7');
    await control(imei, query);
    expect(await changes(imei)).toEqual(expected.map((change) => ({ kind: 'live', imei, channel: 3, ...change })));
  });

  it('is not notified if the device refused', async () => {
    let result = 1;
    const imei = await harness.connectDevice(() => createOutcome(0x9102, result));
    await harness.connectStream(imei, 3, 'http://127.0.0.1:1', 'pod-7');
    expect((await control(imei, 'ctrl_instruction=0')).body).toMatchObject({ result: 'failure' });
    result = 0;
    expect(await changes(imei)).toEqual([]);
  });
});

describe('a stop before the first packet', () => {
  it('cancels the request, so that the channel no longer counts as streaming', async () => {
    const imei = await harness.connectDevice(({ command }) =>
      createOutcome(command.kind === 'startLive' ? 0x9101 : 0x9102),
    );
    // A busy machine may miss the second that a media server has to reply in.
    await waitFor(async () => (await api.get(`/realtime/start-stream?imei=${imei}&channel=3`)).status === 200);
    await control(imei, 'ctrl_instruction=0&close_stream_type=1');
    expect((await readStream(harness.redis, { kind: 'live', imei, channel: 3 })).request).not.toBeNull();
    await control(imei, 'ctrl_instruction=0');
    expect((await readStream(harness.redis, { kind: 'live', imei, channel: 3 })).request).toBeNull();
    expect((await api.get(`/realtime/stream.flv?imei=${imei}&channel=3`)).status).toBe(404);
  });
});
