import { createHash, randomBytes } from 'node:crypto';
import { accessChanged, findDevice, keyRevoked, publish, serve, verifyKey } from '@fleet/bus';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { waitFor } from '../../../../libs/service-kit/src/testing/server-process.ts';
import { anyUse, hearUses } from '../testing/hear-uses.ts';
import { openLeaving } from '../testing/leaving-client.ts';
import { openMediaPod, streaming } from '../testing/media-pod.ts';
import { type Watching, watchUntilCut } from '../testing/watch.ts';
import { answered, randomImei, World } from '../testing/world.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

type Verdict = { scopes?: string[]; ipAllowlist?: string[] };

let world: World;
let api: Awaited<ReturnType<World['service']>>;
const keys = new Map<string, Verdict>();
const accounts = new Map<string, number>();
/** Hashes of the keys that platform-api was asked to verify. */
const verified: string[] = [];
/** Devices about which platform-api was asked and has not replied yet. */
const held = new Map<string, { isAsked: boolean; readonly release: Promise<void> }>();
let platform: { stop(): Promise<void> }[] = [];

const hash = (key: string): string => createHash('sha256').update(key).digest('hex');
function newKey(verdict: Verdict = {}): string {
  const key = `fk_${randomBytes(32).toString('base64url')}`;
  keys.set(hash(key), verdict);
  return key;
}

async function startPlatform(): Promise<void> {
  const options = {
    queue: 'platform-api',
    onError: (error: unknown) => {
      throw error;
    },
  };
  platform = [
    serve(world.bus, verifyKey, options, async ({ keySha256 }) => {
      verified.push(keySha256);
      const verdict = keys.get(keySha256);
      if (verdict === undefined) return { valid: false as const };
      const { scopes = ['read', 'write', 'command', 'video'], ipAllowlist = [] } = verdict;
      return { valid: true as const, keyId: 1, accountId: 7, scopes, ipAllowlist };
    }),
    serve(world.bus, findDevice, options, async ({ imei }) => {
      const hold = held.get(imei);
      if (hold !== undefined) {
        hold.isAsked = true;
        await hold.release;
      }
      return { known: accounts.has(imei), accountId: accounts.get(imei) ?? null, cameraUtcOffset: '+08:00' };
    }),
  ];
  await world.bus.nc.flush();
}

beforeAll(async () => {
  world = await World.open();
  await startPlatform();
  api = await world.service({ DEVICE_API_AUTH: 'key' });
});
afterAll(async () => {
  await Promise.all(platform.map((one) => one.stop()));
  await world.close();
});

const secured = (imei: string): string[] => [
  `/wakeup?imei=${imei}`,
  `/realtime/start-stream?imei=${imei}&channel=1`,
  `/realtime/control-stream?imei=${imei}&channel=1&ctrl_instruction=0`,
  `/realtime/stream.flv?imei=${imei}&channel=1`,
];
const withKey = (key: string) => ({ headers: { 'x-api-key': key } });
const livePath = (imei: string): string => `/api/v1/realtime/stream.flv?imei=${imei}&channel=1`;

/** Delays platform-api's replies about a device until the returned function is called. */
function hold(imei: string): { readonly isAsked: () => boolean; readonly release: () => void } {
  let release = (): void => undefined;
  const state = {
    isAsked: false,
    release: new Promise<void>((resolve) => {
      release = resolve;
    }),
  };
  held.set(imei, state);
  return {
    isAsked: () => state.isAsked,
    release: () => {
      held.delete(imei);
      release();
    },
  };
}

/** Reads until the connection is closed. */
async function watch(imei: string, key: string): Promise<Watching> {
  const answer = await fetch(api.base + livePath(imei), withKey(key));
  expect(answer.status).toBe(200);
  return watchUntilCut(answer);
}

function revoke(key: string): void {
  keys.delete(hash(key));
  publish(world.bus, keyRevoked, { keySha256: hash(key) });
}

const device = () => world.device(({ command }) => answered(command.kind === 'startLive' ? 0x9101 : 0x9102));

