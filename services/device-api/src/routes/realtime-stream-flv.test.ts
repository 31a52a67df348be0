import { randomBytes } from 'node:crypto';
import { type ClientRequest, get, type IncomingMessage } from 'node:http';
import { verifyMediaPath } from '@fleet/service-kit';
import { popTimedOutStreams } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { loadConfig } from '../config.ts';
import { type FakeMediaPod, respondWithStream, startFakeMediaPod } from '../testing/fake-media-pod.ts';
import { type ApiClient, createOutcome, DeviceApiHarness, randomImei } from '../testing/harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let harness: DeviceApiHarness;
let api: Awaited<ReturnType<DeviceApiHarness['startService']>>;
const pods: FakeMediaPod[] = [];
const viewers: ClientRequest[] = [];
beforeAll(async () => {
  harness = await DeviceApiHarness.open();
  api = await harness.startService({ FIRST_PACKET_WAIT_MS: '700' });
});
afterEach(async () => {
  for (const viewer of viewers.splice(0)) viewer.destroy();
  await Promise.all(pods.splice(0).map((pod) => pod.close()));
});
afterAll(() => harness.close());

async function startMediaPod(
  respond: Parameters<typeof startFakeMediaPod>[0] = respondWithStream(),
): Promise<FakeMediaPod> {
  const pod = await startFakeMediaPod(respond);
  pods.push(pod);
  return pod;
}

const flv = (imei: string, more = '') => `/realtime/stream.flv?imei=${imei}&channel=1${more}`;

/** Opens a stream and returns its unread response. */
function watch(imei: string, more = '', client: ApiClient = api): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const request = get(`${client.base}/api/v1${flv(imei, more)}`, { agent: false }, resolve);
    // A test that ends it learns of that from the response.
    request.once('error', reject);
    viewers.push(request);
  });
}

async function firstChunk(response: IncomingMessage): Promise<string> {
  for await (const chunk of response.iterator({ destroyOnReturn: false })) return String(chunk);
  return '';
}

