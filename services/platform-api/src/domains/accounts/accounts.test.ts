import { randomInt } from 'node:crypto';
import { findDevice, request, verifyKey } from '@fleet/bus';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { PlatformHarness, type Tenant, type TestUser, testPassword } from '../../testing/platform-harness.ts';
import { hashKey } from '../api-keys/rules.ts';
import { maxAccountDepth } from './account-status.ts';
import { createAccountFields } from './rules.ts';
import { insertAccount } from './store.ts';

// The tests use real servers; the machine may be busy.
jest.setTimeout(60_000);

let harness: PlatformHarness;
let staff: TestUser;
let dealers: Tenant;
let dealer: TestUser;
beforeAll(async () => {
  harness = await PlatformHarness.open();
  staff = await harness.user('superadmin', await harness.tenant('Operator'));
  dealers = await harness.tenant('Dealer');
  dealer = await harness.user('dealer', dealers);
});
afterAll(() => harness.close());

const newEmail = (): string => `person-${randomInt(1e12)}@fleet.example`;
const createAccount = async (by: TestUser, name: string, role?: string, email = newEmail()) => {
  const owner = { name: 'O', email, password: testPassword, ...(role === undefined ? {} : { role }) };
  const response = await harness.as(by).post('/api/accounts', { name, owner });
  return { response, email };
};
const logInToken = async (identifier: string): Promise<string> => {
  const response = await harness.anonymous.post('/api/auth/login', { identifier, password: testPassword });
  return String(response.data['access_token']);
};

