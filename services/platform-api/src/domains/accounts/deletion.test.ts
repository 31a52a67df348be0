import { request, verifyKey } from '@fleet/bus';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createAccountHooks } from '../../assembly/account-hooks.ts';
import { createUserErasers } from '../../assembly/user-hooks.ts';
import { accountRetention, sharedCollections } from '../../store/retention-policies.ts';
import { type FakeMediaPod, mediaPodId, openFakeMediaPod } from '../../testing/fake-media-pod.ts';
import { PlatformHarness, type Tenant, type TestUser, testPassword } from '../../testing/platform-harness.ts';
import { makeTenantData, type TenantData } from '../../testing/tenant-data.ts';
import { hashKey } from '../api-keys/rules.ts';
import { eraseUsers } from '../users/erasure.ts';
import { processDeletedAccounts } from './deletion.ts';
import type { Account } from './schema.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(120_000);

let harness: PlatformHarness;
let pod: FakeMediaPod;
let dealers: Tenant;
let dealer: TestUser;
let staff: TestUser;
beforeAll(async () => {
  harness = await PlatformHarness.open();
  // An account counts as erased only once its files are removed.
  pod = await openFakeMediaPod(harness.bus, mediaPodId);
  dealers = await harness.tenant('Dealer');
  dealer = await harness.user('dealer', dealers);
  staff = await harness.user('superadmin', await harness.tenant('Operator'));
});
afterAll(async () => {
  await pod?.close();
  await harness?.close();
});

const confirmed = { confirm: 'DELETE' };
const accounts = () => harness.records.collection<Account>('accounts');

/** Creates a customer account of the dealer with records of every kind. */
async function customer(mark: string): Promise<{ data: TenantData; path: string }> {
  const tenant = await harness.tenant(`${mark} account`);
  await accounts().updateOne({ _id: tenant.accountId }, { $set: { dealerAccountId: dealers.accountId } });
  return { data: await makeTenantData(harness, tenant, mark), path: `/api/accounts/${tenant.accountId}` };
}

/** Returns all documents of the database with the collection of each. */
async function everything(): Promise<{ name: string; text: string; document: Record<string, unknown> }[]> {
  const { db } = harness.deps.database;
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
  it('allows the owner and the operator only, and requires a confirmation', async () => {
    const { data, path } = await customer('REFUSED');
    const { owner } = data.tenant;
    for (const role of ['admin', 'manager', 'viewer', 'driver'] as const) {
      const user = harness.as(await harness.user(role, data.tenant));
      expect((await user.delete(path, {}, confirmed)).body).toMatchObject({ status: 403, code: 'permission_denied' });
    }
    for (const body of [undefined, {}, { confirm: 'yes' }])
      expect((await harness.as(owner).delete(path, {}, body)).status).toBe(400);
    expect((await harness.as(harness.ours.owner).delete(path, {}, confirmed)).status).toBe(404);
    const own = `/api/accounts/${dealers.accountId}`;
    expect((await harness.as(dealer).delete(own, {}, confirmed)).status).toBe(403);
    // The account still has a customer account of its own.
    expect((await harness.as(owner).delete(path, {}, confirmed)).body).toMatchObject({ status: 409, code: 'in_use' });
    expect((await harness.as(owner).get(path)).status).toBe(200);
  });

  it('revokes sessions, keys and links immediately, and releases unique values', async () => {
    const { data, path } = await customer('ENDED');
    const { owner } = data.tenant;
    const client = harness.as(owner);
    const { names } = data;
    const login = { identifier: owner.email, password: testPassword };
    const { data: tokens } = await harness.anonymous.post('/api/auth/login', login);
    const verdict = () => request(harness.bus, verifyKey, { keySha256: hashKey(owner.apiKey) }, { timeoutMs: 5_000 });
    const shared = harness.as(harness.ours.owner);
    await client.post('/api/vehicle/share-vehicles', {
      secondaryUser: harness.ours.owner.id,
      vehicles: [names['vehicle']],
    });
    expect((await shared.get(`/api/vehicles/${names['vehicle']}`)).status).toBe(200);
    expect(await verdict()).toMatchObject({ valid: true });

    const below = `/api/accounts/${names['account']}`;
    expect((await harness.as(data.dealer).delete(below, {}, confirmed)).status).toBe(403);
    expect((await harness.as(staff).delete(below, {}, confirmed)).status).toBe(200);
    const deleted = await client.delete(path, {}, confirmed);
    expect(deleted).toMatchObject({ status: 200, data: { id: data.tenant.accountId, name: 'ENDED account' } });
    expect((await harness.anonymous.get(`/api/public/share-links/${names['slug']}`)).body).toMatchObject({
      code: 'share_link_revoked',
    });
    expect(await verdict()).toEqual({ valid: false });
    await waitFor(async () => (await client.get('/api/vehicles')).status === 401);
    expect((await harness.with({ authorization: `Bearer ${owner.token}` }).get('/api/auth/me')).status).toBe(401);
    const refreshed = await harness.anonymous.post('/api/auth/refresh', { refresh_token: tokens['refresh_token'] });
    expect(refreshed.status).toBe(401);
    expect((await harness.anonymous.post('/api/auth/login', login)).status).toBeGreaterThanOrEqual(401);
    expect((await harness.as(dealer).get(path)).status).toBe(404);
    expect((await harness.as(staff).delete(path, {}, confirmed)).status).toBe(404);
    expect((await harness.as(dealer).get('/api/accounts?limit=200')).items.map(({ id }) => id)).not.toContain(
      data.tenant.accountId,
    );

    await waitFor(async () => (await accounts().findOne({ _id: data.tenant.accountId }))?.isEnded === true);
    expect((await shared.get(`/api/vehicles/${names['vehicle']}`)).status).toBe(404);
    const taken = await shared.post('/api/vehicles', { vehicle_no: 'FREE 1', imei: names['imei'] });
    expect(taken.status).toBe(201);
    const remaining = (await everything()).filter(({ document }) => document['accountId'] === data.tenant.accountId);
    const ending = new Set(remaining.map(({ name }) => accountRetention[name]));
    expect([...ending]).not.toContain('at once');
    const entries = remaining.filter(({ name }) => name === 'audit_log').map(({ document }) => document['action']);
    expect(entries).toContain('accounts.delete');
  });

  it('completes a deletion after a crash, and removes personal fields after ERASURE_DAYS', async () => {
    const { data } = await customer('ERASED');
    const { accountId, owner } = data.tenant;
    const { imei, phone, slug, account } = data.names;
    await accounts().updateMany(
      { _id: { $in: [accountId, Number(account)] } },
      { $set: { deletedAt: new Date(), isEnded: false } },
    );
    await processDeletedAccounts(harness.deps, createAccountHooks(harness.deps));
    expect(await accounts().findOne({ _id: accountId })).toMatchObject({ isEnded: true, erasedAt: null });
    const devices = harness.deps.database.collection<{ _id: string; accounts: object }>('partner_devices');
    await devices.insertOne({ _id: 'a device', accounts: { [accountId]: null, [harness.ours.accountId]: null } });
    const personal = ['ERASED', 'erased-', owner.email, String(phone), String(imei), String(slug)];
    const findPersonalData = async () =>
      (await everything()).filter(({ text }) => personal.some((part) => text.includes(part)));
    expect((await findPersonalData()).length).toBeGreaterThan(0);

    const days = harness.deps.config.ERASURE_DAYS;
    const inDays = (count: number): Date => new Date(Date.now() + count * 86_400_000);
    await processDeletedAccounts(harness.deps, createAccountHooks(harness.deps), inDays(days - 1));
    expect(await accounts().findOne({ _id: accountId })).toMatchObject({ erasedAt: null });
    await processDeletedAccounts(harness.deps, createAccountHooks(harness.deps), inDays(days));
    expect(await accounts().findOne({ _id: accountId })).toMatchObject({
      name: 'Deleted account',
      erasedAt: expect.any(Date),
    });
    expect((await findPersonalData()).map(({ name, text }) => `${name} ${text}`)).toEqual([]);
    const remaining = (await everything()).filter(({ document }) => document['accountId'] === accountId);
    expect([...new Set(remaining.map(({ name }) => name))].toSorted()).toEqual(['audit_log', 'orders']);
    expect((await devices.findOne({ _id: 'a device' }))?.accounts).toEqual({ [harness.ours.accountId]: null });
    // The e-mail address and the number are free for other users.
    const again = { name: 'A', email: owner.email, password: testPassword, account_name: 'A' };
    expect((await harness.anonymous.post('/api/auth/register', again)).status).toBe(201);
  });
});