async function readBytes(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

describe('a streaming channel', () => {
  it('is proxied byte by byte from its pod, by a signed URL', async () => {
    const bytes = randomBytes(3_000_000);
    const pod = await startMediaPod((_request, response) => response.writeHead(200).end(bytes));
    const imei = randomImei();
    await harness.connectStream(imei, 1, pod.url);
    const response = await watch(`00000000${imei}`, '&audio=copy&hevc=legacy');
    expect(response.statusCode).toBe(200);
    expect(response.headers).toMatchObject({
      'content-type': 'video/x-flv',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.any(String),
    });
    expect((await readBytes(response)).equals(bytes)).toBe(true);
    const url = new URL(pod.requests[0]?.url ?? '', pod.url);
    expect(url.pathname).toBe(`/live/${imei}_1.flv`);
    const { expires, signature, ...rest } = Object.fromEntries(url.searchParams);
    expect(rest).toEqual({ audio: 'copy', hevc: 'legacy' });
    const secret = loadConfig({}).MEDIA_SIGNING_SECRET;
    expect(verifyMediaPath(secret, { kind: 'live', imei, channel: 1 }, { expires, signature })).toBe('valid');
  });

  it('is read no faster than its viewer reads', async () => {
    let written = 0;
    const chunk = Buffer.alloc(64 * 1024);
    const pod = await startMediaPod((_request, response) => {
      response.writeHead(200);
      const push = (): void => {
        while (response.write(chunk)) written += chunk.length;
        response.once('drain', push);
      };
      push();
    });
    const imei = randomImei();
    await harness.connectStream(imei, 1, pod.url);
    const response = await watch(imei);
    response.pause();
    let before = -1;
    // The buffers on the way are full when two polls return the same.
    await waitFor(async () => {
      const same = before === written;
      before = written;
      if (!same) await new Promise((resolve) => setTimeout(resolve, 150));
      return same;
    });
    expect(written).toBeLessThan(64 * 1024 * 1024);
  });

  it('notifies the pod immediately when the viewer leaves', async () => {
    const pod = await startMediaPod();
    const imei = randomImei();
    await harness.connectStream(imei, 1, pod.url);
    const response = await watch(imei);
    expect(await firstChunk(response)).toBe('FLV');
    expect(pod.openResponses.size).toBe(1);
    response.destroy();
    await waitFor(() => pod.openResponses.size === 0);
    await waitFor(async () => (await harness.redis.zCard(`viewers:live:${imei}:1`)) === 0);
  });

  it('ends for the viewer when it ends at the pod, and is closed when the pod dies', async () => {
    const pod = await startMediaPod();
    const imei = randomImei();
    await harness.connectStream(imei, 1, pod.url);
    const ended = await watch(imei);
    await firstChunk(ended);
    for (const response of pod.openResponses) response.end('!');
    expect((await readBytes(ended)).toString()).toBe('!');
    const cut = await watch(imei);
    await firstChunk(cut);
    for (const response of pod.openResponses) response.destroy();
    await expect(readBytes(cut)).rejects.toThrow(/aborted/);
  });

  it('responds to HEAD without opening it', async () => {
    const pod = await startMediaPod();
    const imei = randomImei();
    expect((await api.get(flv(imei), { method: 'HEAD' })).status).toBe(404);
    await harness.connectStream(imei, 1, pod.url);
    const { status, headers } = await api.get(flv(imei), { method: 'HEAD' });
    expect([status, headers.get('content-type')]).toEqual([200, 'video/x-flv']);
    expect(pod.requests).toEqual([]);
  });
});

describe('a failing media pod', () => {
  it.each([404, 410, 500, 503])('with %i is 502', async (status) => {
    const pod = await startMediaPod((_request, response) => response.writeHead(status).end('no'));
    const imei = randomImei();
    await harness.connectStream(imei, 1, pod.url);
    const reply = await api.get(flv(imei));
    expect(reply).toMatchObject({
      status: 502,
      body: { status: 502, error: 'The media server returned an error.' },
    });
  });

  it('is 502 if it is unreachable, and 404 once its claim has expired', async () => {
    const imei = randomImei();
    const camera = await harness.connectStream(imei, 1, 'http://127.0.0.1:1');
    expect((await api.get(flv(imei))).status).toBe(502);
    await camera.leave();
    expect((await api.get(flv(imei))).status).toBe(404);
  });

  it('is replaced by another pod to which the camera has moved', async () => {
    const next = await startMediaPod(respondWithStream('moved'));
    const imei = randomImei();
    const old = await startMediaPod((_request, response) => {
      harness.connectStream(imei, 1, next.url).then(
        () => response.writeHead(404).end(),
        () => response.destroy(),
      );
    });
    await harness.connectStream(imei, 1, old.url);
    expect(await firstChunk(await watch(imei))).toBe('moved');
  });

  it('is 404 if the stream has just ended', async () => {
    const imei = randomImei();
    let camera: Awaited<ReturnType<DeviceApiHarness['connectStream']>> | undefined;
    const pod = await startMediaPod((_request, response) => {
      void camera?.leave().then(() => response.writeHead(404).end());
    });
    camera = await harness.connectStream(imei, 1, pod.url);
    expect((await api.get(flv(imei))).status).toBe(404);
  });
});

describe('a stream whose pod stops', () => {
  /** A pod that sends some bytes and moves the stream at `position` on request. */
  async function startMovingPod(position: number) {
    let move: () => void = () => undefined;
    const pod = await startMediaPod((_request, response) => {
      response.writeHead(200, { trailer: 'x-stop-reason, x-stream-position' });
      response.write('FLV one ');
      move = () => {
        response.addTrailers({ 'x-stop-reason': 'moved', 'x-stream-position': String(position) });
        response.end();
      };
    });
    return { pod, move: () => move() };
  }

  it('continues on the next pod in the same response, at the position of the first', async () => {
    const imei = randomImei();
    const { pod, move } = await startMovingPod(1_234);
    const next = await startMediaPod((_request, response) => response.writeHead(200).end('two'));
    const claim = await harness.connectStream(imei, 1, pod.url);
    const response = await watch(imei, '&audio=none');
    expect(await firstChunk(response)).toBe('FLV one ');
    await claim.leave();
    await harness.redis.set(`stream-request:live:{${imei}}:1`, JSON.stringify({ status: 'acknowledged' }));
    move();
    await harness.connectStream(imei, 1, next.url, 'next-media');
    expect(String(await readBytes(response))).toBe('two');
    expect(response.complete).toBe(true);
    const query = new URL(next.requests[0]?.url ?? '', next.url).searchParams;
    expect(Object.fromEntries(query)).toMatchObject({ audio: 'none', resume_at: '1234' });
  });

  it('ends if the stream does not continue', async () => {
    const imei = randomImei();
    const { pod, move } = await startMovingPod(1_234);
    const claim = await harness.connectStream(imei, 1, pod.url);
    const response = await watch(imei);
    expect(await firstChunk(response)).toBe('FLV one ');
    await claim.leave();
    move();
    expect(await readBytes(response)).toHaveLength(0);
    expect(response.complete).toBe(true);
  });
});

describe('a requested channel', () => {
  const start = (imei: string, more = '') => api.get(`/realtime/start-stream?imei=${imei}&channel=1${more}`);

  it('can be watched immediately after start-stream: the viewer waits for the first packet', async () => {
    const pod = await startMediaPod();
    const waitingService = await harness.startService();
    const imei = await harness.connectDevice(() => createOutcome(0x9101));
    await start(imei);
    const watching = watch(imei, '', waitingService);
    await waitFor(async () => (await harness.redis.zCard(`viewers:live:${imei}:1`)) === 1);
    await harness.connectStream(imei, 1, pod.url);
    const response = await watching;
    expect(response.statusCode).toBe(200);
    expect(await firstChunk(response)).toBe('FLV');
  });

  it('is 502 if no packet arrives, and 404 when the request has ended', async () => {
    const imei = await harness.connectDevice(() => createOutcome(0x9101));
    await start(imei);
    expect(await api.get(flv(imei))).toMatchObject({
      status: 502,
      body: { error: expect.stringContaining('has not connected') },
    });
    expect(await popTimedOutStreams(harness.redis, Date.now() + 60_000)).toContainEqual({
      kind: 'live',
      imei,
      channel: 1,
    });
    expect((await api.get(flv(imei))).status).toBe(404);
  });

  it('is 502 if the camera was sent to another server', async () => {
    const imei = await harness.connectDevice(() => createOutcome(0x9101));
    await start(imei, '&host=media.partner.example');
    expect(await api.get(flv(imei))).toMatchObject({
      status: 502,
      body: { error: expect.stringContaining('another media server') },
    });
  });

  it('is 404 while the camera has not responded', async () => {
    const imei = await harness.connectDevice(() => new Promise(() => undefined));
    const abortController = new AbortController();
    const starting = api.get(`/realtime/start-stream?imei=${imei}&channel=1`, { signal: abortController.signal });
    await waitFor(() => harness.findCommands(imei).length === 1);
    expect((await api.get(flv(imei))).status).toBe(404);
    abortController.abort();
    await expect(starting).rejects.toThrow(/aborted/);
  });
});

describe('a channel that does not stream', () => {
  it('returns 404 for a channel that does not stream', async () => {
    expect(await api.get(flv(randomImei()))).toMatchObject({
      status: 404,
      body: { status: 404, error: 'The channel is not streaming.' },
    });
  });
});

describe('viewers of one channel', () => {
  it('are limited on all replicas together, and a leaving one makes room', async () => {
    const pod = await startMediaPod();
    const limits = { RATE_LIMIT_VIEWERS_PER_CHANNEL: '3' };
    const replicas = [await harness.startService(limits), await harness.startService(limits)];
    const imei = randomImei();
    await harness.connectStream(imei, 1, pod.url);
    const open = await Promise.all([0, 1, 0].map((replica) => watch(imei, '', replicas[replica])));
    expect(open.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200]);
    const refused = await watch(imei, '', replicas[1]);
    expect(refused.statusCode).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(JSON.parse((await readBytes(refused)).toString())).toEqual({
      status: 429,
      error: expect.stringContaining('3 viewers'),
    });
    open[0]?.destroy();
    await waitFor(async () => (await watch(imei, '', replicas[1])).statusCode === 200);
  });
});
