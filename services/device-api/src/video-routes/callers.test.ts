import { accessChanged, publish } from '@fleet/bus';
import { StreamTokens } from '@fleet/service-kit/stream-tokens';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { anyAuditEvent, captureAuditEvents } from '../testing/capture-audit-events.ts';
import { type FakeMediaPod, respondWithStream, startFakeMediaPod } from '../testing/fake-media-pod.ts';
import { allRights, FakePlatform, type FakeUser, noRights } from '../testing/fake-platform.ts';
import { createOutcome, DeviceApiHarness } from '../testing/harness.ts';
import { readUntilClosed } from '../testing/read-until-closed.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

const secret = 'a-secret-for-tests-only';

let harness: DeviceApiHarness;
let platform: FakePlatform;
let pod: FakeMediaPod;
let service: Awaited<ReturnType<DeviceApiHarness['startService']>>;
beforeAll(async () => {
  harness = await DeviceApiHarness.open();
  platform = await FakePlatform.start(harness.bus);
  pod = await startFakeMediaPod(respondWithStream());
  service = await harness.startService({ DEVICE_API_AUTH: 'key', STREAM_TOKEN_SECRET: secret });
});
afterAll(async () => {
  await platform.stop();
  await pod.close();
  await harness.close();
});

const responseIds: Readonly<Record<string, number>> = { startLive: 0x9101, startPlayback: 0x9201 };
const device = () => harness.connectDevice(({ command }) => createOutcome(responseIds[command.kind] ?? 0x8204));

/** Connects a device that streams live video on channel 1. */
async function camera(): Promise<string> {
  const imei = await device();
  await harness.connectStream(imei, 1, pod.url);
  return imei;
}

function newUser(imei: string, rights = allRights): FakeUser {
  const user = platform.newUser();
  user.rights.set(imei, rights);
  return user;
}

/** Returns the status of a request; the body of a stream is not read. */
async function statusOf(path: string, headers: Record<string, string> = {}, init: RequestInit = {}): Promise<number> {
  const response = await fetch(service.video.base + path, { headers, ...init });
  await response.body?.cancel();
  return response.status;
}
const post = (path: string, headers: Record<string, string>, body: object = {}) =>
  service.video.get(path, { method: 'POST', headers, body: JSON.stringify(body) });
const streamPath = (imei: string, more = ''): string => `/${imei}/1/stream.flv${more}`;

describe('an API key alone', () => {
  it('needs the scope video', async () => {
    const imei = await camera();
    const key = (...scopes: string[]) => ({ 'x-api-key': platform.newKey({ scopes }) });
    expect(await statusOf(streamPath(imei))).toBe(401);
    expect(await statusOf(streamPath(imei), { 'x-api-key': 'unknown' })).toBe(401);
    expect(await statusOf(streamPath(imei), key('command'))).toBe(403);
    expect(await statusOf(streamPath(imei), key('video'))).toBe(200);
  });

  it('has no access to a device of another account, which responds like a missing one', async () => {
    const [foreign, key] = [await camera(), platform.newKey()];
    platform.moveDevice(foreign, 8);
    expect(await service.video.get(streamPath(foreign), { headers: { 'x-api-key': key } })).toMatchObject({
      status: 404,
      body: { error: 'The channel is not streaming.' },
    });
    expect(await post(`/${foreign}/start`, { 'x-api-key': key })).toMatchObject({
      status: 404,
      body: { error: 'The device is not connected.' },
    });
  });
});

