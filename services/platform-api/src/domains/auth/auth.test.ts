import { randomInt } from 'node:crypto';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type ApiResponse, PlatformHarness, testPassword } from '../../testing/platform-harness.ts';
import { createKey } from '../api-keys/use-cases.ts';

// The tests use real servers; the machine may be busy.
jest.setTimeout(60_000);

let harness: PlatformHarness;
beforeAll(async () => {
  harness = await PlatformHarness.open();
});
afterAll(() => harness.close());

const newPhone = (): string => `+9198${String(randomInt(1e8)).padStart(8, '0')}`;
const newEmail = (): string => `person-${randomInt(1e12)}@fleet.example`;
const post = (path: string, body: unknown, headers?: Record<string, string>) =>
  harness.anonymous.post(`/api/auth/${path}`, body, headers);
const login = (identifier: string, password = testPassword, more: object = {}) =>
  post('login', { identifier, password, ...more });
const getAccessToken = (response: ApiResponse): string => String(response.data['access_token']);
const getRefreshToken = (response: ApiResponse): string => String(response.data['refresh_token']);
const withToken = (token: string) => harness.with({ authorization: `Bearer ${token}` });
const me = (token: string) => withToken(token).get('/api/auth/me');
const tokenSet = {
  token_type: 'Bearer',
  access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
  expires_in: 3600,
  refresh_token: expect.stringMatching(/^rt_\d+\.[\w-]{32}\.[\w-]{32}$/),
  refresh_expires_in: 2_592_000,
};

describe('POST /api/auth/register', () => {
  it('creates an account with its owner and logs the owner in', async () => {
    const phone = newPhone();
    const response = await post('register', {
      name: 'Ann',
      email: ` ${newEmail().toUpperCase()}`.trim(),
      phone_number: phone.replace('+91', '+91 (').replace(/(.{9})/, '$1) '),
      password: testPassword,
      account_name: 'Ann & Sons',
    });
    expect(response.status).toBe(201);
    expect(response.data).toMatchObject(tokenSet);
    expect(response.headers.get('location')).toBe('/api/auth/me');
    expect(response.data['user']).toMatchObject({
      name: 'Ann',
      email: expect.stringMatching(/^person-\d+@fleet\.example$/),
      phone_number: phone,
      role: 'owner',
      two_factor_enabled: false,
      disabled: false,
      last_login_at: expect.any(String),
      version: 1,
    });
    const own = await me(getAccessToken(response));
    expect(own.data).toMatchObject({
      account: { name: 'Ann & Sons', status: 'active' },
      permissions: expect.arrayContaining(['fleet', 'administration', 'billing']),
      dashboard_api_key: expect.stringMatching(/^fk_[\w-]{43}$/),
    });
    expect((await me(getAccessToken(response))).data['dashboard_api_key']).toBe(own.data['dashboard_api_key']);
    expect((await login(phone)).status).toBe(200);
  });

  it('responds 409 to a taken e-mail or phone number and creates no account', async () => {
    const { email } = harness.ours.owner;
    const phone = newPhone();
    await harness.user('viewer', harness.theirs, { phoneNumber: phone });
    const accounts = () => harness.deps.database.collection('accounts').countDocuments();
    const before = await accounts();
    for (const contact of [{ email: email.toUpperCase() }, { phone_number: phone, email: newEmail() }])
      expect(
        (await post('register', { name: 'A', password: testPassword, account_name: 'A', ...contact })).body,
      ).toMatchObject({ status: 409, code: 'duplicate' });
    expect(await accounts()).toBe(before);
  });

  it.each([
    [{}, '/email'],
    [{ email: 'nobody' }, '/email'],
    [{ phone_number: '9876543210' }, '/phone_number'],
    [{ email: 'a@b', password: 'too short' }, '/password'],
    [{ email: 'a@b', name: ' ' }, '/name'],
    [{ email: 'a@b', account_name: 7 }, '/account_name'],
  ])('rejects %j with 400 and the path %s', async (fields, path) => {
    const response = await post('register', { name: 'A', password: testPassword, account_name: 'A', ...fields });
    expect(response.body).toMatchObject({
      status: 400,
      code: 'validation_failed',
      details: expect.arrayContaining([expect.objectContaining({ path })]),
    });
  });

  it('responds 403 if SIGNUP_ENABLED is false', async () => {
    const closed = await PlatformHarness.open({ SIGNUP_ENABLED: 'false' });
    try {
      const body = { name: 'A', email: newEmail(), password: testPassword, account_name: 'A' };
      expect((await closed.anonymous.post('/api/auth/register', body)).body).toMatchObject({
        status: 403,
        code: 'permission_denied',
      });
    } finally {
      await closed.close();
    }
  });
});

