import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { PlatformHarness, testPassword } from '../../testing/platform-harness.ts';
import { computeTotpCode } from '../../testing/totp-code.ts';
import { toTotpStep } from './totp.ts';

// The tests use real servers; the machine may be busy.
jest.setTimeout(60_000);

let harness: PlatformHarness;
beforeAll(async () => {
  harness = await PlatformHarness.open();
});
afterAll(() => harness.close());

const post = (path: string, body: unknown, headers?: Record<string, string>) =>
  harness.anonymous.post(`/api/auth/${path}`, body, headers);
const login = (identifier: string, password = testPassword, more: object = {}) =>
  post('login', { identifier, password, ...more });
const withToken = (token: string) => harness.with({ authorization: `Bearer ${token}` });

describe('two-factor log-in', () => {
  const currentCode = (secret: string, ahead = 0): string => computeTotpCode(secret, toTotpStep(new Date()) + ahead);

  it('is enabled with a code, requires an unused code at log-in, and is disabled with a code', async () => {
    const user = await harness.user('viewer');
    const client = withToken(user.token);
    const prepared = await client.post('/api/auth/totp');
    expect(prepared.data).toEqual({
      secret: expect.stringMatching(/^[A-Z2-7]{32}$/),
      otpauth_url: expect.stringContaining('otpauth://totp/'),
    });
    const secret = String(prepared.data['secret']);
    expect((await login(user.email)).status).toBe(200);
    expect((await client.post('/api/auth/totp', { code: '000000' })).status).toBe(400);
    // The code of the previous step is valid until the current step ends, so wait unless enough of it is left.
    await waitFor(() => Date.now() % 30_000 < 20_000);
    const first = currentCode(secret, -1);
    expect((await client.post('/api/auth/totp', { code: first })).data).toMatchObject({
      two_factor_enabled: true,
      recovery_codes: expect.any(Array),
    });
    expect((await client.post('/api/auth/totp')).status).toBe(409);
    expect((await login(user.email)).body).toMatchObject({ status: 401, code: 'two_factor_required' });
    expect((await login(user.email, testPassword, { code: first })).status).toBe(401);
    expect((await login(user.email, 'wrong password', { code: currentCode(secret) })).body).toMatchObject({
      code: 'invalid_credentials',
    });
    const second = currentCode(secret);
    expect((await login(user.email, testPassword, { code: second })).status).toBe(200);
    expect((await login(user.email, testPassword, { code: second })).status).toBe(401);
    expect((await client.delete('/api/auth/totp', {}, { code: second })).status).toBe(400);
    expect((await client.delete('/api/auth/totp', {}, { code: currentCode(secret, 1) })).data).toMatchObject({
      two_factor_enabled: false,
    });
    expect((await login(user.email)).status).toBe(200);
    const stored = await harness.deps.database.collection('users').find().toArray();
    expect(JSON.stringify(stored)).not.toContain(secret);
  });

  /** Enables two-factor log-in of a new user and returns the recovery codes. */
  async function enable() {
    const user = await harness.user('viewer');
    const client = withToken(user.token);
    const secret = String((await client.post('/api/auth/totp')).data['secret']);
    const { data } = await client.post('/api/auth/totp', { code: currentCode(secret) });
    return { user, client, codes: data['recovery_codes'] as string[] };
  }

  it('accepts each of ten recovery codes once, in any spelling, and stores none of them', async () => {
    const { user, client, codes } = await enable();
    expect(codes).toHaveLength(10);
    expect(new Set(codes).size).toBe(10);
    const [first = '', second = '', third = ''] = codes;
    expect(first).toMatch(/^[a-z2-9]{5}-[a-z2-9]{5}$/);
    const of = async (code: string): Promise<number> => (await login(user.email, testPassword, { code })).status;
    expect(await of(first)).toBe(200);
    expect(await of(first)).toBe(401);
    expect(await of(second.toUpperCase().replace('-', ''))).toBe(200);
    expect(await of('aaaaa-aaaaa')).toBe(401);
    const concurrent = await Promise.all([of(third), of(third)]);
    expect(concurrent.toSorted((a, b) => a - b)).toEqual([200, 401]);
    expect((await client.get('/api/auth/me')).data).not.toHaveProperty('recovery_codes');
    const stored = JSON.stringify(await harness.deps.database.collection('users').find().toArray());
    for (const code of codes) expect(stored).not.toContain(code);
    expect((await client.delete('/api/auth/totp', {}, { code: codes[5] ?? '' })).data).toMatchObject({
      two_factor_enabled: false,
    });
  });

  it("is disabled for another user by an administrator, but not for the administrator's own", async () => {
    const { user } = await enable();
    const at = `/api/users/${user.id}`;
    const lost = { two_factor_enabled: false };
    expect((await harness.as(await harness.user('manager')).put(at, lost)).status).toBe(403);
    expect((await harness.as(harness.theirs.owner).put(at, lost)).status).toBe(404);
    expect((await harness.as(harness.ours.owner).put(at, { two_factor_enabled: true })).status).toBe(400);
    const own = await harness.as(harness.ours.owner).put(`/api/users/${harness.ours.owner.id}`, lost);
    expect(own.status).toBe(403);
    const changed = await harness.as(harness.ours.owner).put(at, lost);
    expect(changed.data).toMatchObject({ id: user.id, two_factor_enabled: false });
    expect((await login(user.email)).status).toBe(200);
    const { items } = await harness.as(harness.ours.owner).get('/api/audit-log?action=users.update&limit=1');
    expect(items).toMatchObject([{ target: { id: user.id }, detail: { fields: ['two_factor_enabled'] } }]);
  });

  it('locks after wrong codes as after wrong passwords, but not after missing codes', async () => {
    const user = await harness.user('viewer');
    const secret = String((await withToken(user.token).post('/api/auth/totp')).data['secret']);
    await withToken(user.token).post('/api/auth/totp', { code: currentCode(secret) });
    for (let no = 0; no < 7; no += 1) expect((await login(user.email)).status).toBe(401);
    for (let no = 0; no < 5; no += 1)
      expect((await login(user.email, testPassword, { code: '1' })).body).toMatchObject({
        code: 'two_factor_required',
      });
    expect((await login(user.email, testPassword, { code: currentCode(secret, 1) })).status).toBe(429);
  });
});
