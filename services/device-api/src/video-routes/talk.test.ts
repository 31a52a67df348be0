import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import type { Outcome, VideoAccess } from '@fleet/bus';
import { StreamTokens } from '@fleet/service-kit/stream-tokens';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { WebSocket } from 'ws';
import { anyAuditEvent, captureAuditEvents } from '../testing/capture-audit-events.ts';
import { allRights, FakePlatform, type FakeUser, noRights } from '../testing/fake-platform.ts';
import { type FakeTalkPod, startFakeTalkPod } from '../testing/fake-talk-pod.ts';
import { createOutcome, DeviceApiHarness, randomImei } from '../testing/harness.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

const secret = 'a-secret-for-tests-only';
const settings = { DEVICE_API_AUTH: 'key', STREAM_TOKEN_SECRET: secret, FIRST_PACKET_WAIT_MS: '500' };

let harness: DeviceApiHarness;
let platform: FakePlatform;
let pod: FakeTalkPod;
let service: Awaited<ReturnType<DeviceApiHarness['startService']>>;
beforeAll(async () => {
  harness = await DeviceApiHarness.open();
  platform = await FakePlatform.start(harness.bus);
  pod = await startFakeTalkPod();
  service = await harness.startService(settings);
});
afterAll(async () => {
  await platform.stop();
  await pod.close();
  await harness.close();
});

type Headers = Record<string, string>;

/** Connects a device whose camera connects for talk, unless the device does not accept. */
async function camera(outcome?: Outcome): Promise<string> {
  const imei = randomImei();
  await harness.connectDevice(async ({ command }) => {
    if (outcome === undefined && command.kind === 'startLive' && command.dataType === 2)
      await pod.connectCamera(harness, imei);
    return outcome ?? createOutcome(0x9101);
  }, imei);
  platform.moveDevice(imei, 7);
  return imei;
}

function newUser(
  imei: string,
  more: { role?: string; accountId?: number; rights?: VideoAccess['rights'] } = {},
): FakeUser {
  const { role = 'manager', accountId = 7, rights = allRights } = more;
  const user = platform.newUser(accountId, { role });
  user.rights.set(imei, rights);
  return user;
}

const open = (path: string, headers: Headers, at = service): WebSocket =>
  new WebSocket(at.video.base.replace(/^http/, 'ws') + path, { headers });

/** Returns the talker's websocket; throws the status of a refused handshake. */
async function talk(path: string, headers: Headers, at = service): Promise<WebSocket> {
  const websocket = open(path, headers, at);
  const refused = once(websocket, 'unexpected-response').then(([, response]) => {
    (response as IncomingMessage).resume();
    throw new Error(String((response as IncomingMessage).statusCode));
  });
  await Promise.race([once(websocket, 'open'), refused]);
  return websocket;
}
const statusOf = (path: string, headers: Headers = {}): Promise<number> =>
  talk(path, headers).then(
    (websocket) => {
      websocket.close();
      return 101;
    },
    (error: Error) => Number(error.message),
  );
const closeCodeOf = async (websocket: WebSocket): Promise<number> => ((await once(websocket, 'close')) as [number])[0];
const talkPath = (imei: string, more = ''): string => `/${imei}/1/talk${more}`;

async function echo(websocket: WebSocket): Promise<Buffer> {
  const received = once(websocket, 'message') as Promise<[Buffer]>;
  websocket.send(Buffer.from([1, 2, 3, 4]));
  return (await received)[0];
}