describe('POST /api/auth/login', () => {
  it('accepts an e-mail in any case and a phone number in any spelling', async () => {
    const phone = newPhone();
    const user = await harness.user('viewer', harness.ours, { phoneNumber: phone });
    for (const identifier of [user.email, ` ${user.email.toUpperCase()} `, phone, phone.replace('+91', '+91-')]) {
      const response = await login(identifier);
      expect(response.status).toBe(200);
      expect(response.data).toMatchObject({ ...tokenSet, user: { id: user.id, role: 'viewer' } });
    }
  });

  it('responds with the same 401 to a wrong password, an unknown identifier, a disabled user and a user without a password', async () => {
    const user = await harness.user('viewer');
    const disabled = await harness.user('viewer', harness.ours, { disabled: true });
    const invited = await harness.user('viewer', harness.ours, { passwordHash: null });
    const responses = [
      await login(user.email, 'wrong password'),
      await login(newEmail()),
      await login(newPhone()),
      await login('nonsense'),
      await login(disabled.email),
      await login(invited.email),
    ];
    const bodies = responses.map(({ body }) => ({ ...(body as object), request_id: '' }));
    expect(bodies[0]).toMatchObject({ status: 401, code: 'invalid_credentials' });
    for (const body of bodies) expect(body).toEqual(bodies[0]);
  });

  it('takes about the same time for unknown and known identifiers', async () => {
    const user = await harness.user('viewer');
    const measureLogIn = async (identifier: string): Promise<number> => {
      const startedAt = performance.now();
      await login(identifier, 'wrong password');
      return performance.now() - startedAt;
    };
    await measureLogIn(newEmail());
    const known: number[] = [];
    const unknown: number[] = [];
    for (let no = 0; no < 4; no += 1) {
      known.push(await measureLogIn(user.email));
      unknown.push(await measureLogIn(newEmail()));
    }
    // The hash takes longer than everything else. Without it, the shortest time would be far below the limit.
    expect(Math.min(...unknown)).toBeGreaterThan(Math.min(...known) / 3);
  });

  it('locks an identifier for 15 minutes after five failures, known or not, even for the right password', async () => {
    const user = await harness.user('viewer');
    for (const identifier of [user.email, newEmail()]) {
      for (let no = 0; no < 5; no += 1) expect((await login(identifier, 'wrong password')).status).toBe(401);
      const locked = await login(identifier.toUpperCase());
      expect(locked.body).toMatchObject({ status: 429, code: 'rate_limited' });
      expect(Number(locked.headers.get('retry-after'))).toBeGreaterThan(800);
      expect(Number(locked.headers.get('retry-after'))).toBeLessThanOrEqual(900);
    }
    const failures = harness.deps.database.collection('log_in_failures');
    await failures.updateMany({}, { $set: { expiresAt: new Date(Date.now() - 1) } });
    expect((await login(user.email)).status).toBe(200);
  });

  it('applies the lock to concurrent attempts; a success resets the count', async () => {
    const user = await harness.user('viewer');
    for (let round = 0; round < 2; round += 1) {
      for (let no = 0; no < 4; no += 1) expect((await login(user.email, 'wrong password')).status).toBe(401);
      expect((await login(user.email)).status).toBe(200);
    }
    const attempts = await Promise.all(Array.from({ length: 12 }, () => login(user.email, 'wrong password')));
    expect(attempts.filter(({ status }) => status === 401)).toHaveLength(5);
    expect(attempts.filter(({ status }) => status === 429)).toHaveLength(7);
  });

  it('writes log-ins and failed log-ins to the audit log', async () => {
    const tenant = await harness.tenant('Audited');
    const readLog = () => harness.as(tenant.owner).get('/api/audit-log');
    await login(tenant.owner.email, 'wrong password');
    await waitFor(async () => (await readLog()).items.length === 1);
    await login(tenant.owner.email);
    const log = await readLog();
    expect(log.items).toMatchObject([
      { action: 'auth.login', user_id: tenant.owner.id, detail: { by: 'password' } },
      { action: 'auth.login-failed', target: { type: 'users', id: tenant.owner.id } },
    ]);
  });

  it('rejects a user of a suspended account', async () => {
    const tenant = await harness.tenant('Suspended');
    const accounts = harness.deps.database.collection<{ _id: number }>('accounts');
    await accounts.updateOne({ _id: tenant.accountId }, { $set: { status: 'suspended' } });
    expect((await login(tenant.owner.email)).body).toMatchObject({ status: 403, code: 'account_suspended' });
  });
});

