import { randomInt } from 'node:crypto';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { isPermitted, type Permission, permissions, type Role, roles } from '../../access/roles.ts';
import { PlatformHarness, testPassword } from '../../testing/platform-harness.ts';

// Uses real servers on a machine that may be busy.
jest.setTimeout(60_000);

let harness: PlatformHarness;
beforeAll(async () => {
  harness = await PlatformHarness.open();
});
afterAll(() => harness.close());

const newEmail = (): string => `person-${randomInt(1e12)}@fleet.example`;
const refused = { status: 403, code: 'permission_denied' };

describe('roles', () => {
  /** docs/reference/access.md. */
  const table: Readonly<Record<Permission, string>> = {
    //              superadmin, dealer, owner, admin, manager, viewer, driver
    self: 'yes yes yes yes yes yes yes',
    read: 'yes yes yes yes yes yes yes',
    fleet: 'yes no yes yes yes no no',
    sharing: 'yes no yes yes yes no no',
    webhooks: 'yes no yes yes yes no no',
    commands: 'yes no yes yes yes no no',
    criticalCommands: 'yes no yes yes no no no',
    video: 'yes no yes yes yes yes no',
    administration: 'yes no yes yes no no no',
    billing: 'yes no yes no no no no',
    partnerCommandLevels: 'yes no yes no no no no',
    accountDeletion: 'yes no yes no no no no',
    accounts: 'yes yes no no no no no',
  };

  it.each(Object.entries(table))('permission %s: %s', (permission, responses) => {
    const allowed = roles.map((role) => (isPermitted(role, permission as Permission) ? 'yes' : 'no')).join(' ');
    expect(allowed).toBe(responses);
    expect(Object.keys(permissions)).toHaveLength(Object.keys(table).length);
  });
});

describe('POST /api/users', () => {
  it('creates a user, who can log in with the password', async () => {
    const email = newEmail();
    const fields = {
      name: 'Ben',
      email,
      role: 'viewer',
      password: testPassword,
      language: 'de',
      timezone: 'Asia/Tokyo',
    };
    const made = await harness.as(harness.ours.owner).post('/api/users', fields);
    expect(made.status).toBe(201);
    expect(made.headers.get('location')).toBe(`/api/users/${made.data.id}`);
    expect(made.headers.get('etag')).toBe('"1"');
    expect(made.data).toMatchObject({
      account_id: harness.ours.accountId,
      name: 'Ben',
      email,
      phone_number: null,
      role: 'viewer',
      can_view_video: false,
      language: 'de',
      timezone: 'Asia/Tokyo',
      two_factor_enabled: false,
      disabled: false,
      last_login_at: null,
      version: 1,
    });
    expect(JSON.stringify(made.body)).not.toContain('argon2');
    const login = { identifier: email, password: testPassword };
    expect((await harness.anonymous.post('/api/auth/login', login)).status).toBe(200);
    const read = await harness.as(harness.ours.owner).get(`/api/users/${made.data.id}`);
    expect(read.data).toMatchObject({ id: made.data.id, last_login_at: expect.any(String) });
  });

  it('invites a user without a password; the token is valid for seven days', async () => {
    const email = newEmail();
    const before = harness.sent.length;
    await harness.as(harness.ours.owner).post('/api/users', { name: 'Cid', email, role: 'driver' });
    await waitFor(() => harness.sent.slice(before).some(({ to }) => to === email));
    const tokens = harness.deps.database.collection<{ expiresAt: Date }>('reset_tokens');
    const [last] = await tokens.find().sort({ expiresAt: -1 }).limit(1).toArray();
    expect((last?.expiresAt.getTime() ?? 0) - Date.now()).toBeGreaterThan(6.9 * 24 * 3_600_000);
  });

  it.each([
    ['owner', ['owner', 'admin', 'manager', 'viewer', 'driver']],
    ['admin', ['admin', 'manager', 'viewer', 'driver']],
    ['superadmin', [...roles]],
    ['manager', []],
    ['viewer', []],
    ['dealer', []],
  ] as const)('allows %s to assign the roles %j', async (role, given: readonly Role[]) => {
    const client = harness.as(await harness.user(role));
    for (const each of roles) {
      const response = await client.post('/api/users', { name: 'X', email: newEmail(), role: each });
      expect([each, response.status]).toEqual([each, given.includes(each) ? 201 : 403]);
    }
  });

  it('returns 409 with the field for a taken e-mail, also if another account has it', async () => {
    const { email } = harness.theirs.owner;
    const response = await harness.as(harness.ours.owner).post('/api/users', { name: 'X', email, role: 'viewer' });
    expect(response.body).toMatchObject({
      status: 409,
      code: 'duplicate',
      details: [{ path: '/email', message: 'is taken' }],
    });
  });

  it.each([
    [{ role: 'king' }, '/role'],
    [{ email: null }, '/email'],
    [{ phone_number: '12' }, '/phone_number'],
    [{ timezone: 'Mars/Base' }, '/timezone'],
    [{ timezone: '+08:00' }, '/timezone'],
    [{ language: 'klingon!' }, '/language'],
    [{ name: ' ' }, '/name'],
    [{ can_view_video: 'yes' }, '/can_view_video'],
  ])('returns 400 for %j with the error at %s', async (fields, path) => {
    const body = { name: 'X', email: newEmail(), role: 'viewer', ...fields };
    const response = await harness.as(harness.ours.owner).post('/api/users', body);
    expect(response.body).toMatchObject({ status: 400, code: 'validation_failed', details: [{ path }] });
  });
});

