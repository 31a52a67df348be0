import { readdirSync, readFileSync } from 'node:fs';
import { call, verifyKey } from '@fleet/bus';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { until } from '../../../../../libs/service-kit/src/testing/server-process.ts';
import { accountData, commonData } from '../../store/account-data.ts';
import { type MediaPod, mediaPodId, openMediaPod } from '../../testing/media-pod.ts';
import { PlatformWorld, type Tenant, type TestUser, testPassword } from '../../testing/platform-world.ts';
import { makeTenantData, type TenantData } from '../../testing/tenant-data.ts';
import { keyHash } from '../api-keys/rules.ts';
import { eraseUsers } from '../users/erasure.ts';
import { sweepDeletedAccounts } from './deletion.ts';
import type { Account } from './schema.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(120_000);

let world: PlatformWorld;
let pod: MediaPod;
let dealers: Tenant;
let dealer: TestUser;
let staff: TestUser;
beforeAll(async () => {
  world = await PlatformWorld.open();
  // Files are removed before an account counts as erased.
  pod = await openMediaPod(world.bus, mediaPodId);
  dealers = await world.tenant('Dealer');
  dealer = await world.user('dealer', dealers);
  staff = await world.user('superadmin', await world.tenant('Operator'));
});
afterAll(async () => {
  await pod?.close();
  await world?.close();
});

const confirmed = { confirm: 'DELETE' };
const accounts = () => world.records.collection<Account>('accounts');

/** An account below the dealer, with something of everything. */
async function customer(mark: string): Promise<{ data: TenantData; path: string }> {
  const tenant = await world.tenant(`${mark} account`);
  await accounts().updateOne({ _id: tenant.accountId }, { $set: { dealerAccountId: dealers.accountId } });
  return { data: await makeTenantData(world, tenant, mark), path: `/api/accounts/${tenant.accountId}` };
}

/** All documents of the database that tell of an account, with the collection that each is in. */
async function everything(): Promise<{ name: string; text: string; document: Record<string, unknown> }[]> {
  const { db } = world.deps.database;
  const names = (await db.listCollections().toArray()).map(({ name }) => name);
  const found = await Promise.all(
    names.map(async (name) =>
      (await db.collection(name).find({}).toArray()).map((document) => ({
        name,
        text: JSON.stringify(document),
        document,
      })),
    ),
  );
  return found.flat();
}

