import type { Outcome } from '@fleet/bus';
import { releaseDevice } from '@fleet/storage';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { respondWithStream, startFakeMediaPod } from '../testing/fake-media-pod.ts';
import { createOutcome, DeviceApiHarness, randomImei } from '../testing/harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let harness: DeviceApiHarness;
let video: Awaited<ReturnType<DeviceApiHarness['startService']>>['video'];
beforeAll(async () => {
  harness = await DeviceApiHarness.open();
  ({ video } = await harness.startService());
});
afterAll(() => harness.close());

const post = (path: string, body?: unknown) =>
  video.get(path, { method: 'POST', ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
const device = (outcome?: Outcome) =>
  harness.connectDevice(({ command }) => outcome ?? createOutcome(command.kind === 'startLive' ? 0x9101 : 0x8204));

describe('POST /:imei/start', () => {
  it('starts channel 1 without a body, and returns the stream URL', async () => {
    const imei = await device();
    const { status, body } = await post(`/00000000${imei}/start`);
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        response_id: '0x9101',
        result: 'success',
        stream_url: expect.stringMatching(`^${video.base}/00000000${imei}/1/stream\\.flv\\?token=[\\w.-]+$`),
        ws_flv_url: expect.stringMatching(
          `^${video.base.replace('http', 'ws')}/00000000${imei}/1/stream\\.flv\\?token=[\\w.-]+$`,
        ),
        hls_url: expect.stringMatching(`^${video.base}/00000000${imei}/1/index\\.m3u8\\?token=[\\w.-]+$`),
        token_expires_at: expect.stringMatching(/^\d{4}-.*Z$/),
        talk_url: expect.stringMatching(`^ws${video.base.slice(4)}/00000000${imei}/1/talk\\?token=[\\w.-]+$`),
      },
    });
    expect(harness.findCommands(imei)[0]?.command).toMatchObject({
      kind: 'startLive',
      channel: 1,
      dataType: 0,
      streamType: 0,
    });
  });

  it('forwards known fields of the body, and ignores others', async () => {
    const imei = await device();
    const startBody = {
      channel: 3,
      data_type: 1,
      stream_type: 1,
      host: '10.0.0.1',
      tcp_port: 1,
      udp_port: 2,
      colour: 'red',
    };
    expect((await post(`/${imei}/start`, startBody)).status).toBe(200);
    expect(harness.findCommands(imei)[0]?.command).toEqual({
      kind: 'startLive',
      channel: 3,
      dataType: 1,
      streamType: 1,
      server: '10.0.0.1',
      tcpPort: 1,
      udpPort: 2,
    });
  });

  it.each([
    [{ channel: '1' }],
    [{ channel: 256 }],
    [{ data_type: 6 }],
    [{ stream_type: 2 }],
    [{ host: '' }],
    [[]],
    ['x'],
  ])('is 400 for %j', async (body) => {
    expect(await post(`/${randomImei()}/start`, body)).toMatchObject({ status: 400, body: { status: 400 } });
  });

  it('is 413 for a body above 16 KiB', async () => {
    expect((await post(`/${randomImei()}/start`, { colour: 'x'.repeat(16_384) })).status).toBe(413);
  });

  it.each<[Outcome, number]>([
    [{ kind: 'notConnected' }, 404],
    [{ kind: 'timedOut' }, 504],
    [{ kind: 'unreadable', detail: 'x' }, 502],
  ])('has the statuses of the Device API: %j', async (outcome, status) => {
    expect(await post(`/${await device(outcome)}/start`)).toMatchObject({ status, body: { status } });
  });
});

describe('GET /:imei/wakeup', () => {
  it('wakes the device', async () => {
    expect(await video.get(`/${await device()}/wakeup`)).toMatchObject({ status: 200, body: { result: 'success' } });
    expect((await video.get(`/${randomImei()}/wakeup`)).status).toBe(404);
    expect((await video.get('/000000000000/wakeup')).status).toBe(400);
  });
});

describe('GET /:imei/:channel/stream.flv', () => {
  it('proxies the stream of its pod', async () => {
    const pod = await startFakeMediaPod(respondWithStream('FLV of the pod'));
    const imei = randomImei();
    expect((await video.get(`/${imei}/2/stream.flv`)).status).toBe(404);
    await harness.connectStream(imei, 2, pod.url);
    expect((await video.get(`/${imei}/2/stream.flv?kind=history`)).status).toBe(404);
    const response = await fetch(`${video.base}/${imei}/2/stream.flv?audio=none`);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'video/x-flv']);
    const { value } = (await response.body?.getReader().read()) ?? {};
    expect(Buffer.from(value ?? []).toString()).toBe('FLV of the pod');
    expect(pod.requests[0]?.url).toMatch(new RegExp(`^/live/${imei}_2\\.flv\\?audio=none&`));
    await pod.close();
  });

  it.each(['x/stream.flv', '256/stream.flv', '1/stream.flv?kind=both', '-1/stream.flv'])(
    'is 400 for %s',
    async (rest) => {
      expect((await video.get(`/${randomImei()}/${rest}`)).status).toBe(400);
    },
  );
});

describe('GET /:imei/ping', () => {
  it('returns a connected device, with the number as the caller wrote it', async () => {
    const imei = await device();
    const { status, body } = await video.get(`/00000000${imei}/ping`);
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    expect({ status, body }).toEqual({
      status: 200,
      body: { imei: `00000000${imei}`, connected: true, last_seen: time, connected_since: time, rtt_ms: null },
    });
    expect(harness.findCommands(imei)).toEqual([]);
  });

  it('is 200 for a device that is not connected', async () => {
    const imei = randomImei();
    const absent = { imei, connected: false, last_seen: null, connected_since: null, rtt_ms: null };
    expect((await video.get(`/${imei}/ping`)).body).toEqual(absent);
    expect((await video.get(`/${imei}/ping?deep=true`)).body).toEqual(absent);
  });

  it('returns the last-seen time of a device after a disconnection', async () => {
    const imei = await device();
    const seenMs = Date.now() + 5_000;
    await releaseDevice(harness.redis, imei, imei, { lastSeenMs: seenMs });
    const absent = { imei, connected: false, last_seen: new Date(seenMs).toISOString(), connected_since: null };
    expect((await video.get(`/${imei}/ping`)).body).toMatchObject(absent);
    expect((await video.get(`/${imei}/ping?deep=true`)).body).toMatchObject(absent);
  });

  it('measures the round trip with deep, and is 504 without a response', async () => {
    const imei = await device();
    expect((await video.get(`/${imei}/ping?deep=true`)).body).toMatchObject({
      connected: true,
      rtt_ms: expect.any(Number),
    });
    expect((await video.get(`/${await device({ kind: 'timedOut' })}/ping?deep=true`)).status).toBe(504);
    expect((await video.get(`/${imei}/ping?deep=1`)).status).toBe(400);
  });
});

describe('the documents', () => {
  it('serves its OpenAPI document and its page', async () => {
    expect((await video.get('/openapi.json')).body).toMatchObject({
      openapi: '3.1.0',
      info: { title: 'Video service' },
    });
    expect((await fetch(`${video.base}/docs/`)).status).toBe(200);
    expect((await video.get('/nothing/at/all')).body).toEqual({
      status: 404,
      error: 'There is no GET /nothing/at/all.',
    });
  });
});
