import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { wantedNotifications } from '../domains/notifications/preferences.ts';
import { pushTokensOf } from '../domains/notifications/push-tokens.ts';
import { removeEndedShares, sharedVehicles } from '../domains/vehicle-shares/use-cases.ts';
import { webhookCollection } from '../domains/webhooks/store.ts';
import { PlatformHarness } from '../testing/platform-harness.ts';

jest.setTimeout(60_000);
let harness: PlatformHarness;
beforeAll(async () => {
  harness = await PlatformHarness.open();
});
afterAll(() => harness.close());

/** Creates a user with data of every kind, and a vehicle of another account that is shared with the user. */
async function createUserWithData() {
  const user = await harness.user('manager');
  const [client, theirs] = [harness.as(user), harness.as(harness.theirs.owner)];
  const vehicle = await client.post('/api/vehicles', { vehicle_no: `R ${user.id}` });
  const foreign = await theirs.post('/api/vehicles', { vehicle_no: `R ${user.id}` });
  await theirs.post('/api/vehicle/share-vehicles', { secondaryUser: user.id, vehicles: [foreign.data.id] });
  const link = await client.post('/api/share-links', { vehicle_id: vehicle.data.id });
  await client.post('/api/user-webhooks', { url: 'https://9.9.9.9/' });
  await client.post('/api/notifications/update-push-token', { push_token: `token of ${user.id}` });
  await client.post(`/api/notifications/update-preferences/${vehicle.data.id}`, { notification_types: ['sos'] });
  await client.put('/api/user-preferences/me', { theme: 'dark' });
  return { user, vehicleId: vehicle.data.id, foreignId: foreign.data.id, slug: String(link.data['slug']) };
}

describe('removed users', () => {
  it("transfers vehicles to the account's first owner, and ends links, webhooks, push tokens and preferences", async () => {
    const { user, vehicleId, slug } = await createUserWithData();
    const owner = harness.as(harness.ours.owner);
    const scope = { accountId: user.accountId, userId: user.id };
    expect(await sharedVehicles(harness, scope)).toHaveLength(1);
    expect((await owner.delete(`/api/users/${user.id}`)).status).toBe(200);
    expect((await owner.get(`/api/vehicles/${vehicleId}`)).data).toMatchObject({
      owner_user_id: harness.ours.owner.id,
    });
    expect(await sharedVehicles(harness, scope)).toEqual([]);
    expect((await harness.anonymous.get(`/api/public/share-links/${slug}`)).body).toMatchObject({
      code: 'share_link_revoked',
    });
    expect(await webhookCollection(harness.records).count(scope, { userId: user.id })).toBe(0);
    expect(await pushTokensOf(harness, scope)).toEqual([]);
    expect(await wantedNotifications(harness, user.id, vehicleId)).toMatchObject({ isDefault: true });
    const stored = harness.deps.database.collection<{ userId: number }>('user_preferences');
    expect(await stored.countDocuments({ userId: user.id })).toBe(0);
  });
});

describe('deleted vehicles', () => {
  it('ends shares, links and notification preferences of a deleted vehicle', async () => {
    const { user, vehicleId, foreignId, slug } = await createUserWithData();
    const client = harness.as(user);
    await client.post(`/api/notifications/update-preferences/${foreignId}`, { notification_types: ['sos'] });
    expect((await client.delete(`/api/vehicles/${vehicleId}`)).status).toBe(200);
    expect((await harness.as(harness.theirs.owner).delete(`/api/vehicles/${foreignId}`)).status).toBe(200);
    expect(await sharedVehicles(harness, { userId: user.id })).toEqual([]);
    expect((await client.get(`/api/vehicles/${foreignId}`)).status).toBe(404);
    expect((await harness.anonymous.get(`/api/public/share-links/${slug}`)).status).toBe(410);
    for (const id of [vehicleId, foreignId])
      expect(await wantedNotifications(harness, user.id, id)).toMatchObject({ isDefault: true });
  });
});

describe('expired shares', () => {
  it('removes shares that have expired', async () => {
    const { user, foreignId } = await createUserWithData();
    const expires_at = new Date(Date.now() + 3_600_000).toISOString();
    const body = { secondaryUser: user.id, vehicles: [foreignId], expires_at };
    expect((await harness.as(harness.theirs.owner).post('/api/vehicle/share-vehicles', body)).status).toBe(200);
    expect(await removeEndedShares(harness)).toBe(0);
    expect(await removeEndedShares(harness, new Date(Date.now() + 7_200_000))).toBe(1);
    expect(await sharedVehicles(harness, { userId: user.id }, new Date(0))).toEqual([]);
  });
});
