import { randomInt } from 'node:crypto';
import { findDevice, request } from '@fleet/bus';
import { claimDevice, deregisterGateway, heartbeatGateway, releaseDevice } from '@fleet/storage';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type ApiResponse, type Client, type Data, PlatformHarness } from '../../testing/platform-harness.ts';
import { visibleVehicle } from './visibility.ts';

jest.setTimeout(60_000);

let harness: PlatformHarness;
let owner: Client;
let numbers = 0;

beforeAll(async () => {
  harness = await PlatformHarness.open();
  owner = harness.as(harness.ours.owner);
});
afterAll(() => harness?.close());

/** Returns a terminal number that no other test has, even in a shared Redis. */
const newImei = (): string => `0${randomInt(10 ** 10, 10 ** 11 - 1)}`;
const newNo = (): string => `NO${(numbers += 1)}`;

async function create(body: Record<string, unknown> = {}, client = owner): Promise<Data> {
  const response = await client.post('/api/vehicles', { vehicle_no: newNo(), ...body });
  expect(response.status).toBe(201);
  return response.data;
}
const idsIn = (items: readonly Data[]): number[] => items.map(({ id }) => id);

/** Returns the fault of a rejected request. */
const faultOf = ({ body }: ApiResponse) => body as { code: string; details: { path: string; message: string }[] };
const pathsOf = (response: ApiResponse): string[] => faultOf(response).details.map(({ path }) => path);