describe('with DEVICE_API_AUTH=key', () => {
  it('returns 401 for every command and stream without a key or with a wrong one', async () => {
    const imei = await device();
    for (const path of secured(imei)) {
      expect(await api.get(path)).toMatchObject({
        status: 401,
        body: { status: 401, error: 'The header x-api-key is required.' },
      });
      for (const key of ['fk_wrong', '', 'x'.repeat(300), hash('fk_wrong')])
        expect((await api.get(path, withKey(key))).status).toBe(401);
    }
    expect(world.commandsOf(imei)).toEqual([]);
  });

  it('does not accept a token in the query', async () => {
    expect((await api.get(`/realtime/stream.flv?imei=${randomImei()}&channel=1&token=${newKey()}`)).status).toBe(401);
  });

  it('checks the credential before the parameters', async () => {
    expect((await api.get('/wakeup')).status).toBe(401);
    expect((await api.get('/wakeup', withKey(newKey()))).status).toBe(400);
  });

  it.each([['command'], ['video']])('requires only the scope %s for them', async (scope) => {
    const key = newKey({ scopes: [scope] });
    const imei = await device();
    expect((await api.get(`/wakeup?imei=${imei}`, withKey(key))).status).toBe(200);
    expect((await api.get(`/realtime/start-stream?imei=${imei}&channel=1`, withKey(key))).status).toBe(200);
  });

  it('returns 403 for a key without either scope', async () => {
    const key = newKey({ scopes: ['read', 'write', 'webhook', 'ingest'] });
    const imei = await device();
    for (const path of secured(imei)) {
      const { status, body } = await api.get(path, withKey(key));
      expect({ status, body }).toEqual({
        status: 403,
        body: { status: 403, error: 'The API key needs the scope command or video.' },
      });
    }
    expect(world.commandsOf(imei)).toEqual([]);
  });

  it('returns 403 for a key used from an address outside its list', async () => {
    const imei = await device();
    const path = `/wakeup?imei=${imei}`;
    expect((await api.get(path, withKey(newKey({ ipAllowlist: ['10.0.0.0/8'] })))).status).toBe(403);
    expect((await api.get(path, withKey(newKey({ ipAllowlist: ['10.0.0.0/8', '127.0.0.0/8'] })))).status).toBe(200);
    const from = (address: string) => ({
      headers: { 'x-api-key': newKey({ ipAllowlist: ['10.0.0.0/8'] }), 'x-forwarded-for': address },
    });
    expect((await api.get(path, from('10.1.2.3'))).status).toBe(200);
    expect((await api.get(path, from('10.1.2.3, 8.8.8.8'))).status).toBe(403);
  });

  it('treats a device of another account as missing', async () => {
    const [own, foreign] = [await device(), await device()];
    accounts.set(own, 7).set(foreign, 8);
    const key = newKey();
    await world.cameraConnects(foreign, 1, 'http://127.0.0.1:1');
    for (const [index, path] of secured(foreign).entries()) {
      const refused = await api.get(path, withKey(key));
      const absent = await api.get(secured(randomImei())[index] ?? '', withKey(key));
      expect([refused.status, refused.body]).toEqual([404, absent.body]);
      expect([...refused.headers.keys()].toSorted()).toEqual([...absent.headers.keys()].toSorted());
    }
    expect(world.commandsOf(foreign)).toEqual([]);
    expect((await api.get(`/wakeup?imei=${own}`, withKey(key))).status).toBe(200);
    expect((await api.get(`/wakeup?imei=00000000${foreign}`, withKey(key))).status).toBe(404);
  });

  it('publishes audit events of uses with their caller, and none of rejected requests', async () => {
    const { told, ...heard } = hearUses(world.bus);
    const imei = await device();
    const pod = await openMediaPod((_request, response) => response.writeHead(200).end('video'));
    await world.cameraConnects(imei, 1, pod.url);
    try {
      await api.get(`/wakeup?imei=${imei}`, withKey(newKey({ scopes: ['read'] })));
      await api.get(`/wakeup?imei=${imei}`, withKey(newKey()));
      await api.get(`/realtime/stream.flv?imei=${imei}&channel=2`, withKey(newKey()));
      expect(await (await fetch(api.base + livePath(imei), withKey(newKey()))).text()).toBe('video');
      await waitFor(() => told.length >= 2);
      const use = { ...anyUse, keyId: 1, accountId: 7, imei };
      expect(told).toEqual([
        { ...use, kind: 'command', operation: 'wakeUp' },
        { ...use, kind: 'view', operation: 'watchRealtimeStream', channel: 1, seconds: expect.any(Number) },
      ]);
    } finally {
      heard.stop();
      await pod.close();
    }
  });

  it('publishes no view if the caller left before the first byte', async () => {
    const { told, ...heard } = hearUses(world.bus);
    const [silent, shown] = [await device(), await device()];
    const silentPod = await openMediaPod(() => undefined);
    const pod = await openMediaPod((_request, response) => response.writeHead(200).end('video'));
    await world.cameraConnects(silent, 1, silentPod.url, 'silent-media');
    await world.cameraConnects(shown, 1, pod.url);
    try {
      const client = await openLeaving(api.base + livePath(silent), newKey());
      await waitFor(() => silentPod.open.size === 1);
      await client.leave();
      await waitFor(() => silentPod.open.size === 0);
      await (await fetch(api.base + livePath(shown), withKey(newKey()))).text();
      await waitFor(() => told.length > 0);
      expect(told).toMatchObject([{ imei: shown, kind: 'view' }]);
    } finally {
      heard.stop();
      await silentPod.close();
      await pod.close();
    }
  });

  it('requires no key for health endpoints and documents', async () => {
    const imei = await device();
    expect((await api.get(`/health/device?imei=${imei}`)).status).toBe(200);
    expect((await api.get('/health')).status).toBe(503);
    expect((await api.get('/openapi.json')).status).toBe(200);
    expect((await fetch(`${api.base}/docs/`)).status).toBe(200);
    expect((await api.get('/nothing')).status).toBe(404);
  });

  it('caches a key and evicts it when the key is revoked', async () => {
    const key = newKey();
    const path = `/wakeup?imei=${await device()}`;
    expect((await api.get(path, withKey(key))).status).toBe(200);
    const asked = verified.length;
    await Promise.all([1, 2, 3].map(() => api.get(path, withKey(key))));
    expect(verified).toHaveLength(asked);
    revoke(key);
    await waitFor(async () => (await api.get(path, withKey(key))).status === 401);
    expect(verified).toHaveLength(asked + 1);
  });

  it('closes the stream of a revoked key, and no other', async () => {
    const imei = await device();
    const pod = await openMediaPod(streaming());
    await world.cameraConnects(imei, 1, pod.url);
    const [key, other] = [newKey(), newKey()];
    const [cut, kept] = [await watch(imei, key), await watch(imei, other)];
    try {
      // An event about a valid key, as for a reactivated account, closes nothing.
      publish(world.bus, keyRevoked, { keySha256: hash(other) });
      revoke(key);
      await waitFor(() => cut.isOver());
      expect(kept.isOver()).toBe(false);
    } finally {
      await Promise.all([cut.end(), kept.end()]);
      await pod.close();
    }
  });

  it('drops a viewer that left during admission', async () => {
    const [left, imei] = [await device(), await device()];
    const pod = await openMediaPod(streaming());
    await world.cameraConnects(left, 1, pod.url);
    await world.cameraConnects(imei, 1, pod.url);
    const [key, other] = [newKey(), newKey()];
    const answers = hold(left);
    const client = await openLeaving(api.base + livePath(left), key);
    await waitFor(answers.isAsked);
    await client.leave();
    answers.release();
    // It arrives after the other one on the same connections.
    const viewer = await watch(imei, other);
    try {
      revoke(key);
      revoke(other);
      await waitFor(viewer.isOver);
      expect(verified.filter((one) => one === hash(key))).toHaveLength(1);
    } finally {
      await viewer.end();
      await pod.close();
    }
  });

  it('closes a stream whose key is revoked during admission', async () => {
    const imei = await device();
    const pod = await openMediaPod(streaming());
    await world.cameraConnects(imei, 1, pod.url);
    const key = newKey();
    const answers = hold(imei);
    let isOver = false;
    const watching = fetch(api.base + livePath(imei), withKey(key))
      .then((answer) => answer.arrayBuffer())
      .catch(() => undefined)
      .finally(() => {
        isOver = true;
      });
    try {
      await waitFor(answers.isAsked);
      revoke(key);
      await waitFor(async () => (await api.get('/wakeup', withKey(key))).status === 401);
      answers.release();
      await waitFor(() => isOver);
      await waitFor(() => pod.open.size === 0);
      expect(isOver).toBe(true);
    } finally {
      answers.release();
      await pod.close();
      await watching;
    }
  });

  it('closes a stream whose revocation was missed because a replica of platform-api had no broker', async () => {
    const imei = await device();
    const pod = await openMediaPod(streaming());
    await world.cameraConnects(imei, 1, pod.url);
    const [key, other] = [newKey(), newKey()];
    const [cut, kept] = [await watch(imei, key), await watch(imei, other)];
    try {
      keys.delete(hash(key));
      publish(world.bus, accessChanged, {});
      await waitFor(cut.isOver);
      expect(kept.isOver()).toBe(false);
    } finally {
      await Promise.all([cut.end(), kept.end()]);
      await pod.close();
    }
  });

  it('closes a stream whose key was revoked during a broker outage, once platform-api is reachable', async () => {
    const imei = await device();
    const pod = await openMediaPod(streaming());
    await world.cameraConnects(imei, 1, pod.url);
    const [key, other] = [newKey(), newKey()];
    const [cut, kept] = [await watch(imei, key), await watch(imei, other)];
    const readiness = async (): Promise<number> => (await fetch(`${api.base}/readyz`)).status;
    try {
      await Promise.all(platform.map((one) => one.stop()));
      await world.nats.kill();
      await waitFor(async () => (await readiness()) === 503);
      keys.delete(hash(key));
      await world.nats.start();
      await waitFor(async () => (await readiness()) === 200);
      expect([cut.isOver(), kept.isOver()]).toEqual([false, false]);
      await waitFor(() => world.bus.isUp());
      await startPlatform();
      await waitFor(cut.isOver);
      expect(kept.isOver()).toBe(false);
    } finally {
      await Promise.all([cut.end(), kept.end()]);
      await pod.close();
    }
  });

  it('returns 503, or 500 for a stream, and never 401, if the key cannot be verified', async () => {
    await Promise.all(platform.map((one) => one.stop()));
    const key = newKey();
    const imei = await device();
    const statuses = await Promise.all(secured(imei).map(async (path) => (await api.get(path, withKey(key))).status));
    expect(statuses).toEqual([503, 503, 503, 500]);
    await startPlatform();
    expect((await api.get(`/wakeup?imei=${imei}`, withKey(key))).status).toBe(200);
  });
});
