import { createHash } from 'node:crypto';
import { type Dirent, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openBus, request, revokeKey } from '@fleet/bus';
import { createLogger } from '@fleet/service-kit';
import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { MongoClient } from 'mongodb';
import { createClient } from 'redis';
import { type ApiRequest, createApiSender, deviceCommands } from './testing/device-api.ts';
import { type ProductHarness, startHarness } from './testing/harness.ts';
import { expectApiError, type HttpReply, send } from './testing/http.ts';

let harness: ProductHarness;
let terminal: SimulatedTerminal;
let key: string;

beforeAll(async () => {
  // The most verbose log level.
  harness = await startHarness({ DEVICE_API_AUTH: 'key', LOG_LEVEL: 'trace' });
  terminal = await harness.startTerminal();
  key = harness.product.runtime.device_api.api_key;
}, 180_000);

afterAll(() => harness.stop(), 60_000);

const api = (path: string, headers: Record<string, string> = {}): Promise<HttpReply> =>
  send(harness.product.runtime.base_url, `/api/v1${path}`, { headers });
const sendRequest = createApiSender(() => harness);
const withKey = (value: string): Record<string, string> => ({ 'x-api-key': value });
const secured = (): string[] => [
  `/wakeup?imei=${terminal.phone}`,
  `/realtime/start-stream?imei=${terminal.phone}&channel=1`,
  `/realtime/control-stream?imei=${terminal.phone}&channel=1&ctrl_instruction=2`,
  `/realtime/stream.flv?imei=${terminal.phone}&channel=2`,
];
/** Endpoints that require the key. */
const alsoSecured = (): ApiRequest[] => [
  ...deviceCommands.map(({ request: keyRequest }) => keyRequest(terminal.phone)),
  { path: `/history/stream.flv?imei=${terminal.phone}&channel=1` },
  { path: `/videos/list?imei=${terminal.phone}` },
  { path: `/videos?video_id=${'f'.repeat(24)}` },
  { path: `/videos?video_id=${'f'.repeat(24)}`, method: 'DELETE' },
  { path: `/videos/control?video_id=${'f'.repeat(24)}&action=0` },
];
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
/** Differs from the real key only in the last characters. */
const wrongKey = (): string => `${key.slice(0, -3)}${key.endsWith('xyz') ? 'abc' : 'xyz'}`;