describe('refresh and log-out', () => {
  const refresh = (token: string) => post('refresh', { refresh_token: token });

  it('accepts each refresh token once and returns the next one', async () => {
    const user = await harness.user('viewer');
    const first = await refresh(user.refreshToken);
    expect(first.data).toMatchObject({ ...tokenSet, user: { id: user.id } });
    const second = await refresh(getRefreshToken(first));
    expect(second.status).toBe(200);
    expect((await me(getAccessToken(second))).status).toBe(200);
  });

  it('ends the session and its access tokens when a token is reused, but not for a forged token', async () => {
    const user = await harness.user('viewer');
    const next = await refresh(user.refreshToken);
    const forged = getRefreshToken(next).replace(/\.[\w-]{32}\./, `.${'A'.repeat(32)}.`);
    for (const token of [forged, 'rt_1', 'x', `rt_999999.${'A'.repeat(32)}.${'A'.repeat(32)}`])
      expect((await refresh(token)).body).toMatchObject({ status: 401, code: 'token_invalid' });
    expect((await me(user.token)).status).toBe(200);
    expect((await refresh(user.refreshToken)).body).toMatchObject({ status: 401, code: 'token_invalid' });
    await waitFor(async () => (await me(user.token)).status === 401);
    expect((await me(getAccessToken(next))).status).toBe(401);
    expect((await refresh(getRefreshToken(next))).status).toBe(401);
  });

  it('treats one of two concurrent refreshes as a reuse', async () => {
    const user = await harness.user('viewer');
    const both = await Promise.all([refresh(user.refreshToken), refresh(user.refreshToken)]);
    expect(both.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 401]);
    await waitFor(async () => (await me(user.token)).status === 401);
  });

  it('ends the session and its tokens everywhere at log-out', async () => {
    const user = await harness.user('viewer');
    expect((await me(user.token)).status).toBe(200);
    expect((await withToken(user.token).post('/api/auth/logout')).status).toBe(200);
    await waitFor(async () => (await me(user.token)).status === 401);
    expect((await refresh(user.refreshToken)).status).toBe(401);
    const log = await harness.as(harness.ours.owner).get(`/api/audit-log?action=auth.logout&user_id=${user.id}`);
    expect(log.items).toMatchObject([{ target: { type: 'sessions', id: user.sessionId } }]);
  });
});

