import { callUseCase, deviceApi, type Outcome } from '@fleet/bus';
import { claimStream, readStream } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createOutcome, DeviceApiHarness, slowBucket } from '../testing/harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let harness: DeviceApiHarness;
let api: Awaited<ReturnType<DeviceApiHarness['startService']>>;
beforeAll(async () => {
  harness = await DeviceApiHarness.open({ platform: true });
  api = await harness.startService(slowBucket);
});
afterAll(() => harness.close());

const success = { response_id: '0x9201', result: 'success' };
const hour = '&start_time=2026-08-01T02:00:00Z&end_time=2026-08-01T03:00:00Z';
const start = (imei: string, more = '', client = api) =>
  client.get(`/history/start-stream?imei=${imei}&channel=1&resource_type=0&stream_type=1&memory_type=1${hour}${more}`);
const history = (imei: string) => ({ kind: 'history', imei, channel: 1 }) as const;
const findCommandBodies = (imei: string) => harness.findCommands(imei).map(({ command }) => command);

/** 0x1205 in response to 0x9201; `hex` is total and items. */
const listed = (hex: string, result: number | null = null): Outcome => ({
  kind: 'answered',
  answer: {
    commandMessageId: 0x9201,
    commandSerialNo: 1,
    result,
    message: { id: 0x1205, edition: '2013', bodyBase64: Buffer.from(`0001${hex}`, 'hex').toString('base64') },
  },
});
const oneRecording = `0000000101260801100000260801110000${'00'.repeat(8)}00010100000400`;

describe('the command to the camera', () => {
  const own = { server: 'media.fleet.example', tcpPort: 7079, udpPort: 0, channel: 1 };
  const plain = {
    kind: 'startPlayback',
    ...own,
    mediaType: 0,
    streamType: 1,
    storageType: 1,
    playbackMode: 0,
    speed: 0,
    startTime: '260801100000',
    endTime: '260801110000',
  };
  it.each([
    ['', {}, false, 'device'],
    ['&playback_mode=0&fast_forward_rewind_times=5', {}, false, 'device'],
    ['&playback_mode=1&fast_forward_rewind_times=5', { playbackMode: 1, speed: 5 }, false, 'arrival'],
    ['&playback_mode=1', { playbackMode: 1 }, false, 'arrival'],
    ['&playback_mode=2&fast_forward_rewind_times=2', { playbackMode: 2, speed: 2 }, false, 'arrival'],
    ['&playback_mode=3&fast_forward_rewind_times=3', { playbackMode: 3 }, false, 'arrival'],
    ['&playback_mode=4', { playbackMode: 4 }, false, 'device'],
    ['&host=other.example', { server: 'other.example' }, true, 'device'],
    ['&tcp_port=7078', { tcpPort: 7078 }, true, 'device'],
    ['&tcp_port=0', { tcpPort: 0, udpPort: 7079 }, false, 'device'],
    ['&host=10.1.2.3&tcp_port=1&udp_port=2', { server: '10.1.2.3', tcpPort: 1, udpPort: 2 }, true, 'device'],
  ])('with %p', async (query, changed, isForeign, pace) => {
    const imei = await harness.connectDevice(() => createOutcome(0x9201));
    expect(await start(imei, query)).toMatchObject({ status: 200, body: success });
    expect(findCommandBodies(imei)).toEqual([{ ...plain, ...changed }]);
    const { request } = await readStream(harness.redis, history(imei));
    expect(request).toMatchObject({ status: 'acknowledged', isForeign, pace, dataType: 0 });
  });

  it('names the requested span and mode', async () => {
    const imei = await harness.connectDevice(() => createOutcome(0x9201));
    const query = `imei=${imei}&channel=0&resource_type=3&stream_type=2&memory_type=2${hour}`;
    expect((await api.get(`/history/start-stream?${query}`)).status).toBe(200);
    expect(findCommandBodies(imei)).toMatchObject([{ channel: 0, mediaType: 3, streamType: 2, storageType: 2 }]);
  });

  it.each([
    'resource_type=4',
    'stream_type=0',
    'stream_type=3',
    'memory_type=0',
    'memory_type=3',
    'playback_mode=5',
    'fast_forward_rewind_times=6',
    'tcp_port=0&udp_port=0',
  ])('is not sent with %s, which is 400', async (invalidQuery) => {
    const imei = await harness.connectDevice(() => createOutcome(0x9201));
    const [name = ''] = invalidQuery.split('=');
    const base = `imei=${imei}&channel=1&resource_type=0&stream_type=1&memory_type=1${hour}`;
    const query = base.replace(new RegExp(`&${name}=[^&]*`), '');
    expect(await api.get(`/history/start-stream?${query}&${invalidQuery}`)).toMatchObject({
      status: 400,
      body: { error: expect.stringContaining(name) },
    });
    expect(findCommandBodies(imei)).toEqual([]);
  });

  it.each(['resource_type', 'stream_type', 'memory_type', 'start_time', 'end_time'])(
    'is not sent without %s, which is 400',
    async (name) => {
      const query = `imei=123456789012&channel=1&resource_type=0&stream_type=1&memory_type=1${hour}`;
      const { status, body } = await api.get(
        `/history/start-stream?${query.replace(new RegExp(`&${name}=[^&]*`), '')}`,
      );
      expect({ status, body }).toEqual({
        status: 400,
        body: { status: 400, error: `The query parameter ${name} is missing.` },
      });
    },
  );
});

