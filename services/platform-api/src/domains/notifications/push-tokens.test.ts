import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Client, PlatformHarness, type TestUser } from '../../testing/platform-harness.ts';
import { pushTokensOf } from './push-tokens.ts';

jest.setTimeout(60_000);

const base = '/api/notifications';
let harness: PlatformHarness;
let owner: Client;

beforeAll(async () => {
  harness = await PlatformHarness.open();
  owner = harness.as(harness.ours.owner);
});
afterAll(() => harness?.close());

describe('POST /api/notifications/update-push-token', () => {
  const path = `${base}/update-push-token`;
  const register = (client: Client, body: object) => client.post(path, body);
  const tokensOf = async (user: TestUser) =>
    (await pushTokensOf(harness.deps, { accountId: user.accountId, userId: user.id }))
      .map(({ token }) => token)
      .toSorted();

  it('registers the token of a device, and stores one token for each device', async () => {
    const user = await harness.user('driver');
    const client = harness.as(user);
    const first = await register(client, { push_token: `a-${user.id}`, platform: 'android', device_id: 'phone' });
    expect(first.status).toBe(200);
    expect(first.body).toEqual({
      data: { id: expect.any(Number), platform: 'android', updated_at: expect.any(String) },
    });
    const again = await register(client, { push_token: `a-${user.id}` });
    expect(again.data).toMatchObject({ id: first.data['id'], platform: 'android' });
    await register(client, { push_token: `b-${user.id}`, device_id: 'phone' });
    await register(client, { push_token: `c-${user.id}`, device_id: 'tablet' });
    expect(await tokensOf(user)).toEqual([`b-${user.id}`, `c-${user.id}`]);
    const removed = await register(client, { push_token: '', device_id: 'phone' });
    expect(removed.status).toBe(200);
    expect(await tokensOf(user)).toEqual([`c-${user.id}`]);
    await register(client, { push_token: '' });
    expect(await tokensOf(user)).toEqual([]);
    expect((await register(client, { push_token: '' })).data).toMatchObject({ id: null, platform: null });
  });

  it('moves a token to the user who registers it, in any account', async () => {
    const [before, after] = [await harness.user('viewer'), await harness.user('viewer', harness.theirs)];
    const push_token = `shared-device-${before.id}`;
    await register(harness.as(before), { push_token });
    await register(harness.as(after), { push_token, platform: 'ios' });
    expect(await tokensOf(before)).toEqual([]);
    expect(await tokensOf(after)).toEqual([push_token]);
  });

  it('stores the ten tokens that were seen last', async () => {
    const user = await harness.user('viewer');
    const client = harness.as(user);
    for (let i = 0; i < 11; i += 1) await register(client, { push_token: `${user.id}-${i}` });
    await register(client, { push_token: `${user.id}-1` });
    await register(client, { push_token: `${user.id}-11` });
    const left = [1, 3, 4, 5, 6, 7, 8, 9, 10, 11].map((i) => `${user.id}-${i}`);
    expect(await tokensOf(user)).toEqual(left.toSorted());
  });

  it.each([
    ['/push_token', {}],
    ['/push_token', { push_token: 'a'.repeat(4_097) }],
    ['/push_token', { push_token: 7 }],
    ['/platform', { push_token: 'x', platform: 'windows' }],
    ['/device_id', { push_token: 'x', device_id: '' }],
  ])('rejects an invalid value at %s', async (at, body) => {
    expect((await register(owner, body)).body).toMatchObject({ status: 400, details: [{ path: at }] });
  });
});
