import { accessChanged, publish } from '@fleet/bus';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { openAbortingClient } from '../testing/aborting-client.ts';
import { anyAuditEvent, captureAuditEvents } from '../testing/capture-audit-events.ts';
import { respondWithStream, startFakeMediaPod } from '../testing/fake-media-pod.ts';
import { FakePlatform } from '../testing/fake-platform.ts';
import { createOutcome, DeviceApiHarness, randomImei } from '../testing/harness.ts';
import { type ResponseReader, readUntilClosed } from '../testing/read-until-closed.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let harness: DeviceApiHarness;
let api: Awaited<ReturnType<DeviceApiHarness['startService']>>;
let platform: FakePlatform;

beforeAll(async () => {
  harness = await DeviceApiHarness.open();
  platform = await FakePlatform.start(harness.bus);
  api = await harness.startService({ DEVICE_API_AUTH: 'key' });
});
afterAll(async () => {
  await platform.stop();
  await harness.close();
});

const secured = (imei: string): string[] => [
  `/wakeup?imei=${imei}`,
  `/realtime/start-stream?imei=${imei}&channel=1`,
  `/realtime/control-stream?imei=${imei}&channel=1&ctrl_instruction=0`,
  `/realtime/stream.flv?imei=${imei}&channel=1`,
];
const withKey = (key: string) => ({ headers: { 'x-api-key': key } });
const livePath = (imei: string): string => `/api/v1/realtime/stream.flv?imei=${imei}&channel=1`;

/** Reads until the connection is closed. */
async function watch(imei: string, key: string): Promise<ResponseReader> {
  const response = await fetch(api.base + livePath(imei), withKey(key));
  expect(response.status).toBe(200);
  return readUntilClosed(response);
}

const device = () =>
  harness.connectDevice(({ command }) => createOutcome(command.kind === 'startLive' ? 0x9101 : 0x9102));

