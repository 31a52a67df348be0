import { openDatabase } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { PlatformHarness, testPassword } from '../../testing/platform-harness.ts';
import { computeTotpCode } from '../../testing/totp-code.ts';
import { withMethod } from '../../testing/with-method.ts';
import { toTotpStep } from './totp.ts';

// The tests use real servers; the machine may be busy.
jest.setTimeout(60_000);

let harness: PlatformHarness;
beforeAll(async () => {
  harness = await PlatformHarness.open();
});
afterAll(() => harness.close());
afterEach(() => {
  jest.restoreAllMocks();
});

const newPassword = 'another battery horse';
const login = (identifier: string, password = testPassword) =>
  harness.anonymous.post('/api/auth/login', { identifier, password });
const withToken = (token: unknown) => harness.with({ authorization: `Bearer ${String(token)}` });

/** Blocks the id allocation for new records of a collection until `release` is called. */
function holdNextId(collection: string): { readonly isHeld: () => boolean; readonly release: () => void } {
  const nextId = harness.records.nextId.bind(harness.records);
  let [isHeld, release] = [false, (): void => undefined];
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  jest.spyOn(harness.records, 'nextId').mockImplementation(async (name) => {
    isHeld ||= name === collection;
    if (name === collection) await released;
    return nextId(name);
  });
  return { isHeld: () => isHeld, release };
}

describe('failed log-in', () => {
  it('responds for an existing user without waiting for the audit log entry', async () => {
    const { owner } = await harness.tenant('Audited');
    const notes = holdNextId('audit_log');
    expect((await login(owner.email, 'wrong password')).status).toBe(401);
    await waitFor(notes.isHeld);
    notes.release();
    const actions = async () => (await harness.as(owner).get('/api/audit-log')).items.map(({ action }) => action);
    await waitFor(async () => (await actions()).includes('auth.login-failed'));
  });
});

describe('log-in while the database is unavailable', () => {
  it('responds 503, because a retry may succeed', async () => {
    const unavailable = openDatabase('mongodb://127.0.0.1:1/fleet', { appName: 'away' });
    jest.spyOn(harness.deps.database, 'collection').mockImplementation((name: string) => unavailable.collection(name));
    try {
      expect((await login('nobody@fleet.example')).body).toMatchObject({ status: 503, code: 'unavailable' });
    } finally {
      jest.restoreAllMocks();
      await unavailable.close();
    }
  });
});

describe('password change during a log-in with the old password', () => {
  it('ends that log-in too', async () => {
    const user = await harness.user('manager');
    const sessions = holdNextId('sessions');
    const slowLogIn = login(user.email);
    await waitFor(sessions.isHeld);
    const change = { password: newPassword, current_password: testPassword };
    expect((await harness.as(user).put(`/api/users/${user.id}`, change)).status).toBe(200);
    sessions.release();
    expect((await slowLogIn).body).toMatchObject({ status: 401, code: 'token_invalid' });
    const open = await withToken(user.token).get('/api/auth/sessions');
    expect(open.items).toMatchObject([{ id: user.sessionId }]);
    expect((await login(user.email, newPassword)).status).toBe(200);
  });
});

describe('refresh token', () => {
  it('is not consumed while the account is suspended and works once it is active again', async () => {
    const tenant = await harness.tenant('Suspended for a day');
    const operator = harness.as(await harness.user('superadmin'));
    const setStatus = (status: string) => operator.put(`/api/accounts/${tenant.accountId}`, { status });
    const refresh = () => harness.anonymous.post('/api/auth/refresh', { refresh_token: tenant.owner.refreshToken });
    expect((await setStatus('suspended')).status).toBe(200);
    expect((await refresh()).body).toMatchObject({ status: 403, code: 'account_suspended' });
    expect((await setStatus('active')).status).toBe(200);
    expect((await refresh()).status).toBe(200);
  });

  it('is not consumed if the next tokens cannot be issued', async () => {
    const user = await harness.user('viewer');
    const refresh = () => harness.anonymous.post('/api/auth/refresh', { refresh_token: user.refreshToken });
    jest.spyOn(harness.deps.tokens, 'issue').mockRejectedValueOnce(new Error('no key'));
    expect((await refresh()).status).toBe(500);
    expect((await refresh()).status).toBe(200);
  });
});

describe('two-factor secret that replaces one during its confirmation', () => {
  it('is not confirmed by a code of the replaced secret, which would lock its user out', async () => {
    const user = await harness.user('viewer');
    const client = withToken(user.token);
    const first = await client.post('/api/auth/totp');
    const collection = harness.records.collection.bind(harness.records);
    let second: unknown;
    jest.spyOn(harness.records, 'collection').mockImplementation((name: string) => {
      const real = collection(name);
      if (name !== 'users') return real;
      const updateOne = async (...given: Parameters<typeof real.updateOne>) => {
        const result = await real.updateOne(...given);
        // The code has just been consumed, but the confirmation is not written yet.
        if ('totp.lastStep' in given[0]) second = (await client.post('/api/auth/totp')).data['secret'];
        return result;
      };
      return withMethod(real, 'updateOne', updateOne);
    });
    const currentCode = (secret: unknown) => computeTotpCode(String(secret), toTotpStep(new Date()));
    const confirmed = await client.post('/api/auth/totp', { code: currentCode(first.data['secret']) });
    jest.restoreAllMocks();
    expect(confirmed.body).toMatchObject({ status: 409, code: 'state_conflict' });
    expect((await login(user.email)).status).toBe(200);
    expect((await client.post('/api/auth/totp', { code: currentCode(second) })).data).toMatchObject({
      two_factor_enabled: true,
    });
  });
});
