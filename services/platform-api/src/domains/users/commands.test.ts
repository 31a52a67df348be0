import { randomInt } from 'node:crypto';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Client, PlatformHarness, testPassword } from '../../testing/platform-harness.ts';
import { withMethod } from '../../testing/with-method.ts';
import { webhookCollection } from '../webhooks/store.ts';

// Uses real servers on a machine that may be busy.
jest.setTimeout(60_000);

let harness: PlatformHarness;
let owner: Client;
let vehicleId: number;
beforeAll(async () => {
  harness = await PlatformHarness.open();
  owner = harness.as(harness.ours.owner);
  vehicleId = (await owner.post('/api/vehicles', { vehicle_no: 'Manage 1' })).data.id;
});
afterAll(() => harness.close());

/** Creates a manager with a webhook and a share link, and returns a function that reads their state. */
async function managerWithBoth() {
  const user = await harness.user('manager');
  const client = harness.as(user);
  const webhook = await client.post('/api/user-webhooks', { url: 'https://9.9.9.9/fleet/hook' });
  const link = await client.post('/api/share-links', { vehicle_id: vehicleId, expires_in_hours: 2 });
  expect([webhook.status, link.status]).toEqual([201, 201]);
  const standing = async () => ({
    webhook: (await webhookCollection(harness.records).find(harness.ours, webhook.data.id))?.enabled,
    link: (await harness.anonymous.get(`/api/public/share-links/${String(link.data['slug'])}`)).status,
  });
  return { path: `/api/users/${user.id}`, standing };
}

describe('webhooks and share links of a user', () => {
  it.each([[{ disabled: true }], [{ role: 'viewer' }], [{ role: 'driver' }]])(
    'are disabled by the change %j',
    async (change) => {
      const { path, standing } = await managerWithBoth();
      const others = await managerWithBoth();
      expect(await standing()).toEqual({ webhook: true, link: 200 });
      expect((await owner.put(path, change)).status).toBe(200);
      expect(await standing()).toEqual({ webhook: false, link: 410 });
      expect(await others.standing()).toEqual({ webhook: true, link: 200 });
    },
  );

  it('are not affected by changes that preserve the permissions, and are re-enabled only by the user', async () => {
    const { path, standing } = await managerWithBoth();
    for (const change of [{ name: 'Other' }, { role: 'admin' }]) await owner.put(path, change);
    expect(await standing()).toEqual({ webhook: true, link: 200 });
    for (const disabled of [true, false]) await owner.put(path, { disabled });
    expect(await standing()).toEqual({ webhook: false, link: 410 });
  });
});

describe('token for setting a password', () => {
  const newEmail = (): string => `person-${randomInt(1e12)}@fleet.example`;
  const tokenTo = async (address: string): Promise<string> => {
    const find = () => /token=(\S+)/.exec(harness.sent.findLast(({ to }) => to === address)?.text ?? '')?.[1];
    await waitFor(() => find() !== undefined);
    return find() ?? '';
  };
  const reset = (token: string) =>
    harness.anonymous.post('/api/auth/password/reset', { token, password: 'another battery horse' });
  const invite = async (email: string): Promise<string> =>
    `/api/users/${(await owner.post('/api/users/invite', { email, role: 'admin' })).data.id}`;

  it('is invalid after the address to which it was sent was corrected', async () => {
    const wrong = newEmail();
    const path = await invite(wrong);
    const token = await tokenTo(wrong);
    expect((await owner.put(path, { email: newEmail() })).status).toBe(200);
    expect((await reset(token)).body).toMatchObject({ status: 401, code: 'token_invalid' });
  });

  it('is invalid after the user has set another password', async () => {
    const user = await harness.user('manager');
    await harness.anonymous.post('/api/auth/password/forgot', { identifier: user.email });
    const token = await tokenTo(user.email);
    const change = { password: 'a third battery horse', current_password: testPassword };
    expect((await harness.as(user).put(`/api/users/${user.id}`, change)).status).toBe(200);
    expect((await reset(token)).status).toBe(401);
  });

  /**
   * Runs a function before a method of the token collection. Returns a function that says whether the method was
   * called.
   */
  function beforeTokens(method: 'insertOne' | 'deleteMany', first: () => Promise<unknown>): () => boolean {
    const collection = harness.deps.database.collection.bind(harness.deps.database);
    let isDone = false;
    jest.spyOn(harness.deps.database, 'collection').mockImplementation((name: string) => {
      const real = collection(name);
      if (name !== 'reset_tokens') return real;
      const after = async (...given: never[]) => {
        await first();
        const done: unknown = await (real[method] as (...all: never[]) => Promise<unknown>)(...given);
        isDone = true;
        return done;
      };
      return withMethod(real, method, after);
    });
    return () => isDone;
  }

  it('is not sent if the address or the password changes while it is created', async () => {
    for (const change of [{ email: newEmail() }, { password: 'a third battery horse' }]) {
      const user = await harness.user('manager');
      const isMade = beforeTokens('insertOne', () => owner.put(`/api/users/${user.id}`, change));
      try {
        await harness.anonymous.post('/api/auth/password/forgot', { identifier: user.email });
        await waitFor(isMade);
      } finally {
        jest.restoreAllMocks();
      }
      const tokens = harness.deps.database.collection<{ userId: number }>('reset_tokens');
      await waitFor(async () => (await tokens.countDocuments({ userId: user.id })) === 0);
      expect(harness.sent.filter(({ to }) => [user.email, change.email].includes(to))).toEqual([]);
    }
  });

  it('revokes the sessions of the old password even if it cannot be deleted itself', async () => {
    const user = await harness.user('manager');
    const away = () => Promise.reject(new Error('the database is unavailable'));
    beforeTokens('deleteMany', away);
    try {
      const change = { password: 'a third battery horse' };
      expect((await owner.put(`/api/users/${user.id}`, change)).status).toBe(500);
    } finally {
      jest.restoreAllMocks();
    }
    await waitFor(async () => (await harness.as(user).get('/api/auth/me')).status === 401);
  });

  it('remains valid while neither address nor password changes', async () => {
    const email = newEmail();
    const path = await invite(email);
    const token = await tokenTo(email);
    for (const change of [{ name: 'Ann' }, { phone_number: `+9198${String(randomInt(1e8)).padStart(8, '0')}` }])
      expect((await owner.put(path, change)).status).toBe(200);
    expect((await reset(token)).status).toBe(200);
  });
});

