import { openDatabase } from '@fleet/storage';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { waitFor } from '../../../../../libs/service-kit/src/testing/server-process.ts';
import { PlatformWorld, testPassword } from '../../testing/platform-world.ts';
import { withMethod } from '../../testing/with-method.ts';
import { computeTotpCode, toTotpStep } from './totp.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

let harness: PlatformWorld;
beforeAll(async () => {
  harness = await PlatformWorld.open();
});
afterAll(() => harness.close());
afterEach(() => {
  jest.restoreAllMocks();
});

const newPassword = 'another battery horse';
const login = (identifier: string, password = testPassword) =>
  harness.anonymous.post('/api/auth/login', { identifier, password });
const withToken = (token: unknown) => harness.with({ authorization: `Bearer ${String(token)}` });

/** Has the next new records of a collection wait for their ids. */
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

describe('a log-in that fails', () => {
  it('takes no longer for somebody who is there: its note in the audit log is not waited for', async () => {
    const { owner } = await harness.tenant('Audited');
    const notes = holdNextId('audit_log');
    expect((await login(owner.email, 'wrong password')).status).toBe(401);
    await waitFor(notes.isHeld);
    notes.release();
    const actions = async () => (await harness.as(owner).get('/api/audit-log')).items.map(({ action }) => action);
    await waitFor(async () => (await actions()).includes('auth.login-failed'));
  });
});

describe('a log-in while the database is unavailable', () => {
  it('is 503: it is no fault of ours that asking again would not mend', async () => {
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

describe('a password that is changed while somebody logs in with the old one', () => {
  it('ends that log-in, too', async () => {
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

describe('a refresh token', () => {
  it('is not spent where its user is refused: with the account let in again it is good', async () => {
    const tenant = await harness.tenant('Suspended for a day');
    const operator = harness.as(await harness.user('superadmin'));
    const setStatus = (status: string) => operator.put(`/api/accounts/${tenant.accountId}`, { status });
    const refresh = () => harness.anonymous.post('/api/auth/refresh', { refresh_token: tenant.owner.refreshToken });
    expect((await setStatus('suspended')).status).toBe(200);
    expect((await refresh()).body).toMatchObject({ status: 403, code: 'account_suspended' });
    expect((await setStatus('active')).status).toBe(200);
    expect((await refresh()).status).toBe(200);
  });

  it('is not spent where the next tokens cannot be made', async () => {
    const user = await harness.user('viewer');
    const refresh = () => harness.anonymous.post('/api/auth/refresh', { refresh_token: user.refreshToken });
    jest.spyOn(harness.deps.tokens, 'issue').mockRejectedValueOnce(new Error('no key'));
    expect((await refresh()).status).toBe(500);
    expect((await refresh()).status).toBe(200);
  });
});

describe('a secret for two-factor log-in that takes the place of one that is being confirmed', () => {
  it('is not confirmed with it: the app that has the first would not let its user in', async () => {
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
        // The code has just been used; what is confirmed by it is not written yet.
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
