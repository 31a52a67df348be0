import { accessChanged, subscribe } from '@fleet/bus';
import { ServerProcess, waitFor } from '@fleet/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { type Client, type Data, PlatformHarness, type Tenant, type TestUser } from '../../testing/platform-harness.ts';
import { withMethod } from '../../testing/with-method.ts';
import { maskedName, maskedPhone, storedPermissions } from './rules.ts';

jest.setTimeout(60_000);
let harness: PlatformHarness;
beforeAll(async () => {
  harness = await PlatformHarness.open();
});
afterAll(() => harness.close());

let lastPhone = 5_550_000;
const newPhone = (): string => `+1415${(lastPhone += 1)}`;
const idsOf = (items: readonly Data[] = []) => items.map(({ id }) => id);

async function newVehicle(client: Client, vehicleNo: string): Promise<number> {
  const { status, data } = await client.post('/api/vehicles', { vehicle_no: vehicleNo });
  expect(status).toBe(201);
  return data.id;
}

describe('masks', () => {
  it('show the first letter of a name and the last four digits of a number', () => {
    expect(['Ann Lee', ' Øyvind', '李雷', '😀 x', ''].map(maskedName)).toEqual([
      'A***',
      'Ø***',
      '李***',
      '😀***',
      '***',
    ]);
    expect(maskedPhone('+14155550100')).toBe('+*******0100');
    expect(storedPermissions()).toEqual(['view', 'notifications']);
    expect(storedPermissions(['commands', 'live_video', 'commands'])).toEqual(['view', 'live_video', 'commands']);
    expect(storedPermissions([])).toEqual(['view']);
  });
});