describe('with DEVICE_API_AUTH=key', () => {
  it('returns 401 for every command and stream without a key or with a wrong one', async () => {
    const imei = await device();
    for (const path of secured(imei)) {
      expect(await api.get(path)).toMatchObject({
        status: 401,
        body: { status: 401, error: 'The header x-api-key is required.' },
      });
      for (const key of ['fk_wrong', '', 'x'.repeat(300), 'f'.repeat(64)])
        expect((await api.get(path, withKey(key))).status).toBe(401);
    }
    expect(harness.findCommands(imei)).toEqual([]);
  });

  it('does not accept a token in the query', async () => {
    expect(
      (await api.get(`/realtime/stream.flv?imei=${randomImei()}&channel=1&token=${platform.newKey()}`)).status,
    ).toBe(401);
  });

  it('checks the credential before the parameters', async () => {
    expect((await api.get('/wakeup')).status).toBe(401);
    expect((await api.get('/wakeup', withKey(platform.newKey()))).status).toBe(400);
  });

  it.each([['command'], ['video']])('requires only the scope %s for them', async (scope) => {
    const key = platform.newKey({ scopes: [scope] });
    const imei = await device();
    expect((await api.get(`/wakeup?imei=${imei}`, withKey(key))).status).toBe(200);
    expect((await api.get(`/realtime/start-stream?imei=${imei}&channel=1`, withKey(key))).status).toBe(200);
  });

  it('returns 403 for a key without either scope', async () => {
    const key = platform.newKey({ scopes: ['read', 'write', 'webhook', 'ingest'] });
    const imei = await device();
    for (const path of secured(imei)) {
      const { status, body } = await api.get(path, withKey(key));
      expect({ status, body }).toEqual({
        status: 403,
        body: { status: 403, error: 'The API key requires the scope command or video.' },
      });
    }
    expect(harness.findCommands(imei)).toEqual([]);
  });

  it('returns 403 for a key used from an address outside its list', async () => {
    const imei = await device();
    const path = `/wakeup?imei=${imei}`;
    expect((await api.get(path, withKey(platform.newKey({ ipAllowlist: ['10.0.0.0/8'] })))).status).toBe(403);
    expect((await api.get(path, withKey(platform.newKey({ ipAllowlist: ['10.0.0.0/8', '127.0.0.0/8'] })))).status).toBe(
      200,
    );
    const from = (address: string) => ({
      headers: { 'x-api-key': platform.newKey({ ipAllowlist: ['10.0.0.0/8'] }), 'x-forwarded-for': address },
    });
    expect((await api.get(path, from('10.1.2.3'))).status).toBe(200);
    expect((await api.get(path, from('10.1.2.3, 8.8.8.8'))).status).toBe(403);
  });

  it('treats a device of another account as missing', async () => {
    const [own, foreign] = [await device(), await device()];
    platform.moveDevice(own, 7);
    platform.moveDevice(foreign, 8);
    const key = platform.newKey();
    await harness.connectStream(foreign, 1, 'http://127.0.0.1:1');
    for (const [index, path] of secured(foreign).entries()) {
      const refused = await api.get(path, withKey(key));
      const absent = await api.get(secured(randomImei())[index] ?? '', withKey(key));
      expect([refused.status, refused.body]).toEqual([404, absent.body]);
      expect([...refused.headers.keys()].toSorted()).toEqual([...absent.headers.keys()].toSorted());
    }
    expect(harness.findCommands(foreign)).toEqual([]);
    expect((await api.get(`/wakeup?imei=${own}`, withKey(key))).status).toBe(200);
    expect((await api.get(`/wakeup?imei=00000000${foreign}`, withKey(key))).status).toBe(404);
  });

  it('publishes audit events of uses with their caller, and none of rejected requests', async () => {
    const { events, ...capture } = captureAuditEvents(harness.bus);
    const [imei, key] = [await device(), platform.newKey()];
    const pod = await startFakeMediaPod((_request, response) => response.writeHead(200).end('video'));
    await harness.connectStream(imei, 1, pod.url);
    try {
      await api.get(`/wakeup?imei=${imei}`, withKey(platform.newKey({ scopes: ['read'] })));
      await api.get(`/wakeup?imei=${imei}`, withKey(key));
      await api.get(`/realtime/stream.flv?imei=${imei}&channel=2`, withKey(key));
      expect(await (await fetch(api.base + livePath(imei), withKey(key))).text()).toBe('video');
      await waitFor(() => events.length >= 2);
      const use = { ...anyAuditEvent, keyId: platform.keyIdOf(key), accountId: 7, imei };
      expect(events).toEqual([
        { ...use, kind: 'command', operation: 'wakeUp' },
        { ...use, kind: 'view', operation: 'watchRealtimeStream', channel: 1, seconds: expect.any(Number) },
      ]);
    } finally {
      capture.stop();
      await pod.close();
    }
  });

  it('publishes no view if the caller left before the first byte', async () => {
    const { events, ...capture } = captureAuditEvents(harness.bus);
    const [silent, streaming] = [await device(), await device()];
    const silentPod = await startFakeMediaPod(() => undefined);
    const pod = await startFakeMediaPod((_request, response) => response.writeHead(200).end('video'));
    await harness.connectStream(silent, 1, silentPod.url, 'silent-media');
    await harness.connectStream(streaming, 1, pod.url);
    try {
      const client = await openAbortingClient(api.base + livePath(silent), platform.newKey());
      await waitFor(() => silentPod.openResponses.size === 1);
      await client.disconnect();
      await waitFor(() => silentPod.openResponses.size === 0);
      await (await fetch(api.base + livePath(streaming), withKey(platform.newKey()))).text();
      await waitFor(() => events.length > 0);
      expect(events).toMatchObject([{ imei: streaming, kind: 'view' }]);
    } finally {
      capture.stop();
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
    const key = platform.newKey();
    const path = `/wakeup?imei=${await device()}`;
    expect((await api.get(path, withKey(key))).status).toBe(200);
    const verifiedBefore = platform.countVerifications(key);
    await Promise.all([1, 2, 3].map(() => api.get(path, withKey(key))));
    expect(platform.countVerifications(key)).toBe(verifiedBefore);
    platform.revokeKey(key);
    await waitFor(async () => (await api.get(path, withKey(key))).status === 401);
    expect(platform.countVerifications(key)).toBe(verifiedBefore + 1);
  });

  it('closes the stream of a revoked key, and no other', async () => {
    const imei = await device();
    const pod = await startFakeMediaPod(respondWithStream());
    await harness.connectStream(imei, 1, pod.url);
    const [key, other] = [platform.newKey(), platform.newKey()];
    const [closedReader, openReader] = [await watch(imei, key), await watch(imei, other)];
    try {
      // An event about a valid key, as for a reactivated account, closes nothing.
      platform.publishRevoked(other);
      platform.revokeKey(key);
      await waitFor(() => closedReader.isClosed());
      expect(openReader.isClosed()).toBe(false);
    } finally {
      await Promise.all([closedReader.end(), openReader.end()]);
      await pod.close();
    }
  });

  it('drops a viewer that left during admission', async () => {
    const [left, imei] = [await device(), await device()];
    const pod = await startFakeMediaPod(respondWithStream());
    await harness.connectStream(left, 1, pod.url);
    await harness.connectStream(imei, 1, pod.url);
    const [key, other] = [platform.newKey(), platform.newKey()];
    const heldLookup = platform.holdDevice(left);
    const client = await openAbortingClient(api.base + livePath(left), key);
    await waitFor(heldLookup.isRequested);
    await client.disconnect();
    heldLookup.release();
    // It arrives after the other one on the same connections.
    const viewer = await watch(imei, other);
    try {
      const keyId = platform.keyIdOf(key);
      platform.revokeKey(key);
      platform.revokeKey(other);
      await waitFor(viewer.isClosed);
      expect(platform.authorized.filter((caller) => caller.kind === 'key' && caller.keyId === keyId)).toHaveLength(1);
    } finally {
      await viewer.end();
      await pod.close();
    }
  });

  it('closes a stream whose key is revoked during admission', async () => {
    const imei = await device();
    const pod = await startFakeMediaPod(respondWithStream());
    await harness.connectStream(imei, 1, pod.url);
    const key = platform.newKey();
    const heldLookup = platform.holdDevice(imei);
    let isOver = false;
    const watching = fetch(api.base + livePath(imei), withKey(key))
      .then((response) => response.arrayBuffer())
      .catch(() => undefined)
      .finally(() => {
        isOver = true;
      });
    try {
      await waitFor(heldLookup.isRequested);
      platform.revokeKey(key);
      await waitFor(async () => (await api.get('/wakeup', withKey(key))).status === 401);
      heldLookup.release();
      await waitFor(() => isOver);
      await waitFor(() => pod.openResponses.size === 0);
      expect(isOver).toBe(true);
    } finally {
      heldLookup.release();
      await pod.close();
      await watching;
    }
  });

  it('closes a stream whose revocation was missed because a replica of platform-api had no broker', async () => {
    const imei = await device();
    const pod = await startFakeMediaPod(respondWithStream());
    await harness.connectStream(imei, 1, pod.url);
    const [key, other] = [platform.newKey(), platform.newKey()];
    const [closedReader, openReader] = [await watch(imei, key), await watch(imei, other)];
    try {
      platform.removeKey(key);
      publish(harness.bus, accessChanged, {});
      await waitFor(closedReader.isClosed);
      expect(openReader.isClosed()).toBe(false);
    } finally {
      await Promise.all([closedReader.end(), openReader.end()]);
      await pod.close();
    }
  });

  it('closes a stream whose key was revoked during a broker outage, once platform-api is reachable', async () => {
    const imei = await device();
    const pod = await startFakeMediaPod(respondWithStream());
    await harness.connectStream(imei, 1, pod.url);
    const [key, other] = [platform.newKey(), platform.newKey()];
    const [closedReader, openReader] = [await watch(imei, key), await watch(imei, other)];
    const readiness = async (): Promise<number> => (await fetch(`${api.adminBase}/readyz`)).status;
    try {
      await platform.stop();
      await harness.nats.kill();
      await waitFor(async () => (await readiness()) === 503);
      platform.removeKey(key);
      await harness.nats.start();
      await waitFor(async () => (await readiness()) === 200);
      expect([closedReader.isClosed(), openReader.isClosed()]).toEqual([false, false]);
      await waitFor(() => harness.bus.isUp());
      await platform.serve();
      await waitFor(closedReader.isClosed);
      expect(openReader.isClosed()).toBe(false);
    } finally {
      await Promise.all([closedReader.end(), openReader.end()]);
      await pod.close();
    }
  });

  it('returns 503, or 500 for a stream, and never 401, if the key cannot be verified', async () => {
    await platform.stop();
    const key = platform.newKey();
    const imei = await device();
    const statuses = await Promise.all(secured(imei).map(async (path) => (await api.get(path, withKey(key))).status));
    expect(statuses).toEqual([503, 503, 503, 500]);
    await platform.serve();
    expect((await api.get(`/wakeup?imei=${imei}`, withKey(key))).status).toBe(200);
  });
});