describe('removed users', () => {
  it('erases numbers, texts and addresses of a removed user after ERASURE_DAYS', async () => {
    const phone = '+14155557777';
    const user = await harness.user('viewer', harness.ours, {
      phoneNumber: phone,
      phoneVerifiedAt: new Date(),
    });
    const sms = { id: 'erasure-1', from: phone, to: '+14155550199', text: 'Meet me at home' };
    expect((await harness.as(user).put('/api/user-preferences/me', { theme: 'dark' })).status).toBe(200);
    const scopes = ['read', 'write', 'ingest'];
    const key = await harness.as(harness.ours.owner).post('/api/api-keys', { name: 'chat', scopes });
    const ingest = harness.with({
      'x-api-key': String(key.data['key']),
      authorization: `Bearer ${harness.ours.owner.token}`,
    });
    expect((await ingest.post('/api/chat-log/sms-provider-webhook', sms)).status).toBe(200);
    await harness.anonymous.post('/api/auth/login', { identifier: user.email, password: testPassword });
    expect((await harness.as(harness.ours.owner).delete(`/api/users/${user.id}`)).status).toBe(200);
    const findPersonalData = async () =>
      (await everything()).filter(
        ({ text, document }) =>
          [phone, user.email, sms.text].some((part) => text.includes(part)) ||
          (document['userId'] === user.id && typeof document['ip'] === 'string' && document['action'] !== undefined),
      );
    expect((await findPersonalData()).length).toBeGreaterThan(0);
    await eraseUsers(harness.deps, createUserErasers(harness.deps));
    expect((await findPersonalData()).length).toBeGreaterThan(0);
    await eraseUsers(
      harness.deps,
      createUserErasers(harness.deps),
      new Date(Date.now() + harness.deps.config.ERASURE_DAYS * 86_400_000),
    );
    expect((await findPersonalData()).map(({ name, text }) => `${name} ${text}`)).toEqual([]);
  });
});

describe('retention policies of collections', () => {
  it("covers every collection of the database, and no account's documents are in shared collections", async () => {
    await makeTenantData(harness, harness.theirs, 'ALLOFIT');
    const all = await everything();
    const names = [...new Set(all.map(({ name }) => name))];
    expect(names.filter((name) => !(name in accountRetention) && !sharedCollections.includes(name))).toEqual([]);
    const owned = all.filter(({ document }) => typeof document['accountId'] === 'number').map(({ name }) => name);
    expect([...new Set(owned)].filter((name) => sharedCollections.includes(name))).toEqual([]);
  });
});