describe('POST /api/auth/api-token', () => {
  const mint = (key: string) => harness.with({ 'x-api-key': key }).post('/api/auth/api-token');

  it('mints tokens for permitted keys, without a refresh token, valid until the key is revoked', async () => {
    const { owner } = harness.ours;
    const created = await withToken(owner.token).post('/api/api-keys', { name: 'server', can_mint_tokens: true });
    const key = String(created.data['key']);
    const minted = await mint(key);
    expect(minted.data).toMatchObject({ ...tokenSet, refresh_token: null, user: { id: owner.id } });
    const server = harness.with({ 'x-api-key': key, authorization: `Bearer ${getAccessToken(minted)}` });
    expect((await server.get('/api/audit-log')).status).toBe(200);
    expect((await me(getAccessToken(minted))).data['dashboard_api_key']).toBeNull();
    expect((await withToken(getAccessToken(minted)).post('/api/auth/logout')).status).toBe(409);
    await withToken(owner.token).delete(`/api/api-keys/${created.data.id}`);
    await waitFor(async () => (await me(getAccessToken(minted))).status === 401);
    expect((await mint(key)).status).toBe(401);
  });

  it('limits a minted token to the scopes of its key, also when it creates a key', async () => {
    const scopes = ['write', 'video'];
    const created = await withToken(harness.ours.owner.token).post('/api/api-keys', {
      name: 'server',
      scopes,
      can_mint_tokens: true,
    });
    const minted = withToken(getAccessToken(await mint(String(created.data['key']))));
    const refused = { status: 403, code: 'permission_denied' };
    expect((await minted.get('/api/api-keys')).body).toMatchObject(refused);
    expect((await minted.post('/api/api-keys', { name: 'more', scopes: ['video', 'read'] })).body).toMatchObject(
      refused,
    );
    expect((await minted.post('/api/api-keys', { name: 'same' })).data).toMatchObject({ scopes });
    expect((await minted.get('/api/auth/me')).status).toBe(200);
    const log = await harness.as(harness.ours.owner).get('/api/audit-log?action=api-keys.create&limit=1');
    expect(log.items[0]).toMatchObject({ api_key_id: created.data.id, ip: expect.stringContaining('127.0.0.1') });
  });

  it('rejects other keys and the dashboard key', async () => {
    const key = await createKey(harness.records, { accountId: harness.ours.accountId, name: 'plain' });
    expect((await mint(key)).body).toMatchObject({ status: 403, code: 'permission_denied' });
    const own = await me(harness.ours.owner.token);
    expect((await mint(String(own.data['dashboard_api_key']))).status).toBe(403);
  });
});

describe('GET and DELETE /api/auth/sessions', () => {
  it("lists the user's open sessions and ends one", async () => {
    const user = await harness.user('viewer');
    const other = await login(user.email);
    const list = await withToken(user.token).get('/api/auth/sessions');
    expect(list.items).toHaveLength(2);
    expect(list.items.filter(({ current }) => current === true)).toMatchObject([
      { id: user.sessionId, ip: '127.0.0.1', user_agent: 'test', version: 1 },
    ]);
    const otherId = list.items.find(({ current }) => current === false)?.id;
    for (const [sort, ids] of [
      ['-id', [otherId, user.sessionId]],
      ['created_at', [user.sessionId, otherId]],
    ] as const)
      expect((await withToken(user.token).get(`/api/auth/sessions?sort=${sort}`)).items.map(({ id }) => id)).toEqual(
        ids,
      );
    expect((await withToken(harness.ours.owner.token).delete(`/api/auth/sessions/${otherId}`)).status).toBe(404);
    const ended = await withToken(user.token).delete(`/api/auth/sessions/${otherId}`);
    expect(ended.data).toMatchObject({ id: otherId });
    await waitFor(async () => (await me(getAccessToken(other))).status === 401);
    expect((await withToken(user.token).delete(`/api/auth/sessions/${otherId}`)).status).toBe(404);
    expect((await withToken(user.token).get('/api/auth/sessions')).items).toHaveLength(1);
  });
});
