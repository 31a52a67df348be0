import { randomInt } from 'node:crypto';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type ApiResponse, PlatformHarness, testPassword } from '../../testing/platform-harness.ts';

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
const withToken = (token: string) => harness.with({ authorization: `Bearer ${token}` });
const me = (token: string) => withToken(token).get('/api/auth/me');

describe('password reset', () => {
  const tokenFor = async (to: string, send: () => Promise<ApiResponse>): Promise<string> => {
    const before = harness.sent.length;
    expect([201, 202]).toContain((await send()).status);
    await waitFor(() => harness.sent.slice(before).some((message) => message.to === to));
    return /token=(pr_[\w-]{43})/.exec(harness.sent.findLast((message) => message.to === to)?.text ?? '')?.[1] ?? '';
  };

  it('sets the password once with the token of the mail and ends all sessions', async () => {
    const user = await harness.user('viewer');
    const token = await tokenFor(user.email, () => post('password/forgot', { identifier: user.email.toUpperCase() }));
    const other = await tokenFor(user.email, () => post('password/forgot', { identifier: user.email }));
    const password = 'another long password';
    expect((await post('password/reset', { token: `${token}x`, password })).status).toBe(401);
    expect((await post('password/reset', { token, password: 'short' })).status).toBe(400);
    expect((await post('password/reset', { token, password })).data).toMatchObject({ id: user.id });
    for (const spent of [token, other])
      expect((await post('password/reset', { token: spent, password })).body).toMatchObject({ code: 'token_invalid' });
    await waitFor(async () => (await me(user.token)).status === 401);
    expect((await login(user.email)).status).toBe(401);
    expect((await login(user.email, password)).status).toBe(200);
  });

  it('responds 202 to an unknown identifier; a link expires after an hour', async () => {
    expect((await post('password/forgot', { identifier: newEmail() })).status).toBe(202);
    const phone = newPhone();
    await harness.user('viewer', harness.ours, { phoneNumber: phone, email: null });
    const token = await tokenFor(phone, () => post('password/forgot', { identifier: phone }));
    const tokens = harness.deps.database.collection('reset_tokens');
    await tokens.updateMany({}, { $set: { expiresAt: new Date(Date.now() - 1) } });
    expect((await post('password/reset', { token, password: testPassword })).status).toBe(401);
  });

  it('accepts an invitation', async () => {
    const email = newEmail();
    const invite = () => harness.as(harness.ours.owner).post('/api/users/invite', { email, role: 'manager' });
    const token = await tokenFor(email, invite);
    expect((await post('password/reset', { token, password: testPassword })).data).toMatchObject({ role: 'manager' });
    expect((await login(email)).status).toBe(200);
  });
});
