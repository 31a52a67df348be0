import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type FakeMediaPod, respondWithStream, startFakeMediaPod } from '../testing/fake-media-pod.ts';
import { createOutcome, DeviceApiHarness, randomImei } from '../testing/harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let harness: DeviceApiHarness;
let api: Awaited<ReturnType<DeviceApiHarness['startService']>>;
const pods: FakeMediaPod[] = [];
beforeAll(async () => {
  harness = await DeviceApiHarness.open({ platform: true });
  api = await harness.startService({ FIRST_PACKET_WAIT_MS: '500' });
});
afterEach(() => Promise.all(pods.splice(0).map((pod) => pod.close())));
afterAll(() => harness.close());

const flv = (imei: string) => `/history/stream.flv?imei=${imei}&channel=1`;

async function startMediaPod(respond: Parameters<typeof startFakeMediaPod>[0]): Promise<FakeMediaPod> {
  const pod = await startFakeMediaPod(respond);
  pods.push(pod);
  return pod;
}

describe('a recording', () => {
  it('is proxied from its pod, independent of live video, and ends when it ends there', async () => {
    const imei = randomImei();
    const live = await startMediaPod(respondWithStream('live'));
    const pod = await startMediaPod((_request, response) => {
      response.writeHead(200, { 'content-type': 'video/x-flv' });
      response.end('recorded');
    });
    await harness.connectStream(imei, 1, live.url);
    await harness.connectStream(imei, 1, pod.url, 'test-media', 'history');
    const response = await fetch(`${api.base}/api/v1${flv(imei)}&audio=none&hevc=legacy`);
    expect(response.headers.get('content-type')).toBe('video/x-flv');
    expect(await response.text()).toBe('recorded');
    expect(pod.requests[0]?.url).toMatch(new RegExp(`^/history/${imei}_1.flv\\?.*audio=none.*hevc=legacy`));
    expect(live.requests).toEqual([]);
  });

  it('is 404 if it ends during the request, even if its claim is released a moment later', async () => {
    const imei = randomImei();
    let camera: Awaited<ReturnType<DeviceApiHarness['connectStream']>> | undefined;
    const pod = await startMediaPod((_request, response) => {
      response.writeHead(404).end();
      setTimeout(() => void camera?.leave(), 50);
    });
    camera = await harness.connectStream(imei, 1, pod.url, 'test-media', 'history');
    expect(await api.get(flv(imei))).toMatchObject({
      status: 404,
      body: { status: 404, error: 'The channel is not streaming.' },
    });
  });

  it('is 404 while the channel streams only live video', async () => {
    const imei = randomImei();
    await harness.connectStream(imei, 1, 'http://127.0.0.1:1');
    expect((await api.get(flv(imei))).status).toBe(404);
    expect((await api.get(flv(imei), { method: 'HEAD' })).status).toBe(404);
  });

  it('is 502 if its camera accepted and does not connect', async () => {
    const imei = await harness.connectDevice(() => createOutcome(0x9201));
    const span = 'start_time=2026-08-01T02:00:00Z&end_time=2026-08-01T03:00:00Z';
    const what = 'resource_type=0&stream_type=1&memory_type=1';
    await api.get(`/history/start-stream?imei=${imei}&channel=1&${what}&${span}`);
    expect((await api.get(flv(imei))).status).toBe(502);
  });
});
