import { keyRevoked, request, subscribe, verifyKey } from '@fleet/bus';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { PlatformHarness, type TestUser } from '../../testing/platform-harness.ts';
import { hashKey } from './rules.ts';

// The tests use real servers; the machine may be busy.
jest.setTimeout(60_000);

let harness: PlatformHarness;
beforeAll(async () => {
  harness = await PlatformHarness.open();
});
afterAll(() => harness.close());

const bearer = (user: TestUser) => harness.with({ authorization: `Bearer ${user.token}` });
const verdict = (key: string) => request(harness.bus, verifyKey, { keySha256: hashKey(key) }, { timeoutMs: 5_000 });

describe('POST /api/api-keys', () => {
  it('creates a key with the bearer token alone and returns the key once', async () => {
    const { owner } = harness.ours;
    const created = await bearer(owner).post('/api/api-keys', { name: 'first' });
    expect(created.status).toBe(201);
    const key = String(created.data['key']);
    expect(created.data).toMatchObject({
      key: expect.stringMatching(/^fk_[\w-]{43}$/),
      name: 'first',
      key_hint: key.slice(-4),
      scopes: ['read', 'write', 'command', 'video', 'webhook'],
      ip_allowlist: [],
      expires_at: null,
      can_mint_tokens: false,
      created_by: owner.id,
    });
    expect(
      (await harness.with({ 'x-api-key': key, authorization: `Bearer ${owner.token}` }).get('/api/users')).status,
    ).toBe(200);
    const list = await bearer(owner).get('/api/api-keys?sort=name');
    expect(list.items.map(({ name }) => name)).toContain('first');
    expect(JSON.stringify(list.body)).not.toContain(key);
    const stored = await harness.deps.database.collection('api_keys').find().toArray();
    expect(JSON.stringify(stored)).not.toContain(key);
  });

  it('creates one key per Idempotency-Key; the replay has null instead of the key', async () => {
    const client = bearer(harness.ours.owner);
    const headers = { 'idempotency-key': 'one key, please' };
    const [first, again] = [
      await client.post('/api/api-keys', { name: 'once' }, headers),
      await client.post('/api/api-keys', { name: 'once' }, headers),
    ];
    expect(again.status).toBe(201);
    expect(again.data).toEqual({ ...first.data, key: null });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(again.headers.get('location')).toBe(first.headers.get('location'));
    expect((await client.post('/api/api-keys', { name: 'other' }, headers)).body).toMatchObject({
      status: 422,
      code: 'idempotency_key_reused',
    });
    const keys = harness.deps.database.collection('idempotency_keys');
    expect(JSON.stringify(await keys.find().toArray())).not.toContain(String(first.data['key']));
  });

  it.each([
    [{ name: '' }, '/name'],
    [{ scopes: [] }, '/scopes'],
    [{ scopes: ['everything'] }, '/scopes/0'],
    [{ scopes: ['read', 'read'] }, '/scopes'],
    [{ ip_allowlist: ['10.0.0.0/8', 'localhost'] }, '/ip_allowlist/1'],
    [{ expires_at: '2020-01-01T00:00:00Z' }, '/expires_at'],
    [{ expires_at: 'tomorrow' }, '/expires_at'],
    [{ can_mint_tokens: 1 }, '/can_mint_tokens'],
  ])('rejects %j with 400 and the path %s', async (fields, path) => {
    const response = await bearer(harness.ours.owner).post('/api/api-keys', { name: 'x', ...fields });
    expect(response.body).toMatchObject({
      status: 400,
      code: 'validation_failed',
      details: expect.arrayContaining([expect.objectContaining({ path })]),
    });
  });

  it('limits an account to 20 keys besides the dashboard key', async () => {
    const tenant = await harness.tenant('Many keys');
    const client = bearer(tenant.owner);
    await client.get('/api/auth/me');
    for (let no = 1; no < 20; no += 1) expect((await client.post('/api/api-keys', { name: 'n' })).status).toBe(201);
    expect((await client.post('/api/api-keys', { name: 'n' })).body).toMatchObject({
      status: 409,
      code: 'limit_reached',
    });
    const { items } = await client.get('/api/api-keys');
    expect(items).toHaveLength(20);
    await client.delete(`/api/api-keys/${items[0]?.id}`);
    expect((await client.post('/api/api-keys', { name: 'n' })).status).toBe(201);
  });

  it('requires the role owner or admin', async () => {
    for (const [role, status] of [
      ['admin', 201],
      ['manager', 403],
      ['viewer', 403],
    ] as const)
      expect((await bearer(await harness.user(role)).post('/api/api-keys', { name: role })).status).toBe(status);
  });
});

