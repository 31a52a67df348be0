import { authorizeVideo, callUseCase, type KnownVideoCaller, type VideoAccess } from '@fleet/bus';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { Role } from '../../access/roles.ts';
import { PlatformHarness, type Tenant, type TestUser } from '../../testing/platform-harness.ts';
import { hashKey } from '../api-keys/rules.ts';
import type { ApiKey } from '../api-keys/schema.ts';
import { createKey } from '../api-keys/use-cases.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(60_000);

let harness: PlatformHarness;
let ours: Tenant;
let vehicleId: number;
const imei = '13900000001';
beforeAll(async () => {
  harness = await PlatformHarness.open();
  ({ ours } = harness);
  vehicleId = await newVehicle('AB 12', imei, {
    channels: [{ channel_id: 1 }, { channel_id: 2, enabled: false, has_audio: true }],
  });
});
afterAll(() => harness.close());

async function newVehicle(vehicleNo: string, number: string, more: object = {}, tenant = ours): Promise<number> {
  const body = { vehicle_no: vehicleNo, imei: number.padStart(12, '0'), ...more };
  const { status, data } = await harness.as(tenant.owner).post('/api/vehicles', body);
  expect(status).toBe(201);
  return data.id;
}

const toCaller = ({ accountId, id, sessionId }: TestUser, more: object = {}): KnownVideoCaller => ({
  kind: 'user',
  accountId,
  userId: id,
  sessionId,
  mintedByKeyId: null,
  keyId: null,
  ...more,
});
const authorize = (
  caller: KnownVideoCaller,
  more: { imei?: string; address?: string } = { imei },
): Promise<VideoAccess> => callUseCase(harness.bus, authorizeVideo, { caller, ...more }, { timeoutMs: 10_000 });
const findError = (request: Promise<unknown>): Promise<unknown> =>
  request.then(
    () => undefined,
    ({ code }: { code: string }) => code,
  );
/** Returns the rights live, history and command. */
async function rightsOf(caller: KnownVideoCaller): Promise<boolean[]> {
  const { live, history, command } = (await authorize(caller)).rights;
  return [live, history, command];
}

describe('the video of a vehicle, for a user of its account', () => {
  it('is described with its cameras', async () => {
    expect(await authorize(toCaller(ours.owner))).toEqual({
      accountId: ours.accountId,
      role: 'owner',
      imei,
      vehicleId,
      vehicleAccountId: ours.accountId,
      rights: { live: true, history: true, command: true },
      channels: [
        { channelId: 1, enabled: true, hasAudio: false },
        { channelId: 2, enabled: false, hasAudio: true },
      ],
      expiresAtMs: null,
    });
  });

  it.each<[Role, object, [boolean, boolean, boolean]]>([
    ['admin', {}, [true, true, true]],
    ['manager', {}, [true, true, true]],
    ['viewer', { canViewVideo: true }, [true, true, false]],
    ['viewer', { canViewVideo: false }, [false, false, false]],
    ['dealer', {}, [false, false, false]],
  ])('follows the role %s with %j', async (role, more, rights) => {
    expect(await rightsOf(toCaller(await harness.user(role, ours, more)))).toEqual(rights);
  });

  it('is 404 for a driver of other vehicles, and visible without video for its own driver', async () => {
    const driver = await harness.user('driver', ours);
    expect(await findError(authorize(toCaller(driver)))).toBe('vehicle_not_found');
    const client = harness.as(ours.owner);
    expect((await client.put(`/api/vehicles/${vehicleId}/owner`, { owner_user_id: driver.id })).status).toBe(200);
    expect(await rightsOf(toCaller(driver))).toEqual([false, false, false]);
    expect((await client.put(`/api/vehicles/${vehicleId}/owner`, { owner_user_id: ours.owner.id })).status).toBe(200);
  });

  it('ends with the session, the user and the account', async () => {
    const tenant = await harness.tenant('To end');
    await newVehicle('EN 1', '13900000090', {}, tenant);
    const watch = (user: TestUser) => authorize(toCaller(user), { imei: '13900000090' });
    const [loggedOut, disabled] = [await harness.user('manager', tenant), await harness.user('manager', tenant)];
    await watch(loggedOut);
    expect((await harness.as(loggedOut).post('/api/auth/logout')).status).toBe(200);
    expect(await findError(watch(loggedOut))).toBe('token_invalid');
    const body = { disabled: true };
    expect((await harness.as(tenant.owner).put(`/api/users/${disabled.id}`, body)).status).toBe(200);
    expect(await findError(watch(disabled))).toBe('token_invalid');
    const accounts = harness.deps.database.collection<{ _id: number; status: string }>('accounts');
    await accounts.updateOne({ _id: tenant.accountId }, { $set: { status: 'suspended' } });
    expect(await findError(watch(tenant.owner))).toBe('account_suspended');
  });

  it('ends with the API key of the request, and is limited to its addresses', async () => {
    const { user, keys } = await withKey({ ipAllowlist: ['10.0.0.0/8'] });
    expect((await authorize(user, { imei, address: '10.1.2.3' })).vehicleId).toBe(vehicleId);
    expect(await findError(authorize(user, { imei, address: '127.0.0.1' }))).toBe('permission_denied');
    await keys.updateOne({ accountId: ours.accountId, name: 'limited' }, { $set: { revokedAt: new Date() } });
    expect(await findError(authorize(user, { imei, address: '10.1.2.3' }))).toBe('token_invalid');
  });

  it('is open to staff of the operator in any account, and to no other user in an account that is not theirs', async () => {
    const staff = await harness.user('superadmin', harness.theirs);
    expect(await findError(authorize(toCaller(staff)))).toBe('vehicle_not_found');
    expect(await rightsOf(toCaller(staff, { accountId: ours.accountId }))).toEqual([true, true, true]);
    expect(await findError(authorize(toCaller(harness.theirs.owner, { accountId: ours.accountId })))).toBe(
      'token_invalid',
    );
  });
});

