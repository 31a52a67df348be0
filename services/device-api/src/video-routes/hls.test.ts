import type { IncomingMessage, ServerResponse } from 'node:http';
import { accessChanged, publish } from '@fleet/bus';
import { StreamTokens } from '@fleet/service-kit/stream-tokens';
import { countViewersBySubject } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { anyAuditEvent, captureAuditEvents } from '../testing/capture-audit-events.ts';
import { type FakeMediaPod, startFakeMediaPod } from '../testing/fake-media-pod.ts';
import { allRights, FakePlatform, type FakeUser, noRights } from '../testing/fake-platform.ts';
import { createOutcome, DeviceApiHarness } from '../testing/harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

const secret = 'a-secret-for-tests-only';
const tokens = new StreamTokens({ secrets: secret, lifetimeSeconds: 600 });

let harness: DeviceApiHarness;
let platform: FakePlatform;
let pod: FakeMediaPod;
let service: Awaited<ReturnType<DeviceApiHarness['startService']>>;
beforeAll(async () => {
  harness = await DeviceApiHarness.open();
  platform = await FakePlatform.start(harness.bus);
  pod = await startFakeMediaPod(serveHls);
  service = await harness.startService({
    DEVICE_API_AUTH: 'key',
    STREAM_TOKEN_SECRET: secret,
    RATE_LIMIT_VIEWERS_PER_CHANNEL: '2',
  });
});
afterAll(async () => {
  await platform.stop();
  await pod.close();
  await harness.close();
});

const playlist = [
  '#EXTM3U',
  '#EXT-X-MAP:URI="init-0.mp4"',
  '#EXT-X-PART:DURATION=0.5,URI="part-1.0.m4s",INDEPENDENT=YES',
  '#EXTINF:1.0,',
  'segment-1.m4s',
  '#EXT-X-PRELOAD-HINT:TYPE=PART,URI="part-2.0.m4s"',
  '',
].join('\n');

function serveHls({ url = '' }: IncomingMessage, response: ServerResponse): void {
  const { pathname, searchParams } = new URL(url, 'http://pod');
  if (searchParams.get('_HLS_msn') === '999') response.writeHead(400).end();
  else if (pathname.endsWith('/index.m3u8')) response.end(playlist);
  else if (pathname.endsWith('/segment-1.m4s')) response.end('media');
  else response.writeHead(404).end();
}

async function camera(): Promise<string> {
  return (await streamingCamera()).imei;
}

async function streamingCamera() {
  const imei = await harness.connectDevice(() => createOutcome(0x9101));
  return { imei, stream: await harness.connectStream(imei, 1, pod.url) };
}

function newUser(imei: string, rights = allRights): FakeUser {
  const user = platform.newUser();
  user.rights.set(imei, rights);
  return user;
}

/** Starts a stream as a user; returns the URL of its playlist. */
async function start(imei: string, { headers }: FakeUser): Promise<string> {
  const { body } = await service.video.get(`/${imei}/start`, { method: 'POST', headers });
  return (body as { hls_url: string }).hls_url;
}
const statusOf = async (url: string, headers: Record<string, string> = {}): Promise<number> => {
  const response = await fetch(url, { headers });
  await response.arrayBuffer();
  return response.status;
};
const urlOfAge = (imei: string, { caller }: FakeUser, ageMs: number): string => {
  const stream = { imei, channel: 1, kind: 'live', caller } as const;
  const { token } = tokens.issue(stream, new Date(Date.now() - ageMs));
  return `${service.video.base}/${imei}/1/index.m3u8?token=${token}`;
};

describe('the playlist of a stream', () => {
  it('opens with the URL of start, and lists files with the same token', async () => {
    const imei = await camera();
    const url = await start(imei, newUser(imei));
    const response = await fetch(url);
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/vnd.apple.mpegurl']);
    const text = await response.text();
    const { search } = new URL(url);
    expect(text).toBe(playlist.replaceAll(/((?:init|part|segment)-[\d.]+\.(?:mp4|m4s))/g, `hls/$1${search}`));
    const file = await fetch(new URL(`hls/segment-1.m4s${search}`, url));
    expect([file.status, file.headers.get('content-type'), await file.text()]).toEqual([200, 'video/mp4', 'media']);
  });

  it('keeps the kind of recorded video in the addresses of its files', async () => {
    const imei = await camera();
    await harness.connectStream(imei, 1, pod.url, 'test-media', 'history');
    const { headers } = newUser(imei);
    const response = await fetch(`${service.video.base}/${imei}/1/index.m3u8?kind=history`, { headers });
    expect(await response.text()).toContain('hls/segment-1.m4s?kind=history\n');
  });

  it('passes the position of a low-latency player on, and its refusal', async () => {
    const imei = await camera();
    const url = await start(imei, newUser(imei));
    expect(await statusOf(`${url}&_HLS_msn=2&_HLS_part=0`)).toBe(200);
    expect(pod.requests.at(-1)?.url).toMatch(new RegExp(`^/live/${imei}_1/index\\.m3u8\\?_HLS_msn=2&_HLS_part=0&`));
    expect(await statusOf(`${url}&_HLS_msn=999`)).toBe(400);
  });

  it('is 404 without a stream, and so is a file that the playlist does not list', async () => {
    const imei = await camera();
    const url = await start(imei, newUser(imei));
    expect(await statusOf(url.replace('index.m3u8', 'hls/segment-9.m4s'))).toBe(404);
    const { headers } = newUser(imei);
    expect(await statusOf(`${service.video.base}/${imei}/2/index.m3u8`, headers)).toBe(404);
  });

  it('has an end for a reader that was reading when the stream ended, and is 404 for every other', async () => {
    const { imei, stream } = await streamingCamera();
    const url = await start(imei, newUser(imei));
    const other = await start(imei, newUser(imei));
    expect(await statusOf(url)).toBe(200);
    await stream.leave();
    for (const file of ['index.m3u8', 'hls/segment-1.m4s']) {
      expect(await statusOf(url.replace('index.m3u8', file))).toBe(200);
      expect(await statusOf(other.replace('index.m3u8', file))).toBe(404);
    }
    expect(await statusOf(url.replace('index.m3u8', 'hls/segment-9.m4s'))).toBe(404);
  });

  it('is 404 after the end of a stream whose media server has stopped', async () => {
    const stopped = await startFakeMediaPod(serveHls);
    const imei = await harness.connectDevice(() => createOutcome(0x9101));
    const stream = await harness.connectStream(imei, 1, stopped.url);
    const url = await start(imei, newUser(imei));
    expect(await statusOf(url)).toBe(200);
    await stream.leave();
    await stopped.close();
    expect(await statusOf(url)).toBe(404);
  });

  it('is readable by pages of the platform', async () => {
    const imei = await camera();
    const url = await start(imei, newUser(imei));
    for (const address of [url, url.replace('index.m3u8', 'hls/segment-9.m4s'), `${url}x`]) {
      const response = await fetch(address, { headers: { origin: 'http://127.0.0.1:8080' } });
      expect(response.headers.get('access-control-allow-origin')).toBe('http://127.0.0.1:8080');
    }
  });
});