describe('a talk', () => {
  it('requests data type 2 on the port of talk, and forwards voice both ways', async () => {
    const imei = await camera();
    const websocket = await talk(talkPath(imei), newUser(imei).headers);
    expect(harness.findCommands(imei)[0]?.command).toMatchObject({
      kind: 'startLive',
      channel: 1,
      dataType: 2,
      tcpPort: 7090,
      udpPort: 0,
      server: 'media.fleet.example',
    });
    expect(await echo(websocket)).toEqual(Buffer.from([1, 2, 3, 4]));
    websocket.close();
    await waitFor(() => pod.talks.size === 0);
  });

  it('opens with the talk_url of a start, which is null for a caller who may not talk', async () => {
    const imei = await camera();
    const start = async (user: FakeUser) => {
      const init = { method: 'POST', headers: user.headers };
      return (await service.video.get(`/${imei}/start`, init)).body as { talk_url: string | null };
    };
    const { talk_url: url } = await start(newUser(imei));
    expect(url).toContain(`${imei}/1/talk?token=`);
    expect(await statusOf(String(url).slice(service.video.base.length - 2))).toBe(101);
    const viewer = newUser(imei, { rights: { live: true, history: true, command: false } });
    expect((await start(viewer)).talk_url).toBeNull();
    await waitFor(() => pod.talks.size === 0);
  });

  it('is 400 for a request that is no websocket, and does not contact the device', async () => {
    const imei = await camera();
    expect((await service.video.get(talkPath(imei), { headers: newUser(imei).headers })).status).toBe(400);
    expect(harness.findCommands(imei)).toEqual([]);
  });

  it('is 401 without credentials and for a forged token, 403 without the right, 404 for a hidden device', async () => {
    const imei = await camera();
    expect(await statusOf(talkPath(imei))).toBe(401);
    expect(await statusOf(talkPath(imei, '?token=forged'))).toBe(401);
    expect(await statusOf(talkPath(imei), newUser(imei, { rights: noRights }).headers)).toBe(403);
    const watcher = newUser(imei, { rights: { live: true, history: true, command: false } });
    expect(await statusOf(talkPath(imei), watcher.headers)).toBe(403);
    expect(await statusOf(talkPath(imei), platform.newUser().headers)).toBe(404);
    expect(harness.findCommands(imei)).toEqual([]);
  });

  it('is 403 with a token of another kind, channel or device', async () => {
    const [imei, other] = [await camera(), await camera()];
    const tokens = new StreamTokens({ secrets: secret, lifetimeSeconds: 60 });
    const { caller } = newUser(imei);
    const issue = (more: object): string => {
      const { token } = tokens.issue({ imei, channel: 1, kind: 'talk', caller, ...more });
      return `?token=${token}`;
    };
    for (const more of [{ kind: 'live' }, { kind: 'history' }, { channel: 2 }, { imei: other }])
      expect(await statusOf(talkPath(imei, issue(more)))).toBe(403);
    expect(await statusOf(talkPath(imei, issue({})))).toBe(101);
    await waitFor(() => pod.talks.size === 0);
  });

  it.each<[string, Outcome, number]>([
    ['is not connected', { kind: 'notConnected' }, 404],
    ['does not respond', { kind: 'timedOut' }, 504],
    ['refuses', createOutcome(0x9101, 1), 502],
    ['does not support it', createOutcome(0x9101, 3), 502],
  ])('has a status when the device %s', async (_name, outcome, status) => {
    const imei = await camera(outcome);
    expect(await statusOf(talkPath(imei), newUser(imei).headers)).toBe(status);
  });

  it('is 502 when the camera accepts and does not connect, which is then commanded to end the talk', async () => {
    const imei = await camera(createOutcome(0x9101));
    const { headers } = newUser(imei);
    expect(await statusOf(talkPath(imei), headers)).toBe(502);
    await waitFor(() => harness.findCommands(imei).length === 2);
    expect(harness.findCommands(imei)[1]?.command).toMatchObject({ kind: 'controlLive', channel: 1, control: 4 });
    // The next one does not wait for the abandoned request.
    expect(await statusOf(talkPath(imei), headers)).toBe(502);
  });
});

