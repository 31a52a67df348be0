import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { PlatformHarness, type TestUser, testPassword } from '../../testing/platform-harness.ts';

// The tests use real servers; the machine may be busy.
jest.setTimeout(60_000);

let harness: PlatformHarness;
let owner: TestUser;
beforeAll(async () => {
  harness = await PlatformHarness.open();
  owner = harness.ours.owner;
});
afterAll(() => harness.close());

const page = { origin: 'http://127.0.0.1:8080' };
const post = (path: string, body: unknown, headers?: Record<string, string>) =>
  harness.anonymous.post(`/api/auth/${path}`, body, headers);
const logIn = () => post('login', { identifier: owner.email, password: testPassword, session: 'cookie' });
/** Returns the cookie of a response as a browser sends it back. */
const cookieOf = (headers: Headers): string => headers.get('set-cookie')?.split(';', 1)[0] ?? '';

describe('a session in a cookie', () => {
  it('sets a cookie that scripts cannot read, and returns no refresh token', async () => {
    const response = await logIn();
    expect([response.status, response.data['refresh_token']]).toEqual([200, null]);
    const cookie = response.headers.get('set-cookie');
    expect(cookie).toMatch(
      /^__Host-fleet-session=rt_[^;]+; Max-Age=2592000; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
    );
  });

  it('refreshes the tokens and replaces the cookie', async () => {
    const cookie = cookieOf((await logIn()).headers);
    const refreshed = await post('refresh', undefined, { cookie, ...page });
    expect([refreshed.status, refreshed.data['refresh_token']]).toEqual([200, null]);
    const next = cookieOf(refreshed.headers);
    expect(next).toMatch(/^__Host-fleet-session=rt_/);
    expect(next).not.toBe(cookie);
  });

  it('is refused from a page of another origin, and stays valid', async () => {
    const cookie = cookieOf((await logIn()).headers);
    const other = await post('refresh', undefined, { cookie, origin: 'https://evil.example' });
    expect([other.status, other.body]).toEqual([403, expect.objectContaining({ code: 'origin_not_allowed' })]);
    expect((await post('refresh', undefined, { cookie, ...page })).status).toBe(200);
  });

  it('survives tabs that refresh concurrently, and a lost response', async () => {
    const cookie = cookieOf((await logIn()).headers);
    const responses = await Promise.all([1, 2, 3].map(() => post('refresh', undefined, { cookie, ...page })));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    const [next = '', ...others] = responses.map(({ headers }) => cookieOf(headers));
    expect(others).toEqual([next, next]);
    expect((await post('refresh', undefined, { cookie: next, ...page })).status).toBe(200);
    // Spent by the request before the last one.
    expect((await post('refresh', undefined, { cookie, ...page })).status).toBe(401);
  });

  it('is missing without a cookie', async () => {
    const response = await post('refresh', {}, page);
    expect([response.status, response.body]).toEqual([401, expect.objectContaining({ code: 'token_missing' })]);
  });

  it('is removed from the browser by a log-out', async () => {
    const response = await logIn();
    const headers = {
      authorization: `Bearer ${String(response.data['access_token'])}`,
      cookie: cookieOf(response.headers),
    };
    const loggedOut = await post('logout', undefined, headers);
    expect(loggedOut.status).toBe(200);
    expect(loggedOut.headers.get('set-cookie')).toMatch(/^__Host-fleet-session=; Max-Age=0;/);
    expect((await post('refresh', undefined, { cookie: headers.cookie, ...page })).status).toBe(401);
  });

  it('can be ended by the cookie alone, from an allowed origin only', async () => {
    const cookie = cookieOf((await logIn()).headers);
    expect((await post('logout', undefined, { cookie, origin: 'https://evil.example' })).status).toBe(403);
    expect((await post('logout', undefined, page)).body).toMatchObject({ status: 401, code: 'token_missing' });
    expect((await post('logout', undefined, { ...page, cookie: '__Host-fleet-session=rt_1.a.b' })).status).toBe(401);
    const loggedOut = await post('logout', undefined, { cookie, ...page });
    expect([loggedOut.status, loggedOut.headers.get('set-cookie')]).toEqual([200, expect.stringMatching(/Max-Age=0;/)]);
    expect((await post('refresh', undefined, { cookie, ...page })).status).toBe(401);
  });

  it('is not stored for replays of a registration', async () => {
    const headers = { 'idempotency-key': `cookie-${owner.email}` };
    const email = `cookie-${owner.email}`;
    const body = { name: 'Ann', email, password: testPassword, account_name: 'Ann', session: 'cookie' };
    expect((await post('register', body, headers)).headers.get('set-cookie')).toContain('rt_');
    const replayed = await post('register', body, headers);
    expect([replayed.status, replayed.headers.get('set-cookie')]).toEqual([201, null]);
  });
});