describe('access to the playlist', () => {
  it('requires a token or credentials of the stream', async () => {
    const imei = await camera();
    const user = newUser(imei);
    const url = await start(imei, user);
    const { base } = service.video;
    const { search } = new URL(url);
    expect(await statusOf(`${base}/${imei}/1/index.m3u8`)).toBe(401);
    expect(await statusOf(`${url}x`)).toBe(401);
    expect(await statusOf(`${base}/${imei}/2/index.m3u8${search}`)).toBe(403);
    expect(await statusOf(`${url}&kind=history`)).toBe(403);
    expect(await statusOf(`${base}/${imei}/1/index.m3u8`, platform.newUser().headers)).toBe(404);
    expect(await statusOf(`${base}/${imei}/1/index.m3u8`, newUser(imei, noRights).headers)).toBe(403);
    expect(await statusOf(`${base}/${imei}/1/hls/segment-1.m4s`)).toBe(401);
  });

  it('ends within seconds when the right is lost', async () => {
    const imei = await camera();
    const user = newUser(imei);
    const url = await start(imei, user);
    expect(await statusOf(url)).toBe(200);
    user.rights.set(imei, noRights);
    publish(harness.bus, accessChanged, { userId: user.caller.userId });
    await waitFor(async () => (await statusOf(url)) === 403);
    user.isValid = false;
    await waitFor(async () => (await statusOf(url.replace('index.m3u8', 'hls/segment-1.m4s'))) === 401);
    expect(await statusOf(url)).toBe(401);
  });

  it('outlives the token for a reader that has begun, and for no other', async () => {
    const imei = await camera();
    const user = newUser(imei);
    const url = urlOfAge(imei, user, 700_000);
    expect(await statusOf(url)).toBe(401);
    expect(await statusOf(url.replace('index.m3u8', 'hls/segment-1.m4s'))).toBe(401);
    // Tokens are accepted for five more seconds, because clocks differ.
    const continued = urlOfAge(imei, user, 603_000);
    expect(await statusOf(continued)).toBe(200);
    await waitFor(async () => (await statusOf(continued.replace('index.m3u8', 'stream.flv'))) === 401);
    expect(await statusOf(continued)).toBe(200);
    expect(await statusOf(continued.replace('index.m3u8', 'hls/segment-1.m4s'))).toBe(200);
  });
});

describe('a reader of the playlist', () => {
  it('is one viewer from its first to its last request', async () => {
    const imei = await camera();
    const [first, second] = [newUser(imei), newUser(imei)];
    const url = await start(imei, first);
    for (let count = 0; count < 5; count += 1) expect(await statusOf(url)).toBe(200);
    expect(await statusOf(await start(imei, second))).toBe(200);
    expect(await countViewersBySubject(harness.redis, { kind: 'live', imei, channel: 1 })).toEqual(
      new Map([first, second].map(({ caller }) => [String(caller.userId), 1])),
    );
    const refused = await fetch(await start(imei, newUser(imei)));
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '10']);
    expect(await statusOf(url)).toBe(200);
  });

  it('is not counted if nothing streams', async () => {
    const imei = await camera();
    const { headers } = newUser(imei);
    expect(await statusOf(`${service.video.base}/${imei}/2/index.m3u8`, headers)).toBe(404);
    const count = () => countViewersBySubject(harness.redis, { kind: 'live', imei, channel: 2 });
    await waitFor(async () => (await count()).size === 0);
    expect(await count()).toEqual(new Map());
  });

  it('is recorded in the audit log once', async () => {
    const { events, ...capture } = captureAuditEvents(harness.bus);
    const imei = await camera();
    const user = newUser(imei);
    try {
      const url = await start(imei, user);
      for (let count = 0; count < 3; count += 1) await statusOf(url);
      await start(imei, user);
      await waitFor(() => events.length >= 3);
      expect(events.filter(({ kind }) => kind === 'view')).toEqual([
        expect.objectContaining({
          ...anyAuditEvent,
          kind: 'view',
          operation: 'readPlaylist',
          imei,
          channel: 1,
          userId: user.caller.userId,
        }),
      ]);
    } finally {
      capture.stop();
    }
  });
});