async function withKey(change: Partial<ApiKey>) {
  const key = await createKey(harness.records, { accountId: ours.accountId, name: 'limited' });
  const keys = harness.deps.database.collection<ApiKey>('api_keys');
  await keys.updateOne({ keySha256: hashKey(key) }, { $set: change });
  const keyId = (await keys.findOne({ keySha256: hashKey(key) }))?._id ?? 0;
  return { keys, keyId, user: toCaller(ours.owner, { keyId }) };
}

describe('the video of another account', () => {
  it('is 404 like that of an unknown device, whatever the role', async () => {
    for (const user of [harness.theirs.owner, await harness.user('superadmin', harness.theirs)])
      for (const number of [imei, '13999999999'])
        expect(await findError(authorize(toCaller(user), { imei: number }))).toBe('vehicle_not_found');
  });

  it('follows the permissions of a share until it ends', async () => {
    const guest = await harness.user('viewer', harness.theirs, { canViewVideo: false });
    const share = (permissions: string[], more: object = {}) =>
      harness.as(ours.owner).post('/api/vehicle/share-vehicles', {
        secondaryUser: guest.id,
        vehicles: [vehicleId],
        permissions,
        ...more,
      });
    await share(['view']);
    expect(await rightsOf(toCaller(guest))).toEqual([false, false, false]);
    await share(['live_video']);
    expect(await rightsOf(toCaller(guest))).toEqual([true, false, false]);
    await share(['history_video', 'commands']);
    expect(await rightsOf(toCaller(guest))).toEqual([false, true, true]);
    const expiresAt = new Date(Date.now() + 60_000);
    await share(['live_video'], { expires_at: expiresAt.toISOString() });
    expect((await authorize(toCaller(guest))).expiresAtMs).toBe(expiresAt.getTime());
    await harness.deps.database.collection('shares').updateMany({}, { $set: { expiresAt: new Date(Date.now() - 1) } });
    expect(await findError(authorize(toCaller(guest)))).toBe('vehicle_not_found');
  });
});

describe('the video of a device, for an API key', () => {
  const keyCaller = (keyId: number, accountId = ours.accountId): KnownVideoCaller => ({
    kind: 'key',
    accountId,
    keyId,
  });

  it('includes everything, also for a device without an account', async () => {
    const { keyId } = await withKey({});
    expect(await rightsOf(keyCaller(keyId))).toEqual([true, true, true]);
    expect(await authorize(keyCaller(keyId), { imei: '13999999998' })).toMatchObject({
      vehicleId: null,
      rights: { command: true },
    });
    expect(await authorize(keyCaller(keyId), {})).toMatchObject({ imei: null, accountId: ours.accountId });
  });

  it('is 404 for a device of another account', async () => {
    const key = await createKey(harness.records, { accountId: harness.theirs.accountId, name: 'foreign' });
    const keys = harness.deps.database.collection<ApiKey>('api_keys');
    const keyId = (await keys.findOne({ keySha256: hashKey(key) }))?._id ?? 0;
    expect(await findError(authorize(keyCaller(keyId, harness.theirs.accountId)))).toBe('vehicle_not_found');
    // The account is part of the key's identity.
    expect(await findError(authorize(keyCaller(keyId)))).toBe('api_key_invalid');
  });

  it('ends with the key', async () => {
    const { keyId, keys } = await withKey({});
    await keys.updateOne({ _id: keyId }, { $set: { revokedAt: new Date() } });
    expect(await findError(authorize(keyCaller(keyId)))).toBe('api_key_invalid');
    expect(await findError(authorize(keyCaller(999_999)))).toBe('api_key_invalid');
  });
});

describe('the video of a share link', () => {
  const makeLink = async (permissions: string[], more: object = {}): Promise<number> => {
    const body = { vehicle_id: vehicleId, expires_in_hours: 1, permissions, ...more };
    const { status, data } = await harness.as(ours.owner).post('/api/share-links', body);
    expect(status).toBe(201);
    return data.id;
  };
  const watch = (linkId: number) => authorize({ kind: 'link', linkId }, {});

  it('is live video only, and only with the permission', async () => {
    const linkId = await makeLink(['location', 'live_video']);
    expect(await watch(linkId)).toMatchObject({
      imei,
      vehicleId,
      rights: { live: true, history: false, command: false },
      expiresAtMs: expect.any(Number),
    });
    expect(await findError(watch(await makeLink(['location'])))).toBe('permission_denied');
    expect(await findError(watch(999_999))).toBe('not_found');
  });

  it('ends with the link, but not with its last view', async () => {
    const linkId = await makeLink(['live_video'], { max_views: 1 });
    const links = harness.deps.database.collection<{ _id: number; isUsedUp: boolean; expiresAt: Date }>('share_links');
    await links.updateOne({ _id: linkId }, { $set: { isUsedUp: true } });
    expect((await watch(linkId)).rights.live).toBe(true);
    expect((await harness.as(ours.owner).delete(`/api/share-links/${linkId}`)).status).toBe(200);
    expect(await findError(watch(linkId))).toBe('share_link_revoked');
    const expired = await makeLink(['live_video']);
    await links.updateOne({ _id: expired }, { $set: { expiresAt: new Date(Date.now() - 1) } });
    expect(await findError(watch(expired))).toBe('share_link_expired');
  });
});