describe('vehicles', () => {
  it('creates and reads a vehicle with all its fields', async () => {
    const body = {
      name: 'Truck one',
      imei: newImei(),
      vehicle_type: 'truck',
      make: 'MAN',
      model: 'TGX',
      year: 2020,
      color: 'red',
      fuel_type: 'diesel',
      tank_capacity_l: 400.5,
      speed_limit_kmh: 80,
      odometer_km: 1234.5,
      timezone: 'Asia/Kolkata',
      camera_utc_offset: '-03:30',
      attributes: { $owner: { 'a.b': 1 } },
    };
    const created = await owner.post('/api/vehicles', {
      ...body,
      vehicle_no: 'ka 01 ab 1234',
      vin: 'wdb9634031l738234',
      channels: [{ channel_id: 2, name: 'Cabin', has_audio: true }, { channel_id: 37 }],
    });
    expect(created.status).toBe(201);
    const id = created.data.id;
    expect(created.headers.get('location')).toBe(`/api/vehicles/${id}`);
    const response = {
      ...body,
      id,
      created_at: expect.any(String),
      updated_at: expect.any(String),
      version: 1,
      account_id: harness.ours.accountId,
      owner_user_id: harness.ours.owner.id,
      vehicle_no: 'KA01AB1234',
      vin: 'WDB9634031L738234',
      driver_id: null,
      group_ids: [],
      channels: [
        { channel_id: 2, name: 'Cabin', enabled: true, has_audio: true },
        { channel_id: 37, name: 'Channel 37', enabled: true, has_audio: false },
      ],
      access: 'owner',
      permissions: ['view', 'live_video', 'history_video', 'notifications', 'commands'],
      state: 'never_connected',
      state_since: null,
      location: null,
      device: null,
      subscription: null,
    };
    expect(created.data).toEqual(response);
    const read = await owner.get(`/api/vehicles/${id}`);
    expect([read.status, read.headers.get('etag'), read.data]).toEqual([200, '"1"', response]);
  });

  it('changes a vehicle unless its version is stale, and deletes it with its unique values', async () => {
    const imei = newImei();
    const { id } = await create({ name: 'Truck two', imei, vehicle_no: 'KA 2', make: 'MAN', model: 'TGX' });
    const changed = await owner.put(`/api/vehicles/${id}`, {
      name: null,
      vehicle_no: 'x 9',
      vehicle_type: null,
      timezone: null,
      camera_utc_offset: null,
      make: null,
    });
    expect(changed.data).toMatchObject({
      name: 'X9',
      vehicle_no: 'X9',
      vehicle_type: 'other',
      timezone: 'UTC',
      camera_utc_offset: '+08:00',
      make: null,
      model: 'TGX',
      version: 2,
    });
    const stale = await owner.put(`/api/vehicles/${id}`, { name: 'S' }, { 'if-match': '"1"' });
    expect([stale.status, faultOf(stale).code]).toEqual([412, 'version_mismatch']);
    expect((await owner.put(`/api/vehicles/${id}`, { name: 'S' }, { 'if-match': '"2"' })).status).toBe(200);

    const deleted = await owner.delete(`/api/vehicles/${id}`);
    expect([deleted.status, deleted.data['name']]).toEqual([200, 'S']);
    expect((await owner.delete(`/api/vehicles/${id}`)).body).toMatchObject({ status: 404, code: 'vehicle_not_found' });
    await create({ imei, vehicle_no: 'X9' });
  });

  it('sets defaults of a vehicle with only a number', async () => {
    expect(await create({ vehicle_no: 'def 1' })).toMatchObject({
      name: 'DEF1',
      imei: null,
      vehicle_type: 'other',
      odometer_km: 0,
      timezone: 'UTC',
      camera_utc_offset: '+08:00',
      channels: [],
      attributes: {},
      state: 'never_connected',
    });
  });

  it('requires a number that is unique in the account, and a terminal that is unique in the system', async () => {
    const imei = newImei();
    await create({ vehicle_no: 'ONCE 1', imei });
    const number = await owner.post('/api/vehicles', { vehicle_no: 'once1' });
    expect([number.status, faultOf(number).details]).toEqual([409, [{ path: '/vehicle_no', message: 'is taken' }]]);
    const stranger = harness.as(harness.theirs.owner);
    const same = await stranger.post('/api/vehicles', { vehicle_no: 'ONCE1', imei: imei.padStart(20, '0') });
    expect([same.status, faultOf(same).code]).toEqual([409, 'duplicate']);
    expect(JSON.stringify(same.body)).not.toContain(String(harness.ours.accountId) + ':');
    expect((await stranger.post('/api/vehicles', { vehicle_no: 'ONCE1' })).status).toBe(201);
    const other = await create({});
    const moved = await owner.put(`/api/vehicles/${other.id}`, { imei });
    expect([moved.status, faultOf(moved).details]).toEqual([409, [{ path: '/imei', message: 'is taken' }]]);
  });

  it('makes the terminal known, and returns its number as it was written', async () => {
    const imei = newImei();
    const find = () => request(harness.bus, findDevice, { imei: imei.slice(1) }, { timeoutMs: 3_000 });
    expect(await find()).toEqual({ known: false, accountId: null, vehicleId: null, cameraUtcOffset: '+08:00' });
    const vehicle = await create({ imei, camera_utc_offset: '+05:30' });
    expect(vehicle['imei']).toBe(imei);
    expect(await find()).toEqual({
      known: true,
      accountId: harness.ours.accountId,
      vehicleId: vehicle.id,
      cameraUtcOffset: '+05:30',
    });
    expect((await owner.put(`/api/vehicles/${vehicle.id}`, { imei: null })).data['imei']).toBeNull();
    expect(await find()).toMatchObject({ known: false });
  });

  it.each([
    ['no vehicle number', { vehicle_no: undefined }, '/vehicle_no'],
    ['a blank vehicle number', { vehicle_no: '   ' }, '/vehicle_no'],
    ['a vehicle number of 21 characters', { vehicle_no: 'x'.repeat(21) }, '/vehicle_no'],
    ['a terminal number of 11 digits', { imei: '12345678901' }, '/imei'],
    ['a terminal number of zeros', { imei: '000000000000' }, '/imei'],
    ['a terminal number that is not a string', { imei: 123_456_789_012 }, '/imei'],
    ['an unknown type', { vehicle_type: 'ship' }, '/vehicle_type'],
    ['a year before 1900', { year: 1899 }, '/year'],
    ['a year too far in the future', { year: new Date().getUTCFullYear() + 2 }, '/year'],
    ['a short vin', { vin: 'ABC' }, '/vin'],
    ['a speed limit below 10 km/h', { speed_limit_kmh: 9 }, '/speed_limit_kmh'],
    ['an odometer below zero', { odometer_km: -1 }, '/odometer_km'],
    ['an offset as time zone', { timezone: '+05:30' }, '/timezone'],
    ['an unknown time zone', { timezone: 'Mars/Phobos' }, '/timezone'],
    ['a camera clock below -12:00', { camera_utc_offset: '-12:30' }, '/camera_utc_offset'],
    ['a camera clock above +14:00', { camera_utc_offset: '+14:30' }, '/camera_utc_offset'],
    ['a camera clock without a sign', { camera_utc_offset: '08:00' }, '/camera_utc_offset'],
    ['a channel number above 37', { channels: [{ channel_id: 38 }] }, '/channels/0/channel_id'],
    ['a duplicate channel', { channels: [{ channel_id: 1 }, { channel_id: 1 }] }, '/channels/1/channel_id'],
    ['17 channels', { channels: Array.from({ length: 17 }, (_unused, n) => ({ channel_id: n + 1 })) }, '/channels'],
    ['attributes above 8 KiB', { attributes: { a: 'x'.repeat(8200) } }, '/attributes'],
    ['a name with NUL', { name: 'a\u0000b' }, '/name'],
  ])('rejects %s with 400 and the path', async (_case, body, path) => {
    const response = await owner.post('/api/vehicles', { vehicle_no: newNo(), ...body });
    expect([response.status, faultOf(response).code]).toEqual([400, 'validation_failed']);
    expect(pathsOf(response)).toContain(path);
  });

  it('ignores and names read-only and unknown fields', async () => {
    const response = await owner.post('/api/vehicles', {
      vehicle_no: newNo(),
      owner_user_id: 1,
      state: 'moving',
      x: 1,
    });
    expect(response.body).toMatchObject({ meta: { ignored_fields: ['/owner_user_id', '/state', '/x'] } });
    expect(response.data['owner_user_id']).toBe(harness.ours.owner.id);
  });

  it('accepts only drivers and groups of the account', async () => {
    const driver = (await owner.post('/api/drivers', { name: 'D' })).data.id;
    const group = (await owner.post('/api/vehicle-groups', { name: 'G' })).data.id;
    const vehicle = await create({ driver_id: driver, group_ids: [group, group] });
    expect(vehicle).toMatchObject({ driver_id: driver, group_ids: [group] });
    const stranger = harness.as(harness.theirs.owner);
    for (const link of [{ driver_id: driver }, { group_ids: [group] }]) {
      const response = await stranger.post('/api/vehicles', { vehicle_no: newNo(), ...link });
      expect([response.status, faultOf(response).code]).toEqual([404, 'not_found']);
    }
  });

  it('lists vehicles in pages, sorted, and finds them by number, name and terminal', async () => {
    const client = harness.as((await harness.tenant('Lists')).owner);
    const imei = newImei();
    const a = await create({ vehicle_no: 'LA 100', name: 'Zebra', imei }, client);
    const b = await create({ vehicle_no: 'LB 200', name: 'ape (x)' }, client);
    const found = async (query: string) => idsIn((await client.get(`/api/vehicles?${query}`)).items);
    expect(await found('')).toEqual([b.id, a.id]);
    expect(await found('sort=vehicle_no')).toEqual([a.id, b.id]);
    expect(await found('query=la%20100')).toEqual([a.id]);
    expect(await found('query=%28X')).toEqual([b.id]);
    expect(await found(`query=${imei.slice(3)}`)).toEqual([a.id]);
    expect(await found(`imei=${imei.padStart(20, '0')}`)).toEqual([a.id]);
    expect(await found('imei=abcdefg')).toEqual([]);
    expect(await found('state=never_connected&sort=id')).toEqual([a.id, b.id]);
    expect(await found('state=moving')).toEqual([]);
    const page = await client.get('/api/vehicles?limit=1&offset=1');
    expect(page.body).toMatchObject({ meta: { pagination: { page: 2, pageSize: 1, pageCount: 2, total: 2 } } });
    for (const bad of ['state=gone', 'sort=imei', 'group_id=x', 'driver_id=0', 'limit=0', 'page=1&offset=0'])
      expect((await client.get(`/api/vehicles?${bad}`)).status).toBe(400);
  });

  it('hides vehicles from other accounts', async () => {
    const { id } = await create();
    const stranger = harness.as(harness.theirs.owner);
    const path = `/api/vehicles/${id}`;
    for (const response of [
      await stranger.get(path),
      await stranger.put(path, { name: 'X' }),
      await stranger.put(`${path}/owner`, { owner_user_id: harness.theirs.owner.id }),
      await stranger.delete(path),
    ])
      expect([response.status, faultOf(response).code]).toEqual([404, 'vehicle_not_found']);
    expect(idsIn((await stranger.get('/api/vehicles')).items)).not.toContain(id);
    expect((await owner.get('/api/vehicles/x')).status).toBe(404);
  });

  it('lets an owner or admin set the owning user; a driver sees only own vehicles', async () => {
    const { id } = await create();
    const hidden = await create();
    const path = `/api/vehicles/${id}/owner`;
    const user = await harness.user('driver');
    const manager = harness.as(await harness.user('manager'));
    expect((await manager.put(path, { owner_user_id: user.id })).status).toBe(403);
    const foreign = await owner.put(path, { owner_user_id: harness.theirs.owner.id });
    expect([foreign.status, faultOf(foreign).code]).toEqual([404, 'user_not_found']);
    expect((await owner.put(path, {})).status).toBe(400);
    expect((await owner.put(path, { owner_user_id: user.id }, { 'if-match': '"9"' })).status).toBe(412);
    const admin = harness.as(await harness.user('admin'));
    expect((await admin.put(path, { owner_user_id: user.id })).data['owner_user_id']).toBe(user.id);

    const driver = harness.as(user);
    expect((await driver.get('/api/vehicles')).items).toMatchObject([{ id, permissions: ['view', 'notifications'] }]);
    expect((await driver.get(`/api/vehicles/${hidden.id}`)).status).toBe(404);
    expect((await driver.put(`/api/vehicles/${id}`, { name: 'X' })).status).toBe(403);
  });

  it('lets a viewer read a vehicle, with video if that is allowed, and a manager change it', async () => {
    const { id } = await create();
    const viewer = harness.as(await harness.user('viewer'));
    const seen = await viewer.get(`/api/vehicles/${id}`);
    expect(seen.data['permissions']).toEqual(['view', 'notifications']);
    const watching = harness.as(await harness.user('viewer', harness.ours, { canViewVideo: true }));
    expect((await watching.get(`/api/vehicles/${id}`)).data['permissions']).toContain('live_video');
    for (const response of [
      await viewer.post('/api/vehicles', { vehicle_no: newNo() }),
      await viewer.put(`/api/vehicles/${id}`, { name: 'X' }),
      await viewer.delete(`/api/vehicles/${id}`),
    ])
      expect([response.status, faultOf(response).code]).toEqual([403, 'permission_denied']);
    const manager = harness.as(await harness.user('manager'));
    expect((await manager.put(`/api/vehicles/${id}`, { name: 'M' })).status).toBe(200);
  });

  it("returns a shared vehicle without the account's own data, and rejects changes by the other user", async () => {
    const driver = (await owner.post('/api/drivers', { name: 'Private' })).data.id;
    const { id } = await create({ driver_id: driver, attributes: { secret: 1 } });
    const guest = harness.theirs.owner;
    const shared = await owner.post('/api/vehicle/share-vehicles', { secondaryUser: guest.id, vehicles: [id] });
    expect(shared.status).toBe(200);
    const client = harness.as(guest);
    const seen = await client.get(`/api/vehicles/${id}`);
    expect(seen.data).toMatchObject({
      access: 'shared',
      permissions: ['view', 'notifications'],
      driver_id: null,
      group_ids: [],
      attributes: {},
    });
    expect(idsIn((await client.get('/api/vehicles')).items)).toContain(id);
    expect(idsIn((await client.get(`/api/vehicles?driver_id=${driver}`)).items)).not.toContain(id);
    const change = await client.put(`/api/vehicles/${id}`, { name: 'X' });
    expect([change.status, faultOf(change).code]).toEqual([403, 'permission_denied']);
    expect((await client.delete(`/api/vehicles/${id}`)).status).toBe(403);
    const caller = { ...guest, userId: guest.id, canViewVideo: true };
    await expect(visibleVehicle(harness.deps, caller, id, 'live_video')).rejects.toMatchObject({
      code: 'permission_denied',
    });
    await owner.delete(`/api/vehicles/${id}`);
    expect((await client.get(`/api/vehicles/${id}`)).status).toBe(404);
    expect((await client.get('/api/vehicle/shared-vehicles/' + guest.id)).items).toEqual([]);
  });

  it('returns the connected terminal, and ends its session when the vehicle is deleted', async () => {
    const imei = newImei();
    const podId = `pod-${imei}`;
    const key = imei.slice(1);
    const { redis } = harness.deps;
    const session = {
      sessionId: `session-${imei}`,
      podId,
      phone: imei,
      edition: '2019' as const,
      onlineSinceMs: Date.now() - 1_000,
      lastSeenMs: Date.now(),
      remoteAddress: '127.0.0.1:1',
    };
    const { id } = await create({ imei: imei.padStart(20, '0') });
    await heartbeatGateway(redis, podId);
    await claimDevice(redis, key, session);
    const fenced: string[] = [];
    const received = harness.bus.nc.subscribe(`gateway.${podId}.fence`, {
      callback: (_error, message) => fenced.push(message.string()),
    });
    try {
      const seen = (await owner.get(`/api/vehicles?imei=${imei}`)).items[0];
      expect(seen).toMatchObject({
        id,
        imei,
        state: 'stopped',
        device: {
          protocol: 'jt808-2019',
          connected: true,
          connected_since: new Date(session.onlineSinceMs).toISOString(),
          last_seen: new Date(session.lastSeenMs).toISOString(),
        },
      });
      expect(idsIn((await owner.get('/api/vehicles?state=stopped')).items)).toEqual([id]);
      await owner.delete(`/api/vehicles/${id}`);
      await waitFor(() => fenced.length > 0);
      expect(fenced[0]).toContain(session.sessionId);
    } finally {
      received.unsubscribe();
      await releaseDevice(redis, key, session.sessionId);
      await deregisterGateway(redis, podId);
    }
  });
});