describe('the two headers of the Platform API', () => {
  it('open the video service to a person with the right', async () => {
    const imei = await camera();
    const { headers } = newUser(imei);
    expect(await statusOf(streamPath(imei), headers)).toBe(200);
    expect(await post(`/${imei}/start`, headers)).toMatchObject({ status: 200, body: { result: 'success' } });
    expect(await statusOf(`/${imei}/ping`, headers)).toBe(200);
    expect(await statusOf(`/${imei}/wakeup`, headers)).toBe(200);
  });

  it('are 401 with a bad token beside a good key, and with a token alone', async () => {
    const imei = await camera();
    const { headers } = newUser(imei);
    expect(await statusOf(streamPath(imei), { ...headers, authorization: 'Bearer bad' })).toBe(401);
    expect(await statusOf(streamPath(imei), { authorization: headers['authorization'] ?? '' })).toBe(401);
    expect(await statusOf(streamPath(imei), { ...headers, 'x-api-key': 'bad' })).toBe(401);
  });

  it('are 403 with a key of another account, or without the scope', async () => {
    const imei = await camera();
    const { headers } = newUser(imei);
    const foreign = platform.newKey({ accountId: 8 });
    expect(await statusOf(streamPath(imei), { ...headers, 'x-api-key': foreign })).toBe(403);
    const unscoped = platform.newKey({ scopes: ['read'] });
    expect(await statusOf(streamPath(imei), { ...headers, 'x-api-key': unscoped })).toBe(403);
  });

  it('hide a device that the person may not see on every route', async () => {
    const imei = await camera();
    const { headers } = platform.newUser();
    for (const path of [streamPath(imei), streamPath(imei, '?kind=history'), `/${imei}/ping`, `/${imei}/wakeup`])
      expect([path, await statusOf(path, headers)]).toEqual([path, 404]);
    expect(await post(`/${imei}/start`, headers)).toMatchObject({ status: 404 });
    expect(harness.findCommands(imei)).toEqual([]);
  });

  it('are checked although no credential is required', async () => {
    const open = await harness.startService({ DEVICE_API_AUTH: 'off', STREAM_TOKEN_SECRET: secret });
    const imei = await camera();
    const get = async (headers: Record<string, string> = {}) =>
      (await open.video.get(`/${imei}/ping`, { headers })).status;
    expect([await get(), await get(newUser(imei).headers), await get(platform.newUser().headers)]).toEqual([
      200, 200, 404,
    ]);
    expect(await get({ ...newUser(imei).headers, authorization: 'Bearer bad' })).toBe(401);
  });

  it.each([
    ['live', { ...noRights, live: true }, [200, 403, 200, 403, 200, 200]],
    ['history', { ...noRights, history: true }, [403, 404, 403, 403, 200, 200]],
    ['command', { ...noRights, command: true }, [403, 403, 403, 200, 200, 200]],
    ['no', noRights, [403, 403, 403, 403, 403, 200]],
  ])('permit only what the right %s includes', async (_name, rights, expected) => {
    const imei = await camera();
    const { headers } = newUser(imei, rights);
    expect([
      await statusOf(streamPath(imei), headers),
      await statusOf(streamPath(imei, '?kind=history'), headers),
      (await post(`/${imei}/start`, headers)).status,
      (await post(`/${imei}/start`, headers, { data_type: 2 })).status,
      await statusOf(`/${imei}/wakeup`, headers),
      await statusOf(`/${imei}/ping`, headers),
    ]).toEqual(expected);
  });

  it('do not let a viewer send the camera to another media server', async () => {
    const imei = await device();
    const { headers } = newUser(imei, { ...noRights, live: true });
    for (const body of [{ host: '10.0.0.1' }, { tcp_port: 1 }, { udp_port: 1 }])
      expect((await post(`/${imei}/start`, headers, body)).status).toBe(403);
    expect(harness.findCommands(imei)).toEqual([]);
  });

  it('are recorded in the audit log with user, key and the account of the vehicle', async () => {
    const { events, ...capture } = captureAuditEvents(harness.bus);
    const imei = await camera();
    const user = newUser(imei);
    platform.moveDevice(imei, 9);
    try {
      await post(`/${imei}/start`, user.headers);
      await statusOf(streamPath(imei), user.headers);
      await waitFor(() => events.length >= 2);
      const { userId, keyId } = user.caller;
      const use = { ...anyAuditEvent, userId, keyId, accountId: 9, imei };
      expect(events).toEqual([
        { ...use, kind: 'command', operation: 'startStream', channel: 1 },
        { ...use, kind: 'view', operation: 'watchStream', channel: 1, seconds: expect.any(Number) },
      ]);
    } finally {
      capture.stop();
    }
  });
});