describe('a product that requires an API key', () => {
  it('writes the key to the runtime file for scripts', () => {
    expect(harness.product.runtime.device_api.auth).toBe('key');
    expect(key).toMatch(/^fk_[A-Za-z0-9_-]{43}$/);
  });

  it('returns 401 without a key or with a wrong one, and sends no command', async () => {
    for (const path of secured()) {
      expect(expectApiError(await api(path), 401)).toContain('x-api-key');
      for (const wrong of ['x', wrongKey(), key.toUpperCase(), `${key} x`, sha256(key), 'x'.repeat(1_000)])
        expect(expectApiError(await api(path, withKey(wrong)), 401)).toContain('not valid');
      // Only the header counts.
      expectApiError(await api(`${path}&x-api-key=${wrongKey()}`, { authorization: `Bearer ${key}` }), 401);
    }
    for (const keyRequest of alsoSecured()) {
      expect(expectApiError(await sendRequest(keyRequest), 401)).toContain('x-api-key');
      expect(expectApiError(await sendRequest(keyRequest, { headers: withKey(wrongKey()) }), 401)).toContain(
        'not valid',
      );
    }
    for (const { messageId } of deviceCommands) expect(terminal.receivedFrames(messageId)).toEqual([]);
  });

  it('checks the key before the parameters and before it returns 404 for a device', async () => {
    expect(expectApiError(await api('/wakeup'), 401)).toContain('x-api-key');
    expect(expectApiError(await api('/wakeup', withKey(key)), 400)).toContain('imei');
    expect(expectApiError(await api('/wakeup?imei=013900000001'), 401)).toContain('x-api-key');
  });

  it('serves requests with the correct key', async () => {
    const [wake = '', start = '', pause = '', watch = ''] = secured();
    expect((await api(wake, withKey(key))).text).toBe('{"result":"success"}');
    expect((await api(start, withKey(key))).text).toBe('{"response_id":"0x9101","result":"success"}');
    const camera = `/health/camera?imei=${terminal.phone}&channel=1`;
    await waitFor(async () => (await api(camera)).status === 200, 'the camera to stream');
    expect((await api(pause, withKey(key))).text).toBe('{"response_id":"0x9102","result":"success"}');
    expectApiError(await api(watch, withKey(key)), 404);
    expectApiError(await api('/wakeup?imei=013900000001', withKey(key)), 404);
  });

  it('serves health and the OpenAPI document without a key', async () => {
    expect((await api('/health')).status).toBe(200);
    expect((await api(`/health/device?imei=${terminal.phone}`)).status).toBe(200);
    expect((await api(`/health/camera?imei=${terminal.phone}&channel=9`)).status).toBe(503);
    expect((await api('/openapi.json')).status).toBe(200);
    expectApiError(await api('/nothing'), 404);
  });

  it('protects the platform with the same key', async () => {
    const { base_url: base } = harness.product.runtime;
    for (const headers of [{}, withKey(wrongKey())])
      expect((await send(base, '/api/nothing', { headers })).status).toBe(401);
    expect((await send(base, '/api/nothing', { headers: withKey(key) })).status).toBe(404);
  });

  it('stores no plaintext key in the database, Redis, the logs or any other file', async () => {
    await api(`/realtime/stream.flv?imei=${terminal.phone}&channel=3&token=${key}`, withKey(key));
    await api(`/wakeup?imei=${terminal.phone}`, withKey(key));

    const { mongodb_url: mongodbUrl, redis_url: redisUrl } = harness.product.runtime.backends;
    const documents = await dumpDatabase(mongodbUrl);
    expect(documents).toContain(sha256(key));
    expect(documents).not.toContain(key);
    expect(await dumpRedis(redisUrl)).not.toContain(key);

    const { dataDir } = harness.product;
    // Written by the launcher for the user who started it; no other user can read it.
    const expectedFiles = [join(dataDir, 'runtime.json'), join(dataDir, 'secrets.json')];
    const files = listFiles(dataDir);
    expect(
      files.filter((file) => file.endsWith('device-api.log')).map((file) => readFileSync(file).length > 0),
    ).toEqual([true]);
    expect(files.filter((file) => readContent(file).includes(key)).toSorted()).toEqual(expectedFiles);
  });

  // The last test: no valid key exists after it.
  it('refuses a revoked key within five seconds, permanently', async () => {
    const [wake = ''] = secured();
    expect((await api(wake, withKey(key))).status).toBe(200);
    const { nats_url: natsUrl } = harness.product.runtime.backends;
    const bus = await openBus(natsUrl, { name: 'test', log: createLogger('test', 'silent') });
    try {
      const keyRequest = { keySha256: sha256(key) };
      const requestOptions = { timeoutMs: 5_000, correlationId: 'test' };
      expect(await request(bus, revokeKey, { keySha256: sha256(wrongKey()) }, requestOptions)).toEqual({
        revoked: false,
      });
      expect((await api(wake, withKey(key))).status).toBe(200);
      expect(await request(bus, revokeKey, keyRequest, requestOptions)).toEqual({ revoked: true });
    } finally {
      await bus.close();
    }
    await waitFor(async () => (await api(wake, withKey(key))).status === 401, 'the refusal', 5_000);

    // A restarted platform-api gets the same key from its environment and does not reactivate it.
    const { processes } = harness.product.runtime;
    const pid = processes['platform-api'];
    if (pid === undefined) throw new Error('platform-api does not run');
    process.kill(pid, 'SIGKILL');
    await waitFor(() => {
      const now = harness.product.runtime.processes['platform-api'];
      return now !== undefined && now !== pid;
    }, 'another platform-api');
    const { health } = harness.product.runtime;
    const isReady = async (): Promise<boolean> => {
      const response = await fetch(`${health['platform-api']}/readyz`).catch(() => undefined);
      return response?.status === 200;
    };
    await waitFor(isReady, 'platform-api to be ready', 60_000);
    // No service can verify a key while platform-api is unavailable: the response is 503, never 200.
    await waitFor(async () => {
      const { status } = await api(wake, withKey(key));
      expect([401, 503]).toContain(status);
      return status === 401;
    }, 'a response');
  }, 120_000);
});

async function dumpDatabase(url: string): Promise<string> {
  const client = new MongoClient(url, { directConnection: true });
  try {
    const collections = await client.db().listCollections().toArray();
    const contents = await Promise.all(
      collections.map(async ({ name }) => JSON.stringify([name, await client.db().collection(name).find().toArray()])),
    );
    return contents.join('\n');
  } finally {
    await client.close();
  }
}

async function dumpRedis(url: string): Promise<string> {
  const client = createClient({ url });
  await client.connect();
  try {
    const names = await client.keys('*');
    const dumps = await Promise.all(
      names.map(async (name) => {
        const type = await client.type(name);
        if (type === 'string') return client.get(name);
        if (type === 'hash') return JSON.stringify(await client.hGetAll(name));
        return type === 'zset' ? JSON.stringify(await client.zRange(name, 0, -1)) : type;
      }),
    );
    return [...names, ...dumps].join('\n');
  } finally {
    client.destroy();
  }
}

/** Databases replace and remove their files at any time. */
function readContent(file: string): Buffer {
  try {
    return readFileSync(file);
  } catch {
    // Removed since it was listed, so it holds nothing.
    return Buffer.alloc(0);
  }
}

const listFiles = (folder: string): string[] =>
  listEntries(folder).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return listFiles(path);
    return entry.isFile() ? [path] : [];
  });

function listEntries(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    // Databases remove their folders while they run.
    return [];
  }
}