describe('subscription of a vehicle', () => {
  /** Creates a vehicle with a paid subscription. */
  const paidVehicle = async (): Promise<number> => {
    const { id } = await create();
    const order = { plan: 'basic', vehicle_ids: [id], months: 3 };
    const made = await owner.post('/api/subscription/create-gateway-order', order);
    expect((await owner.post(`/api/subscription/orders/${made.data.id}/mark-paid`)).status).toBe(200);
    return id;
  };

  it('is part of the vehicle, and of lists without a query for each vehicle', async () => {
    const [one, other, unpaid] = [await paidVehicle(), await paidVehicle(), (await create()).id];
    const paid = { plan: 'basic', status: 'active', expires_at: expect.stringMatching(/Z$/) };
    expect((await owner.get(`/api/vehicles/${one}`)).data).toMatchObject({ subscription: paid });
    const reads = jest.spyOn(harness.records, 'collection');
    const { items } = await owner.get('/api/vehicles?limit=200');
    const subscriptionReads = reads.mock.calls.filter(([name]) => name === 'subscriptions');
    reads.mockRestore();
    const response = new Map(items.map(({ id, ...rest }) => [id, rest['subscription']]));
    expect([response.get(one), response.get(other), response.get(unpaid)]).toEqual([paid, paid, null]);
    expect(subscriptionReads).toHaveLength(1);
    const ended = { $set: { expiresAt: new Date(Date.now() - 86_400_000) } };
    const stored = harness.records.collection('subscriptions');
    await stored.updateOne({ vehicleId: one }, ended);
    expect((await owner.get(`/api/vehicles/${one}`)).data).toMatchObject({ subscription: { status: 'past_due' } });
  });

  it('is not visible to users of a share', async () => {
    const id = await paidVehicle();
    await owner.post('/api/vehicle/share-vehicles', { secondaryUser: harness.theirs.owner.id, vehicles: [id] });
    const theirs = harness.as(harness.theirs.owner);
    expect((await theirs.get(`/api/vehicles/${id}`)).data).toMatchObject({ access: 'shared', subscription: null });
    const listed = (await theirs.get('/api/vehicles?limit=200')).items.find((vehicle) => vehicle.id === id);
    expect(listed).toMatchObject({ subscription: null });
  });
});
