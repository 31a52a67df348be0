import { randomBytes } from 'node:crypto';
import { type Bus, findDevice, keyRevoked, openBus, request, revokeKey, subscribe, verifyKey } from '@fleet/bus';
import { createLogger } from '@fleet/service-kit';
import { type Database, openDatabase } from '@fleet/storage';
import { ServerProcess, testEnv, waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { verify } from '@node-rs/argon2';
import { ensureOwner } from '../domains/accounts/ensure-owner.ts';
import type { Account } from '../domains/accounts/schema.ts';
import { generateKey, hashKey } from '../domains/api-keys/rules.ts';
import type { ApiKey } from '../domains/api-keys/schema.ts';
import { insertKey } from '../domains/api-keys/store.ts';
import { createKey, ensureKey } from '../domains/api-keys/use-cases.ts';
import type { User } from '../domains/users/schema.ts';
import { ensureVehicle } from '../domains/vehicles/use-cases.ts';
import { RecordStore } from '../store/record-store.ts';
import { type Config, loadConfig } from './config.ts';
import { create, type PlatformApi } from './service.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(60_000);

const silent = createLogger('platform-api-test', 'silent');
const createDatabase = (): string => {
  const url = new URL(testEnv('MONGODB_URL'));
  url.pathname = `/platform_api_${randomBytes(6).toString('hex')}`;
  return url.href;
};

/** All platform-api processes on a broker share their subjects, so this file has a broker of its own. */
let nats: ServerProcess;
const natsUrl = (): string => `nats://127.0.0.1:${nats.port}`;
const settings = (more: Record<string, string>): Config =>
  loadConfig({ NATS_URL: natsUrl(), REDIS_URL: testEnv('REDIS_URL'), HTTP_PORT: '0', ADMIN_PORT: '0', ...more });

beforeAll(async () => {
  nats = await ServerProcess.nats();
  await nats.start();
});
afterAll(() => nats.remove());

/** Returns the number of the newest migration that the admin port states. */
async function readSchemaVersion({ adminPort }: PlatformApi, state: 'applied' | 'required'): Promise<number> {
  const metrics = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
  const [, version] = new RegExp(`platform_schema_version\\{[^}]*"${state}"[^}]*\\} (\\d+)`).exec(metrics) ?? [];
  return Number(version);
}

const owner = { email: 'Owner@Fleet.example', password: 'correct horse battery' };

describe('platform-api', () => {
  const key = generateKey();
  const bootstrapped = {
    MONGODB_URL: createDatabase(),
    BOOTSTRAP_OWNER_EMAIL: owner.email,
    BOOTSTRAP_OWNER_PASSWORD: owner.password,
    BOOTSTRAP_API_KEY: key,
  };
  let service: PlatformApi;
  let database: Database;
  let records: RecordStore;
  let bus: Bus;

  beforeAll(async () => {
    database = openDatabase(bootstrapped.MONGODB_URL, { appName: 'platform-api-test' });
    records = new RecordStore(database);
    service = await create(settings(bootstrapped), { log: silent });
    bus = await openBus(natsUrl(), { name: 'platform-api-test', log: silent });
    await waitFor(async () => (await fetch(`${adminBase()}/readyz`)).status === 200);
  });
  afterAll(async () => {
    await service.stop();
    await bus.close();
    await database.db.dropDatabase();
    await database.close();
  });

  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(`http://127.0.0.1:${service.httpPort}${path}`, { headers });
  const adminBase = () => `http://127.0.0.1:${service.adminPort}`;
  const check = (secret: string) => request(bus, verifyKey, { keySha256: hashKey(secret) }, { timeoutMs: 3_000 });

  it('creates the first owner once: account, user with an argon2id password, key stored by its hash', async () => {
    const again = await create(settings(bootstrapped), { log: silent });
    await waitFor(async () => (await fetch(`http://127.0.0.1:${again.adminPort}/readyz`)).status === 200);
    await again.stop();
    const users = await database.collection<User>('users').find({ email: 'owner@fleet.example' }).toArray();
    expect(users).toHaveLength(1);
    expect(users[0]?.passwordHash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(await verify(users[0]?.passwordHash ?? '', owner.password)).toBe(true);
    const keys = await database
      .collection<ApiKey>('api_keys')
      .find({ hint: key.slice(-4) })
      .toArray();
    expect(keys).toMatchObject([{ keySha256: hashKey(key), accountId: users[0]?.accountId, version: 1 }]);
    expect(JSON.stringify(keys)).not.toContain(key);
  });

  it('lets the first owner log in and call the API with key and token', async () => {
    const login = await fetch(`http://127.0.0.1:${service.httpPort}/api/auth/login`, {
      method: 'POST',
      body: JSON.stringify({ identifier: owner.email, password: owner.password }),
    });
    const { data } = (await login.json()) as { data: { access_token: string } };
    const users = await get('/api/users', { 'x-api-key': key, authorization: `Bearer ${data.access_token}` });
    expect(await users.json()).toMatchObject({ data: [{ email: 'owner@fleet.example', role: 'owner' }] });
  });

  it('returns the account of a key over the bus, and no details for an unknown key', async () => {
    expect(await check(key)).toEqual({
      valid: true,
      keyId: expect.any(Number),
      accountId: expect.any(Number),
      scopes: ['read', 'write', 'command', 'video', 'webhook'],
      ipAllowlist: [],
    });
    expect(await check(generateKey())).toEqual({ valid: false });
  });

  it('rejects an expired key', async () => {
    const secret = generateKey();
    const fields = { accountId: 1, name: 'old', keySha256: hashKey(secret), hint: secret.slice(-4) };
    await insertKey(records, {
      ...fields,
      scopes: ['read'],
      ipAllowlist: [],
      expiresAt: new Date(Date.now() - 1),
      revokedAt: null,
      userId: null,
      canMintTokens: false,
      sealedDashboardKey: null,
    });
    expect(await check(secret)).toEqual({ valid: false });
  });

  it('revokes a key permanently and publishes the revocation', async () => {
    const secret = await createKey(records, { accountId: 1, name: 'to be revoked' });
    const published: string[] = [];
    const received = subscribe(
      bus,
      keyRevoked,
      () => undefined,
      (body) => published.push(body.keySha256),
    );
    const revoke = () => request(bus, revokeKey, { keySha256: hashKey(secret) }, { timeoutMs: 3_000 });
    expect(await revoke()).toEqual({ revoked: true });
    await waitFor(() => published.includes(hashKey(secret)));
    expect(await check(secret)).toEqual({ valid: false });
    expect(await ensureKey(records, secret, { accountId: 1, name: 'again' })).toMatchObject({ created: false });
    expect(await check(secret)).toEqual({ valid: false });
    expect(await request(bus, revokeKey, { keySha256: hashKey(generateKey()) }, { timeoutMs: 3_000 })).toEqual({
      revoked: false,
    });
    received.stop();
  });

  it('finds the vehicle of a terminal, and returns the default clock for an unknown terminal', async () => {
    const imei = String(Math.trunc(1e10 + Math.random() * 9e10));
    const find = () => request(bus, findDevice, { imei }, { timeoutMs: 3_000 });
    expect(await find()).toEqual({
      known: false,
      accountId: null,
      vehicleId: null,
      cameraUtcOffset: '+08:00',
    });
    const vehicle = { accountId: 7, ownerUserId: 1, vehicleNo: 'ab 12', imei, cameraUtcOffset: '+05:30' };
    expect(await ensureVehicle(records, vehicle)).toMatchObject({ created: true, record: { vehicleNo: 'AB12' } });
    expect(await ensureVehicle(records, { ...vehicle, accountId: 8 })).toMatchObject({
      created: false,
      record: { accountId: 7 },
    });
    expect(await find()).toMatchObject({ known: true, accountId: 7, cameraUtcOffset: '+05:30' });
  });

  it('assigns unique ids, and creates one record for concurrent creators', async () => {
    const replicas = [records, new RecordStore(database)];
    const createdKeys = await Promise.all(
      Array.from({ length: 20 }, (_unused, i) => createKey(replicas[i % 2] ?? records, { accountId: 3, name: 'many' })),
    );
    expect(new Set(createdKeys).size).toBe(20);
    const ids = (await database.collection<ApiKey>('api_keys').find({ name: 'many' }).toArray()).map(({ _id }) => _id);
    expect(new Set(ids).size).toBe(20);
    const email = `race-${randomBytes(4).toString('hex')}@fleet.example`;
    const race = await Promise.all(
      Array.from({ length: 4 }, () => ensureOwner(records, { email, password: '0123456789', accountName: 'Race' })),
    );
    expect(race.filter(({ created }) => created)).toHaveLength(1);
    expect(new Set(race.map(({ user }) => user._id)).size).toBe(1);
    expect(await database.collection<Account>('accounts').countDocuments({ name: 'Race' })).toBe(1);
  });

  it('takes over a unique value from a creator that crashed before it inserted its record', async () => {
    await database.collection<{ _id: string; recordId: number }>('unique_values').insertOne({
      _id: 'vehicles.imei:4711',
      recordId: 900_001,
    });
    const vehicle = { accountId: 1, ownerUserId: 1, vehicleNo: 'X', imei: '4711' };
    expect(await ensureVehicle(records, vehicle)).toMatchObject({ created: true, record: { imei: '4711' } });
  });

  it('serves a start page without external resources', async () => {
    const response = await get('/');
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toContain('text/html');
    const page = await response.text();
    expect(page).toContain('/api/v1/docs');
    expect(page).not.toMatch(/https?:\/\//);
    const docs = await fetch(`http://127.0.0.1:${service.httpPort}/docs`);
    expect([docs.status, new URL(docs.url).pathname]).toEqual([200, '/docs/']);
  });

  it('returns errors in the format of the Platform API, and 401 under /api without a key', async () => {
    const unknown = await get('/nothing', { 'x-request-id': 'abc.1' });
    expect(unknown.status).toBe(404);
    expect(unknown.headers.get('x-request-id')).toBe('abc.1');
    expect(await unknown.json()).toEqual({
      status: 404,
      error: 'There is no GET /nothing.',
      code: 'not_found',
      request_id: 'abc.1',
    });
    expect(await (await get('/api/nothing')).json()).toMatchObject({ status: 401, code: 'api_key_missing' });
    const wrong = await get('/api/nothing', { 'x-api-key': generateKey() });
    expect(await wrong.json()).toMatchObject({ status: 401, code: 'api_key_invalid' });
    expect(await (await get('/api/nothing', { 'x-api-key': key })).json()).toMatchObject({ code: 'not_found' });
  });

  it('serves health and metrics on the admin port only', async () => {
    expect((await fetch(`${adminBase()}/livez`)).status).toBe(200);
    expect(await (await fetch(`${adminBase()}/metrics`)).text()).toContain('service="platform-api"');
    const statuses = ['/livez', '/readyz', '/metrics'].map(async (path) => (await get(path)).status);
    expect(await Promise.all(statuses)).toEqual([404, 404, 404]);
  });
});

describe('platform-api without its database', () => {
  it('starts, fails key checks instead of reporting invalid keys, and becomes ready once the database is available', async () => {
    const mongo = await ServerProcess.mongo();
    const key = generateKey();
    const notReady = settings({
      MONGODB_URL: `mongodb://127.0.0.1:${mongo.port}/late`,
      BOOTSTRAP_OWNER_EMAIL: 'late@fleet.example',
      BOOTSTRAP_OWNER_PASSWORD: '0123456789',
      BOOTSTRAP_API_KEY: key,
    });
    const service = await create(notReady, { log: silent });
    const bus = await openBus(natsUrl(), { name: 'platform-api-test', log: silent });
    const get = (path: string) =>
      fetch(`http://127.0.0.1:${service.httpPort}${path}`, { headers: { 'x-api-key': key } });
    const check = () => request(bus, verifyKey, { keySha256: hashKey(key) }, { timeoutMs: 10_000 });
    try {
      const getReadiness = () => fetch(`http://127.0.0.1:${service.adminPort}/readyz`);
      const ready = await getReadiness();
      expect(ready.status).toBe(503);
      expect(await ready.json()).toMatchObject({
        checks: { message_broker: true, migrations: false, database: false },
      });
      expect(await readSchemaVersion(service, 'applied')).toBe(0);
      await expect(check()).rejects.toMatchObject({ name: 'BusError', kind: 'failed' });
      expect(await (await get('/api/x')).json()).toMatchObject({ status: 503, code: 'unavailable' });

      await mongo.start();
      await waitFor(async () => (await getReadiness()).status === 200);
      expect(await check()).toMatchObject({ valid: true });
      expect((await get('/api/x')).status).toBe(404);
      expect(await readSchemaVersion(service, 'applied')).toBe(await readSchemaVersion(service, 'required'));
    } finally {
      await bus.close();
      await service.stop();
      await mongo.remove();
    }
  }, 120_000);
});