describe('sharing', () => {
  let [ours, theirs]: Tenant[] = [];
  let guest: TestUser;
  let guestPhone: string;
  let [owner, asGuest]: Client[] = [];
  let [first, second]: number[] = [];

  beforeEach(async () => {
    [ours, theirs] = [await harness.tenant('Ours'), harness.theirs];
    guestPhone = newPhone();
    guest = await harness.user('manager', theirs, { name: 'Grace Guest', phoneNumber: guestPhone });
    [owner, asGuest] = [harness.as(ours.owner), harness.as(guest)];
    [first, second] = [await newVehicle(owner, 'AB 12'), await newVehicle(owner, 'CD 34')];
  });

  const share = (more: object = {}) =>
    owner?.post('/api/vehicle/share-vehicles', { secondaryUser: guest.id, vehicles: [first], ...more });

  describe('POST /api/vehicle/search-user-for-share', () => {
    const search = (phoneNumber: unknown, client = owner) =>
      client?.post('/api/vehicle/search-user-for-share', { phoneNumber });

    it('finds the user of exactly this number, masked', async () => {
      const spaced = `${guestPhone.slice(0, 2)} (${guestPhone.slice(2, 5)}) ${guestPhone.slice(5, 8)}-${guestPhone.slice(8)}`;
      for (const number of [guestPhone, spaced]) {
        const response = await search(number);
        expect(response?.status).toBe(200);
        expect(response?.body).toEqual({
          data: { id: guest.id, name: 'G***', phone_number: maskedPhone(guestPhone), avatar_url: null },
        });
      }
      const snake = await owner?.post('/api/vehicle/search-user-for-share', { phone_number: guestPhone });
      expect(snake?.status).toBe(200);
    });

    it.each(['phoneNumber', 'phone_number'])('reports an invalid %s by the name that the caller used', async (name) => {
      const wrong = [7, '', 'nonsense', ...(name === 'phoneNumber' ? [null] : [])];
      for (const value of wrong)
        expect((await owner?.post('/api/vehicle/search-user-for-share', { [name]: value }))?.body).toMatchObject({
          status: 400,
          error: expect.stringContaining(`The field ${name} must`),
          details: [{ path: `/${name}`, message: expect.any(String) }],
        });
    });

    it('finds no user by a part of the number, and neither disabled users nor the caller', async () => {
      expect((await search(newPhone()))?.body).toMatchObject({ status: 404, code: 'user_not_found' });
      expect((await search(guestPhone.slice(0, -1)))?.status).toBe(400);
      const phoneNumber = newPhone();
      await harness.user('viewer', theirs, { phoneNumber, disabled: true });
      expect((await search(phoneNumber))?.status).toBe(404);
      expect((await search(guestPhone, asGuest))?.body).toMatchObject({ status: 400 });
    });

    it.each(['', 'abc', '4155550100', '+0', '+1', '++14155550100', 12, null])('rejects %j', async (number) => {
      expect((await search(number))?.body).toMatchObject({ status: 400, code: 'validation_failed' });
    });

    it('limits the searches of a user', async () => {
      // Each harness starts user ids again, so the searches are counted in a separate Redis.
      const redis = await (await ServerProcess.redis()).start();
      const limited = await PlatformHarness.open({
        REDIS_URL: `redis://127.0.0.1:${redis.port}`,
        RATE_LIMIT_USER_SEARCH_PER_MINUTE: '2',
      });
      try {
        const client = limited.as(limited.ours.owner);
        const search = () => client.post('/api/vehicle/search-user-for-share', { phoneNumber: newPhone() });
        const statuses = [(await search()).status, (await search()).status];
        expect(statuses).toEqual([404, 404]);
        const refused = await search();
        expect(refused.body).toMatchObject({ status: 429, code: 'rate_limited' });
        expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      } finally {
        await limited.close();
        await redis.remove();
      }
    });
  });

  describe('POST /api/vehicle/share-vehicles', () => {
    it('shows the vehicle to a user of another account, with the permissions', async () => {
      expect((await asGuest?.get(`/api/vehicles/${first}`))?.body).toMatchObject({ code: 'vehicle_not_found' });
      const response = await share({ permissions: ['live_video'] });
      expect(response?.status).toBe(200);
      expect(response?.items).toEqual([
        expect.objectContaining({
          owner_user_id: ours?.owner.id,
          secondary_user_id: guest.id,
          vehicle_id: first,
          vehicle_no: 'AB12',
          permissions: ['view', 'live_video'],
          expires_at: null,
          version: 1,
        }),
      ]);
      expect((await asGuest?.get(`/api/vehicles/${first}`))?.data).toMatchObject({
        access: 'shared',
        permissions: ['view', 'live_video'],
        driver_id: null,
      });
      expect((await asGuest?.get(`/api/vehicles/${second}`))?.status).toBe(404);
      expect((await harness.as(theirs?.owner ?? guest).get(`/api/vehicles/${first}`)).status).toBe(404);
      expect((await asGuest?.put(`/api/vehicles/${first}`, { name: 'mine' }))?.status).toBe(403);
    });

    it('replaces permissions and expiry when a vehicle is shared again', async () => {
      const before = (await share({ permissions: ['commands'] }))?.items[0];
      const expiresAt = new Date(Date.now() + 3_600_000).toISOString();
      const after = (await share({ expires_at: expiresAt, vehicles: [first, first, second] }))?.items;
      expect(after).toHaveLength(2);
      expect(after?.[0]).toMatchObject({
        id: before?.['id'],
        permissions: ['view', 'notifications'],
        expires_at: expiresAt,
      });
    });

    it('ends a share when it expires', async () => {
      // Long enough for the request that shares the vehicle, on a busy machine.
      await share({ expires_at: new Date(Date.now() + 2_000).toISOString() });
      await waitFor(async () => (await asGuest?.get(`/api/vehicles/${first}`))?.status === 404);
      expect((await owner?.get('/api/vehicle/get-shared-users'))?.items).toEqual([]);
    });

    it('returns 403 for vehicles that are only shared with the caller, and 404 for invisible ones', async () => {
      await share({ permissions: ['view', 'live_video', 'history_video', 'notifications', 'commands'] });
      const onward = await asGuest?.post('/api/vehicle/share-vehicles', {
        secondaryUser: (await harness.user('viewer', theirs)).id,
        vehicles: [first],
      });
      expect(onward?.body).toMatchObject({ status: 403, code: 'permission_denied' });
      const foreign = await asGuest?.post('/api/vehicle/share-vehicles', {
        secondaryUser: ours?.owner.id,
        vehicles: [second],
      });
      expect(foreign?.body).toMatchObject({ status: 404, code: 'vehicle_not_found' });
      for (const role of ['viewer', 'driver'] as const) {
        const client = harness.as(await harness.user(role, ours));
        const refused = await client.post('/api/vehicle/share-vehicles', {
          secondaryUser: guest.id,
          vehicles: [first],
        });
        expect(refused.status).toBe(403);
      }
    });

    it.each([
      ['/secondaryUser', { secondaryUser: 'me' }],
      ['/secondaryUser', { secondaryUser: 0 }],
      ['/vehicles', { vehicles: [] }],
      ['/vehicles', { vehicles: Array.from({ length: 201 }, (_unused, i) => i + 1) }],
      ['/vehicles/0', { vehicles: ['1'] }],
      ['/permissions/0', { permissions: ['everything'] }],
      ['/expires_at', { expires_at: 'tomorrow' }],
      ['/expires_at', { expires_at: '2020-01-01T00:00:00Z' }],
    ])('rejects an invalid value at %s', async (path, body) => {
      expect((await share(body))?.body).toMatchObject({ status: 400, details: [{ path }] });
    });

    it('rejects unknown users and vehicles, and sharing with oneself', async () => {
      expect((await share({ secondaryUser: 999_999_999 }))?.body).toMatchObject({ code: 'user_not_found' });
      expect((await share({ secondaryUser: ours?.owner.id }))?.body).toMatchObject({ status: 400 });
      expect((await share({ vehicles: [first, 999_999_999] }))?.body).toMatchObject({ code: 'vehicle_not_found' });
      expect((await asGuest?.get(`/api/vehicles/${first}`))?.status).toBe(404);
    });

    it('shares vehicles in the requested order, and stops sharing all of them', async () => {
      if (owner === undefined) throw new Error('there is no owner');
      const many: number[] = [];
      for (let n = 0; n < 12; n += 1) many.push(await newVehicle(owner, `MANY ${n}`));
      const named = many.toReversed();
      const response = await share({ vehicles: named });
      expect(response?.items.map((item) => item['vehicle_id'])).toEqual(named);
      const taken = await owner.post('/api/vehicle/remove-share-vehicles', { secondaryUser: guest.id });
      expect(new Set(taken.data['removed'] as number[])).toEqual(new Set(many));
    });

    it('creates one share for concurrent requests', async () => {
      const responses = await Promise.all(Array.from({ length: 5 }, () => share()));
      expect(responses.map((response) => response?.status)).toEqual([200, 200, 200, 200, 200]);
      expect((await owner?.get('/api/vehicle/get-shared-users'))?.items[0]?.['vehicles']).toHaveLength(1);
    });

    it('is recorded in the audit log', async () => {
      await share();
      const entries = await owner?.get('/api/audit-log?action=vehicles.share');
      expect(entries?.items[0]).toMatchObject({
        user_id: ours?.owner.id,
        target: { type: 'users', id: guest.id },
        detail: { vehicles: [first] },
      });
    });
  });

  describe('POST /api/vehicle/remove-share-vehicles', () => {
    const unshare = (more: object = {}, client = owner) =>
      client?.post('/api/vehicle/remove-share-vehicles', { secondaryUser: guest.id, ...more });

    it('stops sharing vehicles, and notifies every replica', async () => {
      await share({ vehicles: [first, second] });
      const received: unknown[] = [];
      const listening = subscribe(
        harness.bus,
        accessChanged,
        () => undefined,
        (change) => received.push(change),
      );
      expect((await unshare({ vehicles: [first, 999_999_999] }))?.body).toEqual({ data: { removed: [first] } });
      await waitFor(() => Promise.resolve(received.length > 0));
      listening.stop();
      expect(received).toContainEqual({ userId: guest.id });
      expect((await asGuest?.get(`/api/vehicles/${first}`))?.status).toBe(404);
      expect((await asGuest?.get(`/api/vehicles/${second}`))?.status).toBe(200);
      expect((await unshare())?.body).toEqual({ data: { removed: [second] } });
      expect((await unshare())?.body).toEqual({ data: { removed: [] } });
    });

    it('removes no shares of another account', async () => {
      await share();
      expect((await unshare({ vehicles: [first] }, harness.as(harness.theirs.owner)))?.body).toEqual({
        data: { removed: [] },
      });
      expect((await asGuest?.get(`/api/vehicles/${first}`))?.status).toBe(200);
      expect((await unshare({ vehicles: 'all' }))?.status).toBe(400);
      expect((await unshare({ secondaryUser: null }))?.status).toBe(400);
    });
  });

  describe('GET /api/vehicle/get-shared-users and shared-vehicles/:userId', () => {
    it('lists users with their shares, and masks those of other accounts', async () => {
      const colleague = await harness.user('driver', ours, { name: 'Carl Colleague', phoneNumber: newPhone() });
      await share({ vehicles: [first, second] });
      await owner?.post('/api/vehicle/share-vehicles', { secondaryUser: colleague.id, vehicles: [second] });
      const all = await owner?.get('/api/vehicle/get-shared-users');
      expect(all?.body).toMatchObject({ meta: { pagination: { total: 2, page: 1 } } });
      expect(all?.items).toMatchObject([
        { id: colleague.id, name: 'Carl Colleague', vehicles: [{ vehicle_id: second }] },
        { id: guest.id, name: 'G***', phone_number: maskedPhone(guestPhone), vehicles: [{}, {}] },
      ]);
      const ofFirst = await owner?.get(`/api/vehicle/get-shared-users?vehicle_id=${first}`);
      expect(idsOf(ofFirst?.items)).toEqual([guest.id]);
      const page = await owner?.get('/api/vehicle/get-shared-users?limit=1&offset=1');
      expect(idsOf(page?.items)).toEqual([guest.id]);
      expect((await asGuest?.get('/api/vehicle/get-shared-users'))?.items).toEqual([]);
      expect((await harness.as(colleague).get('/api/vehicle/get-shared-users')).items).toEqual([]);
    });

    it('sorts users by their returned names, with one lookup per account', async () => {
      const colleagues: TestUser[] = [];
      for (const name of ['Zoe', 'Ann', 'Max']) colleagues.push(await harness.user('viewer', ours, { name }));
      const shared = [...colleagues, guest].map(({ id }) => id);
      for (const secondaryUser of shared) await share({ secondaryUser });
      const collection = harness.records.collection.bind(harness.records);
      const requested: unknown[] = [];
      jest.spyOn(harness.records, 'collection').mockImplementation((name: string) => {
        const real = collection(name);
        const noted =
          (method: 'find' | 'findOne') =>
          (...given: unknown[]): unknown => {
            requested.push((given[0] as { _id?: unknown })._id);
            return Reflect.apply(real[method], real, given);
          };
        if (name !== 'users') return real;
        return withMethod(withMethod(real, 'find', noted('find')), 'findOne', noted('findOne'));
      });
      try {
        const response = await owner?.get('/api/vehicle/get-shared-users?sort=name');
        expect(response?.items.map(({ name }) => name)).toEqual(['Ann', 'G***', 'Max', 'Zoe']);
      } finally {
        jest.restoreAllMocks();
      }
      const inAccounts = [{ $in: expect.arrayContaining(colleagues.map(({ id }) => id)) }, { $in: [guest.id] }];
      expect(requested).toEqual(expect.arrayContaining(inAccounts));
      for (const id of shared) expect(requested).not.toContain(id);
    });

    it('returns the current owning user, not the one at the time of sharing', async () => {
      await share();
      const manager = await harness.user('manager', ours);
      const passed = await owner?.put(`/api/vehicles/${first}/owner`, { owner_user_id: manager.id });
      expect(passed?.status).toBe(200);
      const all = await owner?.get('/api/vehicle/get-shared-users');
      expect(all?.items[0]?.['vehicles']).toMatchObject([{ vehicle_id: first, owner_user_id: manager.id }]);
    });

    it('lists the vehicles shared with a user, and those shared with the caller', async () => {
      await share({ vehicles: [first, second], permissions: ['commands'] });
      const toGuest = await owner?.get(`/api/vehicle/shared-vehicles/${guest.id}`);
      expect(toGuest?.items).toMatchObject([
        { id: second, access: 'owner' },
        { id: first, vehicle_no: 'AB12' },
      ]);
      const own = await asGuest?.get(`/api/vehicle/shared-vehicles/${guest.id}?limit=1`);
      expect(own?.items).toMatchObject([{ id: second, access: 'shared', permissions: ['view', 'commands'] }]);
      expect(own?.body).toMatchObject({ meta: { pagination: { total: 2, pageSize: 1 } } });
    });

    it('returns 404 for users with whom nothing is shared', async () => {
      await share();
      const stranger = await harness.user('viewer', theirs);
      for (const id of [stranger.id, 999_999_999, 'x', 0, -1])
        expect((await owner?.get(`/api/vehicle/shared-vehicles/${id}`))?.status).toBe(404);
      expect((await harness.as(stranger).get(`/api/vehicle/shared-vehicles/${guest.id}`)).status).toBe(200);
    });
  });
});