describe('accounts', () => {
  it('lets dealers and the operator create an account with an owner who can log in', async () => {
    const { response, email } = await createAccount(dealer, 'Customer');
    expect(response.status).toBe(201);
    expect(response.data).toMatchObject({
      name: 'Customer',
      status: 'active',
      dealer_account_id: dealers.accountId,
      timezone: 'UTC',
      version: 1,
    });
    const me = await harness.with({ authorization: `Bearer ${await logInToken(email)}` }).get('/api/auth/me');
    expect(me.data).toMatchObject({ role: 'owner', account_id: response.data.id });
    expect((await createAccount(staff, 'By staff')).response.data).toMatchObject({ dealer_account_id: null });
    expect((await createAccount(harness.ours.owner, 'By an owner')).response.status).toBe(403);
    const taken = await createAccount(dealer, 'Taken', 'owner', harness.ours.owner.email);
    expect(taken.response.body).toMatchObject({ status: 409, code: 'duplicate' });
  });

  it('shows a dealer its own account and all accounts below it; responds 404 to all others', async () => {
    const customer = (await createAccount(dealer, 'Direct')).response.data.id;
    const sub = await createAccount(dealer, 'Sub-dealer', 'dealer');
    const subToken = await logInToken(sub.email);
    const subDealer = harness.with({ authorization: `Bearer ${subToken}` });
    const { data: me } = await subDealer.get('/api/auth/me');
    expect(me).toMatchObject({ role: 'dealer', account: { dealer_account_id: dealers.accountId } });
    const as = { ...dealer, token: subToken, apiKey: String(me['dashboard_api_key']) };
    const origin = { origin: 'http://127.0.0.1:8080' };
    const opened = await harness
      .as(as)
      .post('/api/accounts', { name: 'Deep', owner: { name: 'O', email: newEmail() } }, origin);
    const deep = opened.data.id;
    for (const id of [customer, sub.response.data.id, deep, dealers.accountId])
      expect((await harness.as(dealer).get(`/api/accounts/${id}`)).status).toBe(200);
    expect((await harness.as(as).get(`/api/accounts/${customer}`, origin)).status).toBe(404);
    expect((await harness.as(dealer).get(`/api/accounts/${harness.ours.accountId}`)).status).toBe(404);
    expect((await harness.as(harness.ours.owner).get(`/api/accounts/${harness.theirs.accountId}`)).status).toBe(404);
    expect((await harness.as(harness.ours.owner).get(`/api/accounts/${harness.ours.accountId}`)).status).toBe(200);
    const list = await harness.as(dealer).get('/api/accounts?sort=id&limit=200');
    expect(list.items.map(({ id }) => id)).toEqual(expect.arrayContaining([customer, sub.response.data.id, deep]));
    expect(list.items.map(({ id }) => id)).not.toContain(harness.ours.accountId);
    expect((await harness.as(dealer).get('/api/accounts?query=DEEP')).items).toMatchObject([{ id: deep }]);
    expect((await harness.as(staff).get('/api/accounts?limit=200')).items.map(({ id }) => id)).toContain(
      harness.ours.accountId,
    );
    expect((await harness.as(harness.ours.owner).get('/api/accounts')).status).toBe(403);
  });

  it('suspends users, keys and tokens of an account until it is active again', async () => {
    const { response, email } = await createAccount(dealer, 'Suspended');
    const path = `/api/accounts/${response.data.id}`;
    const token = await logInToken(email);
    const client = harness.with({ authorization: `Bearer ${token}` });
    const created = await client.post('/api/api-keys', { name: 'k' });
    const verdict = () =>
      request(harness.bus, verifyKey, { keySha256: hashKey(String(created.data['key'])) }, { timeoutMs: 5_000 });
    expect(await verdict()).toMatchObject({ valid: true });
    expect((await harness.as(dealer).put(path, { status: 'suspended' })).data).toMatchObject({ status: 'suspended' });
    await waitFor(async () => (await client.get('/api/auth/me')).status === 403);
    expect((await client.get('/api/auth/me')).body).toMatchObject({ code: 'account_suspended' });
    expect(await verdict()).toEqual({ valid: false });
    expect((await harness.as(dealer).put(path, { status: 'active' })).status).toBe(200);
    await waitFor(async () => (await client.get('/api/auth/me')).status === 200);
    expect(await verdict()).toMatchObject({ valid: true });
  });

  it('suspends all accounts below a suspended dealer until the dealer is active again', async () => {
    const sub = await createAccount(dealer, 'Sub-dealer to be suspended', 'dealer');
    const subToken = await logInToken(sub.email);
    const me = await harness.with({ authorization: `Bearer ${subToken}` }).get('/api/auth/me');
    const subDealer = harness.with({
      authorization: `Bearer ${subToken}`,
      'x-api-key': String(me.data['dashboard_api_key']),
      origin: 'http://127.0.0.1:8080',
    });
    const email = newEmail();
    const owner = { name: 'O', email, password: testPassword };
    const customer = (await subDealer.post('/api/accounts', { name: 'Customer of the sub-dealer', owner })).data;
    const login = await harness.anonymous.post('/api/auth/login', { identifier: email, password: testPassword });
    const client = harness.with({ authorization: `Bearer ${String(login.data['access_token'])}` });
    const scopes = ['read', 'write', 'command'];
    const created = await client.post('/api/api-keys', { name: 'k', scopes, can_mint_tokens: true });
    const key = String(created.data['key']);
    const both = harness.with({ authorization: `Bearer ${String(login.data['access_token'])}`, 'x-api-key': key });
    const refresh = () => harness.anonymous.post('/api/auth/refresh', { refresh_token: login.data['refresh_token'] });
    const verdict = () => request(harness.bus, verifyKey, { keySha256: hashKey(key) }, { timeoutMs: 5_000 });
    expect((await both.get('/api/vehicles')).status).toBe(200);
    expect(await verdict()).toMatchObject({ valid: true });

    const above = `/api/accounts/${dealers.accountId}`;
    expect((await harness.as(staff).put(above, { status: 'suspended' })).status).toBe(200);
    await waitFor(async () => (await both.get('/api/vehicles')).status === 403);
    const refused = [
      await both.get('/api/vehicles'),
      await client.get('/api/auth/me'),
      await subDealer.get('/api/accounts'),
      await harness.as(dealer).get('/api/accounts'),
      await refresh(),
      await harness.anonymous.post('/api/auth/login', { identifier: email, password: testPassword }),
      await harness.with({ 'x-api-key': key }).post('/api/auth/api-token'),
    ];
    for (const { body } of refused) expect(body).toMatchObject({ status: 403, code: 'account_suspended' });
    expect(await verdict()).toEqual({ valid: false });
    // Only the dealer's record is marked. Accounts below it are admitted with it, unless they are suspended themselves.
    expect((await harness.as(staff).get(`/api/accounts/${customer.id}`)).data).toMatchObject({ status: 'active' });
    expect((await harness.as(staff).put(above, { status: 'active' })).status).toBe(200);
    await waitFor(async () => (await both.get('/api/vehicles')).status === 200);
    expect(await verdict()).toMatchObject({ valid: true });
    expect(await logInToken(email)).not.toBe('undefined');
  });

  it('lets only an account above limit its streams', async () => {
    const { response, email } = await createAccount(dealer, 'Limited');
    const { data } = response;
    const path = `/api/accounts/${data.id}`;
    expect(data['max_streams']).toBeNull();
    const authorization = `Bearer ${await logInToken(email)}`;
    const me = await harness.with({ authorization }).get('/api/auth/me');
    const origin = 'http://127.0.0.1:8080';
    const owner = harness.with({ authorization, origin, 'x-api-key': String(me.data['dashboard_api_key']) });
    expect((await owner.put(path, { max_streams: 9 })).status).toBe(403);
    const imei = `1${String(randomInt(1e10)).padStart(11, '0')}`;
    const find = () => request(harness.bus, findDevice, { imei }, { timeoutMs: 5_000 });
    expect((await owner.post('/api/vehicles', { vehicle_no: 'LIMIT', imei })).status).toBe(201);
    expect(await find()).not.toHaveProperty('maxStreams');
    expect((await harness.as(dealer).put(path, { max_streams: 2 })).data).toMatchObject({ max_streams: 2 });
    expect(await find()).toMatchObject({ accountId: data.id, maxStreams: 2 });
    expect((await harness.as(dealer).put(path, { max_streams: null })).data).toMatchObject({ max_streams: null });
    expect(await find()).not.toHaveProperty('maxStreams');
  });

  it('lets an account change its own name but never its own status', async () => {
    const tenant = await harness.tenant('Old name');
    const path = `/api/accounts/${tenant.accountId}`;
    const owner = harness.as(tenant.owner);
    const changed = await owner.put(path, { name: 'New name', timezone: 'Asia/Kolkata' });
    expect(changed.data).toMatchObject({ name: 'New name', timezone: 'Asia/Kolkata', version: 2 });
    expect((await owner.put(path, { name: 'X' }, { 'if-match': '"1"' })).status).toBe(412);
    expect((await owner.put(path, { status: 'suspended' })).status).toBe(403);
    expect((await harness.as(await harness.user('manager', tenant)).put(path, { name: 'X' })).status).toBe(403);
    expect((await harness.as(dealer).put(`/api/accounts/${dealers.accountId}`, { status: 'suspended' })).status).toBe(
      403,
    );
    expect((await harness.as(harness.ours.owner).put(path, { name: 'X' })).status).toBe(404);
  });
});