describe('DELETE /api/api-keys/:id', () => {
  it('revokes a key everywhere', async () => {
    const { owner } = harness.ours;
    const created = await bearer(owner).post('/api/api-keys', { name: 'to be revoked' });
    const key = String(created.data['key']);
    expect(await verdict(key)).toMatchObject({ valid: true });
    const published: string[] = [];
    const received = subscribe(
      harness.bus,
      keyRevoked,
      () => undefined,
      ({ keySha256 }) => published.push(keySha256),
    );
    const path = `/api/api-keys/${created.data.id}`;
    expect((await bearer(harness.theirs.owner).delete(path)).status).toBe(404);
    expect((await bearer(owner).delete(path)).data).toMatchObject({ id: created.data.id, name: 'to be revoked' });
    await waitFor(() => published.includes(hashKey(key)));
    received.stop();
    expect(await verdict(key)).toEqual({ valid: false });
    expect((await bearer(owner).delete(path)).status).toBe(404);
    const log = await harness.as(owner).get('/api/audit-log?action=api-keys.revoke');
    expect(log.items[0]).toMatchObject({ user_id: owner.id, target: { type: 'api_keys', id: created.data.id } });
  });
});

describe('dashboard key', () => {
  const origin = 'http://127.0.0.1:8080';

  it('is valid only with a session and an allowed origin', async () => {
    const { owner } = harness.ours;
    const key = String((await bearer(owner).get('/api/auth/me')).data['dashboard_api_key']);
    const get = (headers: Record<string, string>, token = owner.token) =>
      harness.with({ 'x-api-key': key, authorization: `Bearer ${token}`, ...headers }).get('/api/users');
    for (const headers of [
      { origin },
      { origin: 'http://localhost:8080' },
      { 'sec-fetch-site': 'same-origin' },
      { referer: `${origin}/vehicles?x=1` },
    ] as Record<string, string>[])
      expect([headers, (await get(headers)).status]).toEqual([headers, 200]);
    for (const headers of [
      {},
      { origin: 'https://evil.example' },
      { origin: 'http://127.0.0.1:8081' },
      { origin: 'null' },
      { referer: 'https://evil.example/http://127.0.0.1:8080/' },
      { origin: 'https://evil.example', 'sec-fetch-site': 'same-origin' },
    ] as Record<string, string>[])
      expect((await get(headers)).body).toMatchObject({ status: 403, code: 'origin_not_allowed' });
    const claims = {
      userId: owner.id,
      accountId: owner.accountId,
      role: owner.role,
      sessionId: null,
      mintedByKeyId: 1,
    };
    expect((await get({ origin }, await harness.deps.tokens.issue(claims))).body).toMatchObject({
      status: 403,
      code: 'permission_denied',
    });
  });

  it('is not listed, cannot be revoked, and is not valid for other services', async () => {
    const { owner } = harness.theirs;
    const key = String((await bearer(owner).get('/api/auth/me')).data['dashboard_api_key']);
    const { items } = await bearer(owner).get('/api/api-keys');
    expect(items.some(({ key_hint: hint }) => hint === key.slice(-4))).toBe(false);
    const stored = await harness.deps.database.collection<{ _id: number }>('api_keys').findOne({ hint: key.slice(-4) });
    expect((await bearer(owner).delete(`/api/api-keys/${stored?._id}`)).status).toBe(404);
    expect(await verdict(key)).toEqual({ valid: false });
    expect(JSON.stringify(stored)).not.toContain(key);
  });
});