describe('DELETE /api/accounts/:id', () => {
  it('is for the owner and the operator, and asks for a confirmation', async () => {
    const { data, path } = await customer('REFUSED');
    const { owner } = data.tenant;
    for (const role of ['admin', 'manager', 'viewer', 'driver'] as const) {
      const user = world.as(await world.user(role, data.tenant));
      expect((await user.delete(path, {}, confirmed)).body).toMatchObject({ status: 403, code: 'permission_denied' });
    }
    for (const body of [undefined, {}, { confirm: 'yes' }])
      expect((await world.as(owner).delete(path, {}, body)).status).toBe(400);
    expect((await world.as(world.ours.owner).delete(path, {}, confirmed)).status).toBe(404);
    const own = `/api/accounts/${dealers.accountId}`;
    expect((await world.as(dealer).delete(own, {}, confirmed)).status).toBe(403);
    // It has a customer of its own.
    expect((await world.as(owner).delete(path, {}, confirmed)).body).toMatchObject({ status: 409, code: 'in_use' });
    expect((await world.as(owner).get(path)).status).toBe(200);
  });

  it('ends sessions, keys and links at once, and frees what others may want', async () => {
    const { data, path } = await customer('ENDED');
    const { owner } = data.tenant;
    const client = world.as(owner);
    const { names } = data;
    const login = { identifier: owner.email, password: testPassword };
    const { data: tokens } = await world.anonymous.post('/api/auth/login', login);
    const verdict = () => call(world.bus, verifyKey, { keySha256: keyHash(owner.apiKey) }, { timeoutMs: 5_000 });
    const shared = world.as(world.ours.owner);
    await client.post('/api/vehicle/share-vehicles', {
      secondaryUser: world.ours.owner.id,
      vehicles: [names['vehicle']],
    });
    expect((await shared.get(`/api/vehicles/${names['vehicle']}`)).status).toBe(200);
    expect(await verdict()).toMatchObject({ valid: true });

    const below = `/api/accounts/${names['account']}`;
    expect((await world.as(data.dealer).delete(below, {}, confirmed)).status).toBe(403);
    expect((await world.as(staff).delete(below, {}, confirmed)).status).toBe(200);
    const deleted = await client.delete(path, {}, confirmed);
    expect(deleted).toMatchObject({ status: 200, data: { id: data.tenant.accountId, name: 'ENDED account' } });
    expect((await world.anonymous.get(`/api/public/share-links/${names['slug']}`)).body).toMatchObject({
      code: 'share_link_revoked',
    });
    expect(await verdict()).toEqual({ valid: false });
    await until(async () => (await client.get('/api/vehicles')).status === 401);
    expect((await world.with({ authorization: `Bearer ${owner.token}` }).get('/api/auth/me')).status).toBe(401);
    const refreshed = await world.anonymous.post('/api/auth/refresh', { refresh_token: tokens['refresh_token'] });
    expect(refreshed.status).toBe(401);
    expect((await world.anonymous.post('/api/auth/login', login)).status).toBeGreaterThanOrEqual(401);
    expect((await world.as(dealer).get(path)).status).toBe(404);
    expect((await world.as(staff).delete(path, {}, confirmed)).status).toBe(404);
    expect((await world.as(dealer).get('/api/accounts?limit=200')).items.map(({ id }) => id)).not.toContain(
      data.tenant.accountId,
    );

    await until(async () => (await accounts().findOne({ _id: data.tenant.accountId }))?.isEnded === true);
    expect((await shared.get(`/api/vehicles/${names['vehicle']}`)).status).toBe(404);
    const taken = await shared.post('/api/vehicles', { vehicle_no: 'FREE 1', imei: names['imei'] });
    expect(taken.status).toBe(201);
    const left = (await everything()).filter(({ document }) => document['accountId'] === data.tenant.accountId);
    const ending = new Set(left.map(({ name }) => accountData[name]));
    expect([...ending]).not.toContain('at once');
    const entries = left.filter(({ name }) => name === 'audit_log').map(({ document }) => document['action']);
    expect(entries).toContain('accounts.delete');
  });

  it('is carried on by a sweep where a process has died, and removes personal fields within its days', async () => {
    const { data } = await customer('ERASED');
    const { accountId, owner } = data.tenant;
    const { imei, phone, slug, account } = data.names;
    await accounts().updateMany(
      { _id: { $in: [accountId, Number(account)] } },
      { $set: { deletedAt: new Date(), isEnded: false } },
    );
    await sweepDeletedAccounts(world.deps);
    expect(await accounts().findOne({ _id: accountId })).toMatchObject({ isEnded: true, erasedAt: null });
    const devices = world.deps.database.collection<{ _id: string; accounts: object }>('partner_devices');
    await devices.insertOne({ _id: 'a device', accounts: { [accountId]: null, [world.ours.accountId]: null } });
    const personal = ['ERASED', 'erased-', owner.email, String(phone), String(imei), String(slug)];
    const telling = async () => (await everything()).filter(({ text }) => personal.some((part) => text.includes(part)));
    expect((await telling()).length).toBeGreaterThan(0);

    const days = world.deps.config.ERASURE_DAYS;
    const later = (count: number): Date => new Date(Date.now() + count * 86_400_000);
    await sweepDeletedAccounts(world.deps, later(days - 1));
    expect(await accounts().findOne({ _id: accountId })).toMatchObject({ erasedAt: null });
    await sweepDeletedAccounts(world.deps, later(days));
    expect(await accounts().findOne({ _id: accountId })).toMatchObject({
      name: 'Deleted account',
      erasedAt: expect.any(Date),
    });
    expect((await telling()).map(({ name, text }) => `${name} ${text}`)).toEqual([]);
    const left = (await everything()).filter(({ document }) => document['accountId'] === accountId);
    expect([...new Set(left.map(({ name }) => name))].toSorted()).toEqual(['audit_log', 'orders']);
    expect((await devices.findOne({ _id: 'a device' }))?.accounts).toEqual({ [world.ours.accountId]: null });
    // The number and the e-mail are anybody's.
    const again = { name: 'A', email: owner.email, password: testPassword, account_name: 'A' };
    expect((await world.anonymous.post('/api/auth/register', again)).status).toBe(201);
  });
});

