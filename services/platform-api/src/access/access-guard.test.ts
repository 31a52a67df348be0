import { accessChanged, publish, request, revokeKey } from '@fleet/bus';
import { openDatabase } from '@fleet/storage';
import { ServerProcess, waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { SignJWT } from 'jose';
import type { Account } from '../domains/accounts/schema.ts';
import { generateKey, hashKey } from '../domains/api-keys/rules.ts';
import type { ApiKey } from '../domains/api-keys/schema.ts';
import { createKey } from '../domains/api-keys/use-cases.ts';
import type { Session } from '../domains/sessions/schema.ts';
import type { User } from '../domains/users/schema.ts';
import { PlatformHarness, type TestUser } from '../testing/platform-harness.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(60_000);

let harness: PlatformHarness;
beforeAll(async () => {
  harness = await PlatformHarness.open();
});
afterAll(() => harness.close());

const path = '/api/audit-log';
const bearer = (user: TestUser) => `Bearer ${user.token}`;
const toClaims = ({ id, accountId, role, sessionId }: TestUser) => ({
  userId: id,
  accountId,
  role,
  sessionId,
  mintedByKeyId: null,
});
const publishAccessChanged = (body: { userId?: number; accountId?: number }) =>
  publish(harness.bus, accessChanged, body);

describe('API key and token', () => {
  it('opens a route with a key and a token of one account', async () => {
    const response = await harness.as(harness.ours.owner).get(path);
    expect(response.status).toBe(200);
    expect(response.headers.get('x-ratelimit-limit')).toBe('1000000');
  });

  it('returns 401 with a code of its own for each missing or invalid credential', async () => {
    const { owner, apiKey } = harness.ours;
    const cases: [Record<string, string>, string][] = [
      [{}, 'api_key_missing'],
      [{ authorization: bearer(owner) }, 'api_key_missing'],
      [{ 'x-api-key': generateKey(), authorization: bearer(owner) }, 'api_key_invalid'],
      [{ 'x-api-key': 'x'.repeat(5_000), authorization: bearer(owner) }, 'api_key_invalid'],
      [{ 'x-api-key': apiKey }, 'token_missing'],
      [{ 'x-api-key': apiKey, authorization: owner.token }, 'token_invalid'],
      [{ 'x-api-key': apiKey, authorization: 'Basic YTpi' }, 'token_invalid'],
      [{ 'x-api-key': apiKey, authorization: `Bearer ${owner.token}x` }, 'token_invalid'],
      [{ 'x-api-key': apiKey, authorization: 'Bearer a.b.c' }, 'token_invalid'],
    ];
    for (const [headers, code] of cases)
      expect((await harness.with(headers).get(path)).body).toMatchObject({ status: 401, code });
  });

  it('returns 403 key_user_mismatch for a key and a token of different accounts', async () => {
    const headers = { 'x-api-key': harness.theirs.apiKey, authorization: bearer(harness.ours.owner) };
    expect((await harness.with(headers).get(path)).body).toMatchObject({ status: 403, code: 'key_user_mismatch' });
  });

  it('returns 401 token_expired after an hour, and token_invalid for a forged token', async () => {
    const { owner, apiKey } = harness.ours;
    const get = (token: string) => harness.with({ 'x-api-key': apiKey, authorization: `Bearer ${token}` }).get(path);
    const old = await harness.deps.tokens.issue(toClaims(owner), new Date(Date.now() - 3_610_000));
    expect((await get(old)).body).toMatchObject({ status: 401, code: 'token_expired' });
    const { kid, privateKey } = await harness.deps.signingKeys.signingKey();
    const forge = (header: { alg: string; kid?: string }, issuer: string, audience: string, key: typeof privateKey) =>
      new SignJWT({ acc: owner.accountId, role: 'superadmin', sid: owner.sessionId })
        .setProtectedHeader(header)
        .setIssuer(issuer)
        .setAudience(audience)
        .setSubject(String(owner.id))
        .setIssuedAt()
        .setExpirationTime('1h')
        .sign(key);
    expect((await get(await forge({ alg: 'EdDSA', kid }, 'fleet-platform', 'platform', privateKey))).status).toBe(200);
    const forged = [
      await forge({ alg: 'EdDSA', kid: 'unknown' }, 'fleet-platform', 'platform', privateKey),
      await forge({ alg: 'EdDSA' }, 'fleet-platform', 'platform', privateKey),
      await forge({ alg: 'EdDSA', kid }, 'somebody', 'platform', privateKey),
      await forge({ alg: 'EdDSA', kid }, 'fleet-platform', 'stream', privateKey),
    ];
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const [, body = ''] = owner.token.split('.');
    forged.push(`${part({ alg: 'none', kid })}.${body}.`);
    for (const token of forged) expect((await get(token)).body).toMatchObject({ status: 401, code: 'token_invalid' });
  });

  it('rotates signing keys without invalidating sessions, and rejects the key before the previous one', async () => {
    const user = await harness.user('owner');
    const kids = async () =>
      ((await harness.anonymous.get('/.well-known/jwks.json')).body as { keys: { kid: string }[] }).keys.map(
        ({ kid }) => kid,
      );
    const before = await kids();
    await harness.deps.signingKeys.rotate();
    const after = await kids();
    expect(after).toHaveLength(2);
    expect(after[1]).toBe(before[0]);
    expect((await harness.as(user).get(path)).status).toBe(200);
    const fresh = await harness.user('owner');
    expect((await harness.as(fresh).get(path)).status).toBe(200);
    await harness.deps.signingKeys.rotate();
    expect((await harness.as(fresh).get(path)).status).toBe(200);
    expect((await harness.as(user).get(path)).status).toBe(401);
    expect(JSON.stringify(await harness.deps.database.collection('signing_keys').find().toArray())).not.toContain(
      'PRIVATE',
    );
    // The rotation also invalidated the tokens of the other tests.
    harness.ours.owner.token = await harness.deps.tokens.issue(toClaims(harness.ours.owner));
    harness.theirs.owner.token = await harness.deps.tokens.issue(toClaims(harness.theirs.owner));
  });
});

describe('revoked and changed access', () => {
  const users = () => harness.deps.database.collection<User>('users');

  it('returns 503 for a token while the signing keys cannot be read', async () => {
    jest
      .spyOn(harness.deps.signingKeys, 'verifyingKey')
      .mockRejectedValueOnce(new Error('the database is unavailable'));
    const unavailable = await harness.as(harness.ours.owner).get(path);
    expect(unavailable.body).toMatchObject({ status: 503, code: 'unavailable' });
    expect((await harness.as(harness.ours.owner).get(path)).status).toBe(200);
  });

  it('returns 503 for the public keys while the database is unavailable', async () => {
    const closedDatabase = openDatabase('mongodb://127.0.0.1:1/nowhere', { appName: 'test' });
    const query = closedDatabase
      .collection('things')
      .findOne({})
      .catch((error: unknown) => error);
    await closedDatabase.close();
    jest.spyOn(harness.deps.signingKeys, 'jwks').mockRejectedValueOnce(await query);
    const unavailable = await harness.anonymous.get('/.well-known/jwks.json');
    expect(unavailable.body).toMatchObject({ status: 503, code: 'unavailable' });
    expect((await harness.anonymous.get('/.well-known/jwks.json')).status).toBe(200);
  });

  it('rejects the tokens of a revoked session within five seconds, even if the event was lost', async () => {
    const user = await harness.user('owner');
    expect((await harness.as(user).get(path)).status).toBe(200);
    const sessions = harness.deps.database.collection<Session>('sessions');
    await sessions.updateOne({ _id: user.sessionId }, { $set: { revokedAt: new Date() } });
    const revokedAt = performance.now();
    await waitFor(async () => (await harness.as(user).get(path)).status === 401);
    expect(performance.now() - revokedAt).toBeLessThan(20_000);
    expect((await harness.as(user).get(path)).body).toMatchObject({ code: 'token_invalid' });
  });

  it('applies a disabled user, a changed role and a suspended account as soon as the event arrives', async () => {
    const tenant = await harness.tenant('To be suspended');
    const user = await harness.user('admin', tenant);
    expect((await harness.as(user).get(path)).status).toBe(200);
    await users().updateOne({ _id: user.id }, { $set: { role: 'viewer' } });
    publishAccessChanged({ userId: user.id });
    await waitFor(async () => (await harness.as(user).get(path)).status === 403);
    await users().updateOne({ _id: user.id }, { $set: { role: 'admin', disabled: true } });
    publishAccessChanged({ userId: user.id });
    await waitFor(async () => (await harness.as(user).get(path)).status === 401);
    await users().updateOne({ _id: user.id }, { $set: { disabled: false } });
    const accounts = harness.deps.database.collection<Account>('accounts');
    await accounts.updateOne({ _id: tenant.accountId }, { $set: { status: 'suspended' } });
    publishAccessChanged({ accountId: tenant.accountId });
    await waitFor(async () => (await harness.as(user).get(path)).status === 403);
    expect((await harness.as(user).get(path)).body).toMatchObject({ code: 'account_suspended' });
  });

  it('rejects a revoked key immediately on every replica', async () => {
    const { owner, accountId } = harness.ours;
    const key = await createKey(harness.records, { accountId, name: 'to be revoked' });
    const client = harness.with({ 'x-api-key': key, authorization: bearer(owner) });
    expect((await client.get(path)).status).toBe(200);
    await request(harness.bus, revokeKey, { keySha256: hashKey(key) }, { timeoutMs: 5_000 });
    await waitFor(async () => (await client.get(path)).status === 401);
    expect((await client.get(path)).body).toMatchObject({ code: 'api_key_invalid' });
  });

  it('records the last use of a session to the minute', async () => {
    const user = await harness.user('owner');
    const sessions = harness.deps.database.collection<Session>('sessions');
    const long = new Date(Date.now() - 3_600_000);
    await sessions.updateOne({ _id: user.sessionId }, { $set: { lastUsedAt: long } });
    expect((await harness.as(user).get(path)).status).toBe(200);
    const session = await sessions.findOne({ _id: user.sessionId });
    expect(session?.lastUsedAt.getTime()).toBeGreaterThan(long.getTime());
  });
});

describe('permissions and scopes', () => {
  it('returns 403 for a role without the permission', async () => {
    for (const [role, status] of [
      ['owner', 200],
      ['admin', 200],
      ['superadmin', 200],
      ['manager', 403],
      ['viewer', 403],
      ['driver', 403],
      ['dealer', 403],
    ] as const)
      expect([role, (await harness.as(await harness.user(role)).get(path)).status]).toEqual([role, status]);
  });

  it('returns 403 for a key without the scope, or from another address', async () => {
    const { owner, accountId } = harness.ours;
    const keys = harness.deps.database.collection<ApiKey>('api_keys');
    const withKey = async (change: Partial<ApiKey>) => {
      const key = await createKey(harness.records, { accountId, name: 'limited' });
      await keys.updateOne({ keySha256: hashKey(key) }, { $set: change });
      return (await harness.with({ 'x-api-key': key, authorization: bearer(owner) }).get(path)).body;
    };
    const permissionDenied = { status: 403, code: 'permission_denied' };
    expect(await withKey({ scopes: ['write', 'video'] })).toMatchObject(permissionDenied);
    expect(await withKey({ ipAllowlist: ['10.0.0.0/8'] })).toMatchObject(permissionDenied);
    expect(await withKey({ ipAllowlist: ['127.0.0.0/8'], scopes: ['read'] })).toMatchObject({
      data: expect.any(Array),
    });
    expect(await withKey({ expiresAt: new Date(Date.now() - 1) })).toMatchObject({ code: 'api_key_invalid' });
  });
});

describe('token minted with a key', () => {
  it('is accepted without a key only from the addresses of that key', async () => {
    const { owner, accountId } = harness.ours;
    const keys = harness.deps.database.collection<ApiKey>('api_keys');
    const responseFor = async (ipAllowlist: string[]) => {
      const key = await createKey(harness.records, { accountId, name: 'minting' });
      await keys.updateOne({ keySha256: hashKey(key) }, { $set: { ipAllowlist } });
      const mintedByKeyId = (await keys.findOne({ keySha256: hashKey(key) }))?._id ?? 0;
      const token = await harness.deps.tokens.issue({ ...toClaims(owner), sessionId: null, mintedByKeyId });
      return harness.with({ authorization: `Bearer ${token}` }).get('/api/auth/me');
    };
    expect((await responseFor(['10.0.0.0/8'])).body).toMatchObject({ status: 403, code: 'permission_denied' });
    expect((await responseFor(['127.0.0.0/8'])).status).toBe(200);
    expect((await responseFor([])).status).toBe(200);
  });
});

describe('unknown paths and methods', () => {
  it('returns 401 without credentials, else 404', async () => {
    expect((await harness.anonymous.get('/api/nothing')).body).toMatchObject({ status: 401, code: 'api_key_missing' });
    const { owner, apiKey } = harness.ours;
    for (const client of [
      harness.as(owner),
      harness.with({ 'x-api-key': apiKey }),
      harness.with({ authorization: bearer(owner) }),
    ])
      expect((await client.post('/api/nothing', {})).body).toMatchObject({ status: 404, code: 'not_found' });
    expect((await harness.with({ 'x-api-key': generateKey() }).get('/api/nothing')).status).toBe(401);
  });

  it('returns 405 with Allow for another method of a known path', async () => {
    const response = await harness.as(harness.ours.owner).delete(path);
    expect(response.body).toMatchObject({ status: 405, code: 'method_not_allowed' });
    expect(response.headers.get('allow')).toBe('GET, HEAD, OPTIONS');
  });
});

describe('rate limits', () => {
  it('grants each key its own burst, and counts failed authentication by address', async () => {
    // Each harness numbers its keys from 1, so the counters need a Redis of their own.
    const redis = await (await ServerProcess.redis()).start();
    const limited = await PlatformHarness.open({
      REDIS_URL: `redis://127.0.0.1:${redis.port}`,
      RATE_LIMIT_PLATFORM_BURST: '5',
      RATE_LIMIT_PLATFORM_PER_MINUTE: '1',
    });
    try {
      const { ours, theirs } = limited;
      const statuses = [];
      for (let no = 0; no < 7; no += 1) statuses.push((await limited.as(ours.owner).get(path)).status);
      expect(statuses).toEqual([200, 200, 200, 200, 200, 429, 429]);
      const refused = await limited.as(ours.owner).get(path);
      expect(refused.body).toMatchObject({ status: 429, code: 'rate_limited' });
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      expect((await limited.as(theirs.owner).get(path)).status).toBe(200);
      const guesses = [];
      for (let no = 0; no < 7; no += 1) guesses.push((await limited.anonymous.get(path)).status);
      expect(guesses).toEqual([401, 401, 401, 401, 401, 429, 429]);
    } finally {
      await limited.close();
      await redis.remove();
    }
  });
});