describe('GET /api/users', () => {
  it('lists, searches, filters and sorts the users of the account only', async () => {
    const tenant = await harness.tenant('Listed');
    const [ann] = [await harness.user('viewer', tenant, { name: 'Ann (x)' }), await harness.user('driver', tenant)];
    const client = harness.as(tenant.owner);
    const all = await client.get('/api/users?sort=id');
    expect(all.items.map(({ role }) => role)).toEqual(['owner', 'viewer', 'driver']);
    expect(all.body).toMatchObject({ meta: { pagination: { page: 1, pageSize: 50, pageCount: 1, total: 3 } } });
    expect((await client.get('/api/users?query=ann%20(')).items).toMatchObject([{ id: ann.id }]);
    expect((await client.get('/api/users?role=driver')).items).toHaveLength(1);
    expect((await client.get('/api/users?limit=1&offset=1&sort=id')).items).toMatchObject([{ id: ann.id }]);
    expect((await client.get('/api/users?sort=password')).status).toBe(400);
    expect((await harness.as(ann).get('/api/users')).body).toMatchObject(refused);
  });
});

describe('PUT /api/users/:id', () => {
  const owner = () => harness.as(harness.ours.owner);

  it('changes the given fields, and nothing with an old version', async () => {
    const user = await harness.user('viewer');
    const path = `/api/users/${user.id}`;
    const changed = await owner().put(path, { name: 'New', can_view_video: true, role: 'manager' });
    expect(changed.data).toMatchObject({ name: 'New', can_view_video: true, role: 'manager', email: user.email });
    const stale = await owner().put(path, { name: 'Newer' }, { 'if-match': '"1"' });
    expect(stale.body).toMatchObject({ status: 412, code: 'version_mismatch' });
    expect((await owner().put(path, { name: 'Newer' }, { 'if-match': `"${changed.data.version}"` })).status).toBe(200);
    expect((await owner().put(path, { email: null })).status).toBe(400);
    expect((await owner().put(path, { nickname: 'N', id: 7 })).body).toMatchObject({
      meta: { ignored_fields: ['/nickname', '/id'] },
    });
    expect((await owner().put(path, { nickname: 'N' }, { 'x-strict-body': 'true' })).body).toMatchObject({
      status: 400,
      code: 'unknown_field',
    });
  });

  it('applies another role and a disabled user within five seconds', async () => {
    const user = await harness.user('manager');
    expect((await harness.as(user).get('/api/users')).status).toBe(200);
    await owner().put(`/api/users/${user.id}`, { role: 'viewer' });
    await waitFor(async () => (await harness.as(user).get('/api/users')).status === 403);
    await owner().put(`/api/users/${user.id}`, { disabled: true });
    await waitFor(async () => (await harness.as(user).get('/api/users')).status === 401);
  });

  it('lets all users change their own name, language, time zone and password only', async () => {
    const user = await harness.user('driver');
    const [own, path] = [harness.as(user), `/api/users/${user.id}`];
    expect((await own.put(path, { name: 'Me', language: 'hi', timezone: 'Asia/Kolkata' })).status).toBe(200);
    for (const field of [{ role: 'owner' }, { can_view_video: true }, { email: newEmail() }, { disabled: false }])
      expect((await own.put(path, field)).body).toMatchObject(refused);
    expect((await own.put(`/api/users/${harness.ours.owner.id}`, { name: 'Eve' })).body).toMatchObject(refused);
    const password = 'another long password';
    expect((await own.put(path, { password, current_password: 'wrong' })).status).toBe(403);
    const other = await harness.anonymous.post('/api/auth/login', { identifier: user.email, password: testPassword });
    expect((await own.put(path, { password, current_password: testPassword })).status).toBe(200);
    const otherSession = harness.with({ authorization: `Bearer ${String(other.data['access_token'])}` });
    await waitFor(async () => (await otherSession.get('/api/auth/me')).status === 401);
    expect((await own.put(path, { name: 'Still me' })).status).toBe(200);
  });

  it('does not let an admin change an owner', async () => {
    const admin = harness.as(await harness.user('admin'));
    expect((await admin.put(`/api/users/${harness.ours.owner.id}`, { name: 'X' })).body).toMatchObject(refused);
    expect((await admin.delete(`/api/users/${harness.ours.owner.id}`)).body).toMatchObject(refused);
    const manager = await harness.user('manager');
    expect((await admin.put(`/api/users/${manager.id}`, { role: 'owner' })).body).toMatchObject(refused);
  });

  it('returns 404 for a user of another account', async () => {
    const path = `/api/users/${harness.theirs.owner.id}`;
    expect((await owner().get(path)).status).toBe(404);
    expect((await owner().put(path, { name: 'X' })).status).toBe(404);
    expect((await owner().delete(path)).status).toBe(404);
    for (const bad of ['0', '-1', 'x', '1.5', '99999999999999999999'])
      expect((await owner().get(`/api/users/${bad}`)).body).toMatchObject({ status: 404, code: 'not_found' });
  });
});