describe('the turn to talk', () => {
  it('belongs to one talker of all replicas, and is free afterwards', async () => {
    const imei = await camera();
    const { headers } = newUser(imei);
    const other = await harness.startService(settings);
    const first = await talk(talkPath(imei), headers);
    await expect(talk(talkPath(imei), headers, other)).rejects.toThrow('409');
    await expect(talk(talkPath(imei).replace('/1/', '/2/'), headers)).rejects.toThrow('409');
    // A page reads the reason with a plain request.
    const readStatus = async () => (await fetch(`${other.video.base}${talkPath(imei)}`, { headers })).status;
    expect(await readStatus()).toBe(409);
    first.close();
    await waitFor(async () => (await statusOf(talkPath(imei), headers)) === 101);
    await waitFor(async () => (await readStatus()) === 400);
    await waitFor(() => pod.talks.size === 0);
  });

  it('is taken by force by a manager on any replica, which closes the former talk', async () => {
    const imei = await camera();
    const other = await harness.startService(settings);
    const first = await talk(talkPath(imei), newUser(imei).headers);
    const closed = closeCodeOf(first);
    const second = await talk(talkPath(imei, '?force=true'), newUser(imei).headers, other);
    expect(await closed).toBe(4409);
    expect(await echo(second)).toHaveLength(4);
    second.close();
    await waitFor(() => pod.talks.size === 0);
  });

  it('cannot be taken by force with a share', async () => {
    const imei = await camera();
    const guest = newUser(imei, { accountId: 8 });
    expect(await statusOf(talkPath(imei, '?force=true'), guest.headers)).toBe(403);
    expect(await statusOf(talkPath(imei), guest.headers)).toBe(101);
    await waitFor(() => pod.talks.size === 0);
  });
});

describe('an open talk', () => {
  it('is closed at the time limit', async () => {
    const imei = await camera();
    const limited = await harness.startService({ ...settings, TALK_MAX_SECONDS: '1' });
    const websocket = await talk(talkPath(imei), newUser(imei).headers, limited);
    expect(await closeCodeOf(websocket)).toBe(4408);
    await waitFor(() => pod.talks.size === 0);
  });

  it('is closed when its caller loses access', async () => {
    const imei = await camera();
    const user = newUser(imei);
    const websocket = await talk(talkPath(imei), user.headers);
    user.rights.set(imei, { live: true, history: true, command: false });
    expect(await closeCodeOf(websocket)).toBe(4403);
    await waitFor(() => pod.talks.size === 0);
  });

  it('is closed with the code of the media pod, or as lost', async () => {
    const imei = await camera();
    const { headers } = newUser(imei);
    const websocket = await talk(talkPath(imei), headers);
    const closed = closeCodeOf(websocket);
    for (const each of pod.talks) each.close(4404, 'the camera has ended the talk');
    expect(await closed).toBe(4404);
    await waitFor(() => pod.talks.size === 0);
    const again = await waitFor(() => talk(talkPath(imei), headers).catch(() => false as const));
    const lost = closeCodeOf(again);
    for (const each of pod.talks) each.terminate();
    expect(await lost).toBe(4502);
  });

  it('is in the audit log at its begin, with the force, and at its end, with its duration', async () => {
    const imei = await camera();
    const audit = captureAuditEvents(harness.bus);
    const user = newUser(imei);
    expect(await statusOf(talkPath(imei, '?force=true'), user.headers)).toBe(101);
    await waitFor(() => audit.events.length > 1, 'both events');
    const use = {
      ...anyAuditEvent,
      operation: 'talk',
      imei,
      channel: 1,
      isForced: true,
      accountId: 7,
      userId: user.caller.userId,
      keyId: user.caller.keyId,
    };
    expect(audit.events).toEqual([
      { ...use, kind: 'talk' },
      { ...use, kind: 'talkEnd', seconds: expect.any(Number) },
    ]);
    audit.stop();
  });
});

describe('talk without authentication', () => {
  it('is 403 for pages of origins that are not configured, and open to the others', async () => {
    const page = 'https://fleet.example';
    const trusting = await harness.startService({ ...settings, DEVICE_API_AUTH: 'off', PUBLIC_BASE_URL: page });
    const path = `/${await camera()}/1/talk`;
    await expect(talk(path, { origin: 'https://evil.example' }, trusting)).rejects.toThrow('403');
    for (const headers of [{ origin: page }, {}]) {
      const websocket = await talk(path, headers, trusting);
      websocket.close();
      await once(websocket, 'close');
      await waitFor(() => pod.talks.size === 0, 'the end of the talk');
    }
  });
});