/** Delays each of the next writes to a user until another function has finished. */
function beforeWrites(...others: (() => Promise<unknown>)[]): void {
  const collection = harness.records.collection.bind(harness.records);
  jest.spyOn(harness.records, 'collection').mockImplementation((name: string) => {
    const real = collection(name);
    if (name !== 'users') return real;
    const findOneAndUpdate = async (...given: Parameters<typeof real.findOneAndUpdate>) => {
      await others.shift()?.();
      return real.findOneAndUpdate(...given);
    };
    return withMethod(real, 'findOneAndUpdate', findOneAndUpdate);
  });
}

describe('concurrent promotion of a user to owner', () => {
  const password = 'chosen by an admin';
  const login = (identifier: string) => harness.anonymous.post('/api/auth/login', { identifier, password });

  it.each([
    ['set the password', (admin: Client, path: string) => admin.put(path, { password })],
    ['remove the user', (admin: Client, path: string) => admin.delete(path)],
  ])('%s is refused to an admin', async (_what, change) => {
    const [admin, user] = [harness.as(await harness.user('admin')), await harness.user('manager')];
    const path = `/api/users/${user.id}`;
    beforeWrites(() => owner.put(path, { role: 'owner' }));
    try {
      expect((await change(admin, path)).body).toMatchObject({ status: 403, code: 'permission_denied' });
    } finally {
      jest.restoreAllMocks();
    }
    expect((await owner.get(path)).data).toMatchObject({ role: 'owner', disabled: false });
    expect((await login(user.email)).status).toBe(401);
  });
});

describe('last owner of an account', () => {
  const inUse = { status: 409, code: 'in_use' };

  it('is not modified by a refused change', async () => {
    const { owner: only, ...tenant } = await harness.tenant('One owner');
    const [client, path] = [harness.as(only), `/api/users/${only.id}`];
    const { version } = (await client.get(path)).data;
    expect((await client.put(path, { role: 'admin' })).body).toMatchObject(inUse);
    expect((await client.delete(path)).body).toMatchObject(inUse);
    expect((await client.get(path)).data).toMatchObject({ version, role: 'owner', disabled: false });
    await harness.user('owner', { owner: only, ...tenant });
    expect((await client.put(path, { role: 'admin' })).status).toBe(200);
  });

  it('remains owner even if another user has taken the previous e-mail', async () => {
    const tenant = await harness.tenant('Two owners');
    const second = await harness.user('owner', tenant);
    const users = harness.deps.database.collection<{ _id: number }>('users');
    const taken = { name: 'Taker', email: tenant.owner.email, role: 'viewer', password: testPassword };
    const takeEmail = () => harness.as(harness.theirs.owner).post('/api/users', taken);
    beforeWrites(() => users.updateOne({ _id: second.id }, { $set: { disabled: true } }), takeEmail);
    try {
      const change = { role: 'admin', email: `other-${randomInt(1e12)}@fleet.example` };
      const response = await harness.as(tenant.owner).put(`/api/users/${tenant.owner.id}`, change);
      expect(response.status).toBe(409);
    } finally {
      jest.restoreAllMocks();
    }
    expect(await users.findOne({ email: taken.email })).toMatchObject({ name: 'Taker' });
    expect(await users.findOne({ _id: tenant.owner.id })).toMatchObject({ role: 'owner', disabled: false });
  });
});