describe('X-Account-Id', () => {
  it('lets staff act in any account and dealers read below theirs; responds 404 to all others', async () => {
    const customer = String((await createAccount(dealer, 'Acted in')).response.data.id);
    const inAccount = (id: number | string) => ({ 'x-account-id': String(id) });
    const created = await harness
      .as(staff)
      .post('/api/users', { name: 'By staff', email: newEmail(), role: 'viewer' }, inAccount(customer));
    expect(created.data).toMatchObject({ account_id: Number(customer) });
    // Staff are not users of the account: records they create belong to its first owner.
    const vehicle = await harness.as(staff).post('/api/vehicles', { vehicle_no: 'BY STAFF' }, inAccount(customer));
    const users = await harness.as(staff).get('/api/users?role=owner', inAccount(customer));
    expect(vehicle.data).toMatchObject({ account_id: Number(customer), owner_user_id: users.items[0]?.id });
    expect((await harness.as(staff).get('/api/audit-log', inAccount(customer))).items.length).toBeGreaterThan(0);
    expect((await harness.as(dealer).get(`/api/accounts/${customer}`, inAccount(customer))).status).toBe(200);
    for (const [user, id] of [
      [dealer, harness.ours.accountId],
      [harness.ours.owner, harness.theirs.accountId],
      [staff, 999_999],
      [staff, 'x'],
    ] as const)
      expect((await harness.as(user).get(`/api/accounts/${customer}`, inAccount(id))).body).toMatchObject({
        status: 404,
        code: 'not_found',
      });
    const change = await harness.as(dealer).put(`/api/accounts/${customer}`, { name: 'X' }, inAccount(customer));
    expect(change.status).toBe(403);
  });
});

describe('hierarchy of dealers', () => {
  it('rejects an account that a suspension from the top would not reach', async () => {
    const accounts = harness.deps.database.collection<{ _id: number }>('accounts');
    const above: number[] = [];
    for (let depth = 0; depth < maxAccountDepth; depth += 1) {
      const fields = createAccountFields({ name: `Above ${depth}`, dealerAccountId: above.at(-1) ?? null });
      above.push((await insertAccount(harness.records, fields))._id);
    }
    const createSubDealer = async (name: string, dealerAccountId: number | undefined) => {
      const tenant = await harness.tenant(name);
      await accounts.updateOne({ _id: tenant.accountId }, { $set: { dealerAccountId } });
      return harness.user('dealer', tenant);
    };
    const deepest = await createSubDealer('Deepest', above.at(-1));
    expect((await createAccount(deepest, 'Too deep')).response.body).toMatchObject({
      status: 409,
      code: 'limit_reached',
    });
    const lastButOne = await createSubDealer('Last but one', above.at(-2));
    expect((await createAccount(lastButOne, 'Deep')).response.status).toBe(201);
  });
});