describe('users who are removed', () => {
  it('leave no numbers, texts and addresses behind after the same days', async () => {
    const phone = '+14155557777';
    const user = await world.user('viewer', world.ours, {
      phoneNumber: phone,
      phoneVerifiedAt: new Date(),
    });
    const sms = { id: 'erasure-1', from: phone, to: '+14155550199', text: 'Meet me at home' };
    expect((await world.as(user).put('/api/user-preferences/me', { theme: 'dark' })).status).toBe(200);
    const scopes = ['read', 'write', 'ingest'];
    const key = await world.as(world.ours.owner).post('/api/api-keys', { name: 'chat', scopes });
    const ingest = world.with({
      'x-api-key': String(key.data['key']),
      authorization: `Bearer ${world.ours.owner.token}`,
    });
    expect((await ingest.post('/api/chat-log/sms-provider-webhook', sms)).status).toBe(200);
    await world.anonymous.post('/api/auth/login', { identifier: user.email, password: testPassword });
    expect((await world.as(world.ours.owner).delete(`/api/users/${user.id}`)).status).toBe(200);
    const telling = async () =>
      (await everything()).filter(
        ({ text, document }) =>
          [phone, user.email, sms.text].some((part) => text.includes(part)) ||
          (document['userId'] === user.id && typeof document['ip'] === 'string' && document['action'] !== undefined),
      );
    expect((await telling()).length).toBeGreaterThan(0);
    await eraseUsers(world.deps);
    expect((await telling()).length).toBeGreaterThan(0);
    await eraseUsers(world.deps, new Date(Date.now() + world.deps.config.ERASURE_DAYS * 86_400_000));
    expect((await telling()).map(({ name, text }) => `${name} ${text}`)).toEqual([]);
  });
});

describe('what becomes of the documents of an account', () => {
  const roots = ['../../', '../../../../../libs/storage/src/'].map((path) => new URL(path, import.meta.url));

  it('is said of every collection that the sources name', () => {
    const sources = roots.flatMap((root) =>
      readdirSync(root, { recursive: true, encoding: 'utf8' })
        .filter((path) => path.endsWith('.ts') && !path.endsWith('.test.ts') && !path.startsWith('testing'))
        .map((path) => new URL(path, root)),
    );
    const patterns = [
      /collection(?:<[^;=]*?>)?\(\s*'([a-z_]+)'/g,
      /AccountRecords(?:<\w+>)?\(\s*records,\s*'([a-z_]+)'/g,
      /new \w+\(database, '([a-z_]+)'\)/g,
    ];
    const named = sources.flatMap((path) => {
      const text = readFileSync(path, 'utf8');
      return patterns.flatMap((pattern) => [...text.matchAll(pattern)].map(([, name]) => name ?? ''));
    });
    const unknown = [...new Set(named)].filter((name) => !(name in accountData) && !commonData.includes(name));
    expect(unknown.toSorted()).toEqual([]);
  });

  it('is said of every collection that is there, and those of no account have none', async () => {
    await makeTenantData(world, world.theirs, 'ALLOFIT');
    const all = await everything();
    const names = [...new Set(all.map(({ name }) => name))];
    expect(names.filter((name) => !(name in accountData) && !commonData.includes(name))).toEqual([]);
    const owned = all.filter(({ document }) => typeof document['accountId'] === 'number').map(({ name }) => name);
    expect([...new Set(owned)].filter((name) => commonData.includes(name))).toEqual([]);
  });
});