describe('last owner', () => {
  const inUse = { status: 409, code: 'in_use' };

  it('cannot be demoted, disabled or removed', async () => {
    const tenant = await harness.tenant('One owner');
    const [client, path] = [harness.as(tenant.owner), `/api/users/${tenant.owner.id}`];
    expect((await client.put(path, { role: 'admin' })).body).toMatchObject(inUse);
    expect((await client.put(path, { disabled: true })).body).toMatchObject(inUse);
    expect((await client.delete(path)).body).toMatchObject(inUse);
    expect((await client.get(path)).data).toMatchObject({ role: 'owner', disabled: false });
    await harness.user('owner', tenant, { disabled: true });
    expect((await client.put(path, { role: 'admin' })).body).toMatchObject(inUse);
    const second = await harness.user('owner', tenant);
    expect((await harness.as(second).put(path, { role: 'admin' })).status).toBe(200);
  });

  it('does not change if a change is refused', async () => {
    const tenant = await harness.tenant('One owner');
    const [client, path] = [harness.as(tenant.owner), `/api/users/${tenant.owner.id}`];
    const before = (await client.get(path)).data;
    const change = { role: 'admin', name: 'Changed', language: 'de', email: newEmail(), phone_number: '+919812345678' };
    expect((await client.put(path, change)).body).toMatchObject(inUse);
    const { name, language, email, phone_number, role } = before;
    expect((await client.get(path)).data).toMatchObject({ name, language, email, phone_number, role });
    // The number of the refused change is free again.
    expect((await client.put(path, { phone_number: '+919812345678' })).status).toBe(200);
  });

  it('remains if two owners demote each other concurrently', async () => {
    for (let round = 0; round < 3; round += 1) {
      const tenant = await harness.tenant('Two owners');
      const second = await harness.user('owner', tenant);
      await Promise.all([
        harness.as(tenant.owner).put(`/api/users/${second.id}`, { role: 'viewer' }),
        harness.as(second).put(`/api/users/${tenant.owner.id}`, { role: 'viewer' }),
      ]);
      const owners = await harness.deps.database
        .collection('users')
        .countDocuments({ accountId: tenant.accountId, role: 'owner', disabled: false });
      expect(owners).toBeGreaterThanOrEqual(1);
    }
  });
});

describe('DELETE /api/users/:id', () => {
  it('passes the vehicles of the user to the first owner of the account', async () => {
    const tenant = await harness.tenant('Heirs');
    const manager = await harness.user('manager', tenant);
    const vehicle = await harness.as(manager).post('/api/vehicles', { vehicle_no: 'AB12' });
    expect(vehicle.data).toMatchObject({ owner_user_id: manager.id });
    expect((await harness.as(tenant.owner).delete(`/api/users/${manager.id}`)).status).toBe(200);
    const read = await harness.as(tenant.owner).get(`/api/vehicles/${vehicle.data.id}`);
    expect(read.data).toMatchObject({ owner_user_id: tenant.owner.id });
  });

  it('removes the user, ends the sessions and frees the e-mail; a repeated request returns 404', async () => {
    const user = await harness.user('viewer');
    const path = `/api/users/${user.id}`;
    expect((await harness.as(harness.ours.owner).delete(path)).data).toMatchObject({ id: user.id, email: user.email });
    expect((await harness.as(harness.ours.owner).delete(path)).status).toBe(404);
    await waitFor(async () => (await harness.as(user).get('/api/auth/me')).status === 401);
    const again = { name: 'Again', email: user.email, role: 'viewer' };
    expect((await harness.as(harness.ours.owner).post('/api/users', again)).status).toBe(201);
  });
});
