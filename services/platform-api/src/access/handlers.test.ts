import { callUseCase, type SessionCredentials, verifySession } from '@fleet/bus';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { hashKey } from '../domains/api-keys/rules.ts';
import type { ApiKey } from '../domains/api-keys/schema.ts';
import { createKey, getDashboardKey } from '../domains/api-keys/use-cases.ts';
import { PlatformHarness, type TestUser } from '../testing/platform-harness.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(60_000);

const page = 'http://127.0.0.1:8080';
let harness: PlatformHarness;
let owner: TestUser;
beforeAll(async () => {
  harness = await PlatformHarness.open({ PUBLIC_BASE_URL: page });
  ({ owner } = harness.ours);
});
afterAll(() => harness.close());

const verify = (user: TestUser, more: Partial<SessionCredentials> = {}) =>
  callUseCase(
    harness.bus,
    verifySession,
    { keySha256: hashKey(user.apiKey), authorization: `Bearer ${user.token}`, address: '127.0.0.1', ...more },
    { timeoutMs: 10_000 },
  );
const findError = (request: Promise<unknown>): Promise<unknown> =>
  request.then(
    () => undefined,
    ({ code }: { code: string }) => code,
  );

describe('the session of a caller of the video service', () => {
  it('is identified by both headers', async () => {
    const { caller, scopes } = await verify(owner);
    expect(caller).toMatchObject({
      kind: 'user',
      accountId: owner.accountId,
      userId: owner.id,
      sessionId: owner.sessionId,
      mintedByKeyId: null,
      keyId: expect.any(Number),
    });
    expect(scopes).toContain('video');
  });

  it('is rejected with the code of the Platform API', async () => {
    expect(await findError(verify(owner, { authorization: 'Bearer a.b.c' }))).toBe('token_invalid');
    expect(await findError(verify(owner, { authorization: owner.token }))).toBe('token_invalid');
    expect(await findError(verify(owner, { keySha256: hashKey('fk_unknown') }))).toBe('api_key_invalid');
    expect(await findError(verify(owner, { keySha256: hashKey(harness.theirs.apiKey) }))).toBe('key_user_mismatch');
    const disabled = await harness.user('manager');
    expect((await harness.as(owner).put(`/api/users/${disabled.id}`, { disabled: true })).status).toBe(200);
    expect(await findError(verify(disabled))).toBe('token_invalid');
  });

  it('returns the scopes of the key, and is limited to its addresses', async () => {
    const key = await createKey(harness.records, { accountId: owner.accountId, name: 'limited', scopes: ['read'] });
    const keys = harness.deps.database.collection<ApiKey>('api_keys');
    expect((await verify(owner, { keySha256: hashKey(key) })).scopes).toEqual(['read']);
    const other = await createKey(harness.records, { accountId: owner.accountId, name: 'elsewhere' });
    await keys.updateOne({ keySha256: hashKey(other) }, { $set: { ipAllowlist: ['10.0.0.0/8'] } });
    expect(await findError(verify(owner, { keySha256: hashKey(other) }))).toBe('permission_denied');
    expect((await verify(owner, { keySha256: hashKey(other), address: '10.9.9.9' })).caller.userId).toBe(owner.id);
  });

  it('with a dashboard key needs the origin of a page of the product', async () => {
    const keySha256 = hashKey(await getDashboardKey(harness.deps, owner));
    expect((await verify(owner, { keySha256, origin: page })).caller.userId).toBe(owner.id);
    expect((await verify(owner, { keySha256, fetchSite: 'same-origin' })).caller.userId).toBe(owner.id);
    expect((await verify(owner, { keySha256, referer: `${page}/live` })).caller.userId).toBe(owner.id);
    for (const origin of ['https://evil.example', 'null', `${page}.evil.example`])
      expect(await findError(verify(owner, { keySha256, origin }))).toBe('origin_not_allowed');
    expect(await findError(verify(owner, { keySha256 }))).toBe('origin_not_allowed');
  });

  it('lets only staff of the operator act in another account', async () => {
    const staff = await harness.user('superadmin');
    const actedAccountId = String(harness.theirs.accountId);
    expect((await verify(staff, { actedAccountId })).caller.accountId).toBe(harness.theirs.accountId);
    expect(await findError(verify(owner, { actedAccountId }))).toBe('not_found');
    expect(await findError(verify(staff, { actedAccountId: 'x' }))).toBe('not_found');
  });
});