describe('a response by 0x1205', () => {
  it.each<[string, Outcome, string]>([
    ['with recordings means success', listed(oneRecording), 'success'],
    ['after 0x0001 as well', listed(oneRecording, 0), 'success'],
    ['without any means failure', listed('00000000'), 'failure'],
  ])('%s', async (_what, outcome, result) => {
    const imei = await harness.connectDevice(() => outcome);
    expect(await start(imei)).toMatchObject({ status: 200, body: { response_id: '0x9201', result } });
    const { request } = await readStream(harness.redis, history(imei));
    expect(request?.status).toBe(result === 'success' ? 'acknowledged' : undefined);
    const flv = await api.get(`/history/stream.flv?imei=${imei}&channel=1`, { method: 'HEAD' });
    expect(flv.status).toBe(result === 'success' ? 200 : 404);
  });

  it('is 502 if it is invalid', async () => {
    const imei = await harness.connectDevice(() => listed(''));
    expect((await start(imei)).status).toBe(502);
    expect((await readStream(harness.redis, history(imei))).request).toBeNull();
  });
});

describe('a channel that is playing', () => {
  it('returns 200 and continues its playback, whatever is requested', async () => {
    const imei = await harness.connectDevice(() => createOutcome(0x9201));
    await start(imei);
    expect((await start(imei, '&playback_mode=1')).body).toEqual(success);
    const url = 'http://127.0.0.1:1';
    await harness.connectStream(imei, 1, url, 'test-media', 'history');
    const before = await readStream(harness.redis, history(imei));
    expect((await start(imei, '&playback_mode=2&host=other.example')).body).toEqual(success);
    expect(await readStream(harness.redis, history(imei))).toEqual(before);
    expect(findCommandBodies(imei)).toHaveLength(1);
  });

  it('is independent of live video', async () => {
    const imei = await harness.connectDevice(({ command }) =>
      createOutcome(command.kind === 'startLive' ? 0x9101 : 0x9201),
    );
    await api.get(`/realtime/start-stream?imei=${imei}&channel=1`);
    await harness.connectStream(imei, 1, 'http://127.0.0.1:1');
    expect((await start(imei)).body).toEqual(success);
    expect((await api.get(`/realtime/start-stream?imei=${imei}&channel=1`)).body).toEqual({
      response_id: '0x9101',
      result: 'success',
    });
    expect(findCommandBodies(imei).map(({ kind }) => kind)).toEqual(['startLive', 'startPlayback']);
  });

  it('is requested again if its pod is dead', async () => {
    const imei = await harness.connectDevice(() => createOutcome(0x9201));
    const dead = { podId: `dead-${imei}`, url: 'http://127.0.0.1:1' };
    await claimStream(harness.redis, history(imei), dead, { acceptUnsolicited: true });
    expect((await start(imei)).body).toEqual(success);
    expect(findCommandBodies(imei)).toHaveLength(1);
  });
});

describe('concurrent requests', () => {
  it('send one command and share its response on all replicas', async () => {
    const other = await harness.startService(slowBucket);
    const waiting: ((outcome: Outcome) => void)[] = [];
    const imei = await harness.connectDevice(() => new Promise<Outcome>((resolve) => waiting.push(resolve)));
    const all = [start(imei), start(imei), start(imei, '', other), start(imei, '', other)];
    await waitFor(() => waiting.length === 1);
    // A request after the failure would send another command.
    await harness.waitUntilChecked(imei, all.length, [api, other]);
    waiting[0]?.(listed('00000000'));
    for (const response of await Promise.all(all))
      expect(response).toMatchObject({ status: 200, body: { response_id: '0x9201', result: 'failure' } });
    expect(findCommandBodies(imei)).toHaveLength(1);
  });
});

describe('over the bus', () => {
  it('has the same effect', async () => {
    const imei = await harness.connectDevice(() => createOutcome(0x9201));
    const startMs = Date.parse('2026-08-01T02:00:00Z');
    const request = { imei, channel: 1, startMs, endMs: startMs + 1000, resourceType: 0, streamType: 1, memoryType: 1 };
    const result = await callUseCase(
      harness.bus,
      deviceApi.startPlayback,
      { ...request, playbackMode: 0, speed: 0 },
      { timeoutMs: 10_000 },
    );
    expect(result).toEqual({ responseId: '0x9201', result: 'success' });
    expect(findCommandBodies(imei)).toMatchObject([{ startTime: '260801100000', endTime: '260801100001' }]);
  });
});
