import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type MediaPod, openMediaPod, streaming } from '../testing/media-pod.ts';
import { answered, randomImei, World } from '../testing/world.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let world: World;
let api: Awaited<ReturnType<World['service']>>;
const pods: MediaPod[] = [];
beforeAll(async () => {
  world = await World.open({ platform: true });
  api = await world.service({ FIRST_PACKET_WAIT_MS: '500' });
});
afterEach(() => Promise.all(pods.splice(0).map((pod) => pod.close())));
afterAll(() => world.close());

const flv = (imei: string) => `/history/stream.flv?imei=${imei}&channel=1`;

async function mediaPod(answer: Parameters<typeof openMediaPod>[0]): Promise<MediaPod> {
  const pod = await openMediaPod(answer);
  pods.push(pod);
  return pod;
}

describe('a recording', () => {
  it('is proxied from its pod, independent of live video, and ends when it ends there', async () => {
    const imei = randomImei();
    const live = await mediaPod(streaming('live'));
    const pod = await mediaPod((_request, response) => {
      response.writeHead(200, { 'content-type': 'video/x-flv' });
      response.end('recorded');
    });
    await world.cameraConnects(imei, 1, live.url);
    await world.cameraConnects(imei, 1, pod.url, 'test-media', 'history');
    const response = await fetch(`${api.base}/api/v1${flv(imei)}&audio=none&hevc=legacy`);
    expect(response.headers.get('content-type')).toBe('video/x-flv');
    expect(await response.text()).toBe('recorded');
    expect(pod.requests[0]?.url).toMatch(new RegExp(`^/history/${imei}_1.flv\\?.*audio=none.*hevc=legacy`));
    expect(live.requests).toEqual([]);
  });

  it('is 404 if it ends during the request, even if its claim is released a moment later', async () => {
    const imei = randomImei();
    let camera: Awaited<ReturnType<World['cameraConnects']>> | undefined;
    const pod = await mediaPod((_request, response) => {
      response.writeHead(404).end();
      setTimeout(() => void camera?.leave(), 50);
    });
    camera = await world.cameraConnects(imei, 1, pod.url, 'test-media', 'history');
    expect(await api.get(flv(imei))).toMatchObject({
      status: 404,
      body: { status: 404, error: 'The channel is not streaming.' },
    });
  });

  it('is 404 while the channel streams only live video', async () => {
    const imei = randomImei();
    await world.cameraConnects(imei, 1, 'http://127.0.0.1:1');
    expect((await api.get(flv(imei))).status).toBe(404);
    expect((await api.get(flv(imei), { method: 'HEAD' })).status).toBe(404);
  });

  it('is 502 if its camera accepted and does not connect', async () => {
    const imei = await world.device(() => answered(0x9201));
    const span = 'start_time=2026-08-01T02:00:00Z&end_time=2026-08-01T03:00:00Z';
    const what = 'resource_type=0&stream_type=1&memory_type=1';
    await api.get(`/history/start-stream?imei=${imei}&channel=1&${what}&${span}`);
    expect((await api.get(flv(imei))).status).toBe(502);
  });
});