describe('a stream token', () => {
  const tokens = new StreamTokens({ secrets: secret, lifetimeSeconds: 600 });
  const tokenUrl = async (imei: string, headers: Record<string, string>): Promise<URL> => {
    const { status, body } = await post(`/${imei}/start`, headers);
    expect(status).toBe(200);
    return new URL((body as { stream_url: string }).stream_url);
  };
  const open = async (url: URL): Promise<number> => {
    const response = await fetch(url);
    await response.body?.cancel();
    return response.status;
  };

  it.each([
    ['a person', (imei: string) => newUser(imei).headers],
    ['an API key', () => ({ 'x-api-key': platform.newKey() })],
  ])('of %s opens the stream without headers, also on the Device API', async (_name, headersFor) => {
    const imei = await camera();
    const url = await tokenUrl(imei, headersFor(imei));
    expect(await open(url)).toBe(200);
    const path = `/api/v1/realtime/stream.flv?imei=${imei}&channel=1`;
    expect(await open(new URL(`${service.base}${path}&token=${url.searchParams.get('token')}`))).toBe(200);
    expect(await open(new URL(`${service.base}${path}`))).toBe(401);
  });

  it('is 403 for another device, channel or kind', async () => {
    const [imei, other] = [await camera(), await camera()];
    const { headers, rights } = newUser(imei);
    rights.set(other, allRights);
    const { search } = await tokenUrl(imei, headers);
    const { base } = service.video;
    for (const path of [`/${other}/1/stream.flv${search}`, `/${imei}/2/stream.flv${search}`])
      expect([path, await open(new URL(base + path))]).toEqual([path, 403]);
    expect(await open(new URL(`${base}${streamPath(imei)}${search}&kind=history`))).toBe(403);
    const history = `${service.base}/api/v1/history/stream.flv${search}&imei=${imei}&channel=1`;
    expect(await open(new URL(history))).toBe(403);
  });

  it('is 401 if it is forged, expired or malformed, whatever the API key', async () => {
    const imei = await camera();
    const { caller } = newUser(imei);
    const grant = { imei, channel: 1, kind: 'live', caller } as const;
    const forger = new StreamTokens({ secrets: 'another-secret-of-tests', lifetimeSeconds: 600 });
    const { token: forged } = forger.issue(grant);
    const { token: expired } = tokens.issue(grant, new Date(Date.now() - 700_000));
    const { token: anonymous } = tokens.issue({ ...grant, caller: { kind: 'anonymous' } });
    for (const token of [forged, expired, anonymous, 'x', '', 'a.b.c']) {
      expect(await statusOf(streamPath(imei, `?token=${token}`))).toBe(401);
      const headers = { 'x-api-key': platform.newKey() };
      expect(await statusOf(streamPath(imei, `?token=${token}`), headers)).toBe(401);
    }
    expect(await statusOf(streamPath(imei, '?token=a&token=b'))).toBe(401);
  });

  it('does not open what its holder may not see any more', async () => {
    const imei = await camera();
    const user = newUser(imei);
    const url = await tokenUrl(imei, user.headers);
    user.rights.set(imei, noRights);
    publish(harness.bus, accessChanged, { userId: user.caller.userId });
    await waitFor(async () => (await open(url)) === 403);
    user.rights.delete(imei);
    publish(harness.bus, accessChanged, { userId: user.caller.userId });
    await waitFor(async () => (await open(url)) === 404);
    user.isValid = false;
    publish(harness.bus, accessChanged, { userId: user.caller.userId });
    await waitFor(async () => (await open(url)) === 401);
    expect(await open(url)).toBe(401);
  });

  it('is issued and checked without keys, too', async () => {
    const openService = await harness.startService({ DEVICE_API_AUTH: 'off', STREAM_TOKEN_SECRET: secret });
    const imei = await camera();
    const { body } = await openService.video.get(`/${imei}/start`, { method: 'POST' });
    const url = (body as { stream_url: string }).stream_url;
    expect(await open(new URL(url))).toBe(200);
    expect(await open(new URL(url.replace('/1/', '/2/')))).toBe(403);
    expect(await open(new URL(`${url}x`))).toBe(401);
    expect(await open(new URL(`${openService.video.base}${streamPath(imei)}`))).toBe(200);
    expect(await open(new URL(`${openService.video.base}${streamPath(imei, '?token=a&token=b')}`))).toBe(400);
  });
});

describe('a stream that is being watched', () => {
  const watch = async (imei: string, headers: Record<string, string>) => {
    const { body } = await post(`/${imei}/start`, headers);
    const responses = await Promise.all([
      fetch(service.video.base + streamPath(imei), { headers }),
      fetch((body as { stream_url: string }).stream_url),
    ]);
    expect(responses.map(({ status }) => status)).toEqual([200, 200]);
    return Promise.all(responses.map((response) => readUntilClosed(response)));
  };
  const losses: [string, (user: FakeUser, imei: string) => void][] = [
    ['session', (user) => void (user.isValid = false)],
    ['right', (user, imei) => void user.rights.set(imei, { ...allRights, live: false })],
    ['vehicle', (user, imei) => void user.rights.delete(imei)],
    ['key', (user) => platform.removeKey(user.headers['x-api-key'] ?? '')],
  ];
  const cases = losses.flatMap(([name, lose]) =>
    [true, false].map((isPublished) => [name, isPublished ? 'published' : 'missed', lose, isPublished] as const),
  );

  it.each(cases)(
    'ends when its caller loses the %s by a %s event, and no other',
    async (_name, _how, lose, isPublished) => {
      const imei = await camera();
      const [user, other] = [newUser(imei), newUser(imei)];
      const closing = await watch(imei, user.headers);
      const staying = await watch(imei, other.headers);
      try {
        lose(user, imei);
        if (isPublished) publish(harness.bus, accessChanged, { userId: user.caller.userId });
        await waitFor(() => closing.every(({ isClosed }) => isClosed()));
        expect(staying.map(({ isClosed }) => isClosed())).toEqual([false, false]);
      } finally {
        await Promise.all([...closing, ...staying].map(({ end }) => end()));
      }
    },
  );

  it('ends when the device moves to another account', async () => {
    const imei = await camera();
    platform.moveDevice(imei, 7);
    const readers = await watch(imei, { 'x-api-key': platform.newKey() });
    platform.moveDevice(imei, 8);
    await waitFor(() => readers.every(({ isClosed }) => isClosed()));
    expect(readers).toHaveLength(2);
  });

  it('continues while platform-api is unreachable', async () => {
    const imei = await camera();
    const [user, other] = [newUser(imei), newUser(imei)];
    const [reader] = await watch(imei, user.headers);
    await platform.stop();
    publish(harness.bus, accessChanged, {});
    const refused = await post(`/${imei}/start`, other.headers);
    expect(refused).toMatchObject({ status: 503 });
    expect(reader?.isClosed()).toBe(false);
    user.isValid = false;
    await platform.serve();
    await waitFor(() => reader?.isClosed() === true);
  });
});
