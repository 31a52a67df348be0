import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { NotificationHarness } from '../../testing/notification-harness.ts';
import type { ApiResponse, Client, Data, PlatformHarness, TestUser } from '../../testing/platform-harness.ts';
import { typeDefinitions } from './type-definitions.ts';

jest.setTimeout(60_000);

const base = '/api/notifications';
let tested: NotificationHarness;
let platform: PlatformHarness;
let owner: Client;
let stranger: Client;
beforeAll(async () => {
  tested = await NotificationHarness.open();
  ({ platform, owner, stranger } = tested);
});
afterAll(() => tested.close());
beforeEach(async () => {
  tested.vehicleId = await tested.createVehicle();
});

const typesIn = ({ items }: ApiResponse) => items.map((each) => each['notification_type']);

describe('GET /api/notifications/types', () => {
  it('lists all types', async () => {
    const { status, items } = await platform.as(await platform.user('driver')).get(`${base}/types`);
    expect(status).toBe(200);
    expect(items).toHaveLength(typeDefinitions.length);
    expect(items[0]).toEqual({
      type: 'sos',
      title: 'SOS',
      description: 'The driver pressed the emergency button.',
      category: 'emergency',
      severity: 'critical',
      default_enabled: true,
      sources: ['alarm:0'],
    });
  });

  it('returns the types in the caller’s language, or in English if there is no translation', async () => {
    const client = platform.as(await platform.user('viewer', platform.ours, { language: 'es' }));
    let etag = '';
    const titles = async () => {
      const { headers, items } = await client.get(`${base}/types`, { 'if-none-match': etag });
      etag = headers.get('etag') ?? '';
      return items.slice(0, 2).map((kind) => kind['title']);
    };
    expect(await titles()).toEqual(['SOS', 'Exceso de velocidad']);
    await client.put('/api/user-preferences/me', { language: 'zh-Hans-CN' });
    expect(await titles()).toEqual(['紧急报警', '超速']);
    await client.put('/api/user-preferences/me', { language: 'fi' });
    expect(await titles()).toEqual(['SOS', 'Overspeed']);
  });
});

describe.each([
  ['/api/notifications/types', () => platform.as(platform.ours.owner)],
  ['/api/subscriptions/plans', () => platform.as(platform.ours.owner)],
  ['/api/openapi.json', () => platform.anonymous],
])('GET %s', (path, client) => {
  it('returns 304 to a client that has the same response', async () => {
    const first = await client().get(path);
    const etag = first.headers.get('etag') ?? '';
    expect([first.status, etag]).toEqual([200, expect.stringMatching(/^W\/".+"$/)]);
    expect(await client().get(path, { 'if-none-match': etag })).toMatchObject({ status: 304, body: '' });
    expect((await client().get(path, { 'if-none-match': '"other"' })).status).toBe(200);
  });
});

describe('GET /api/notifications/vehicle-notifications/:vehicleId', () => {
  const list = (query = '', client = owner, id = tested.vehicleId) =>
    client.get(`${base}/vehicle-notifications/${id}${query}`);

  it('returns the current day of the vehicle’s time zone, newest first', async () => {
    const now = Date.now();
    const id = await tested.record('sos', now - 5);
    await tested.record('overspeed', now);
    await tested.record('overspeed', now - 3 * 24 * 3_600_000);
    const response = await list();
    expect(response.status).toBe(200);
    expect(typesIn(response)).toEqual(['overspeed', 'sos']);
    expect(response.items[1]).toEqual({
      id,
      created_at: expect.any(String),
      updated_at: expect.any(String),
      version: 1,
      title: 'SOS',
      description: 'The driver pressed the emergency button.',
      notification_type: 'sos',
      imei: '013800138000',
      timestamp: now - 5,
      server_timestamp: expect.any(Number),
      location: { latitude: 1.5, longitude: 2.5 },
      vehicle_id: tested.vehicleId,
      vehicle_no: 'N',
      driver_id: null,
      category: 'emergency',
      severity: 'critical',
      address: null,
      attributes: { count: 2 },
      media: [],
      backfilled: false,
      acknowledged_at: null,
      acknowledged_by: null,
      acknowledged_by_name: null,
      driver_name: null,
    });
  });

  it('filters by a day in the vehicle’s time zone, times, types and severity', async () => {
    tested.vehicleId = await tested.createVehicle(owner, { timezone: 'Asia/Kolkata' });
    await tested.record('sos', Date.parse('2026-01-31T18:29:59Z'));
    await tested.record('geofence', Date.parse('2026-01-31T18:30:00Z'));
    await tested.record('ignition_on', Date.parse('2026-02-01T18:29:59Z'));
    for (const day of ['1/2/2026', '01/02/2026'])
      expect(typesIn(await list(`?record_date=${encodeURIComponent(day)}`))).toEqual(['ignition_on', 'geofence']);
    const from = '?from=2026-01-01T00:00:00Z';
    expect(typesIn(await list(from))).toEqual(['ignition_on', 'geofence', 'sos']);
    expect(typesIn(await list(`${from}&to=${Date.parse('2026-01-31T18:30:00Z')}`))).toEqual(['sos']);
    expect(typesIn(await list(`${from}&type=sos,%20geofence`))).toEqual(['geofence', 'sos']);
    expect(typesIn(await list(`${from}&notification_type=sos`))).toEqual(['sos']);
    expect(typesIn(await list(`${from}&severity=info`))).toEqual(['ignition_on']);
    const page = await list(`${from}&limit=1&offset=1`);
    expect(typesIn(page)).toEqual(['geofence']);
    expect(page.body).toMatchObject({ meta: { pagination: { page: 2, pageSize: 1, total: 3 } } });
  });

  it.each(['31/2/2026', '2026-02-01', 'today', '1/1/26'])('rejects the day %s', async (day) => {
    expect((await list(`?record_date=${encodeURIComponent(day)}`)).body).toMatchObject({
      status: 400,
      code: 'bad_date',
    });
  });

  it.each(['type', 'notification_type'])('rejects an unknown type in %s and names it', async (name) => {
    for (const path of [
      `${base}/vehicle-notifications/${tested.vehicleId}?${name}=sos,nonsense`,
      `${base}?${name}=nonsense`,
    ])
      expect((await owner.get(path)).body).toMatchObject({
        status: 400,
        code: 'validation_failed',
        error: `The query parameter ${name} must name notification types; "nonsense" is not one.`,
        details: [{ path: `/${name}`, message: 'must name notification types; "nonsense" is not one' }],
      });
  });

  it('rejects other invalid parameters', async () => {
    expect((await list('?from=soon')).body).toMatchObject({ code: 'bad_date' });
    expect((await list('?record_date=1/1/2026&from=1')).body).toMatchObject({ code: 'conflicting_parameters' });
    expect((await list('?severity=grave')).status).toBe(400);
    expect((await list('?limit=0')).status).toBe(400);
  });

  it('returns 404 if the vehicle is not visible, and 403 without the permission for notifications', async () => {
    await tested.record('sos', Date.now());
    expect((await list('', stranger)).body).toMatchObject({ status: 404, code: 'vehicle_not_found' });
    expect((await list('', platform.as(await platform.user('driver')))).status).toBe(404);
    const guest = await platform.user('manager', platform.theirs);
    await tested.share(guest, ['view']);
    expect((await list('', platform.as(guest))).body).toMatchObject({ status: 403, code: 'permission_denied' });
    await tested.share(guest, ['notifications']);
    expect(typesIn(await list('', platform.as(guest)))).toEqual(['sos']);
  });
});

describe('GET /api/notifications', () => {
  it('lists the notifications of all vehicles whose notifications the caller may see', async () => {
    const guest = await platform.user('viewer', platform.theirs);
    const at = Date.parse('2025-05-05T00:00:00Z');
    const foreign = await tested.createVehicle(stranger);
    await tested.record('sos', at);
    await tested.record('towing', at + 1, { vehicleId: foreign }, platform.theirs.accountId);
    const query = `?from=${at}&to=${at + 10}`;
    expect(typesIn(await owner.get(base + query))).toEqual(['sos']);
    expect(typesIn(await platform.as(guest).get(base + query))).toEqual(['towing']);
    await tested.share(guest, ['view']);
    expect(typesIn(await platform.as(guest).get(base + query))).toEqual(['towing']);
    await tested.share(guest, ['notifications']);
    expect(typesIn(await platform.as(guest).get(base + query))).toEqual(['towing', 'sos']);
    expect(typesIn(await platform.as(guest).get(`${base}${query}&vehicle_id=${tested.vehicleId}`))).toEqual(['sos']);
    const driver = await platform.user('driver');
    expect(typesIn(await platform.as(driver).get(base + query))).toEqual([]);
    await owner.put(`/api/vehicles/${tested.vehicleId}/owner`, { owner_user_id: driver.id });
    expect(typesIn(await platform.as(driver).get(base + query))).toEqual(['sos']);
  });
});

describe('driver of a notification', () => {
  const attributes = JSON.stringify({
    count: 2,
    driver_name: 'Ann',
    previous_driver_id: 8,
    driver: 'Ann',
    card_number: 'C 1',
    drivers: 1,
  });
  const pickFields = ({ driver_id, attributes: response }: Data) => ({ driver_id, attributes: response });
  const whole = { driver_id: 9, attributes: JSON.parse(attributes) };
  const without = { driver_id: null, attributes: { count: 2, drivers: 1 } };

  it('is visible to the account that owns the vehicle, and not to users of a share', async () => {
    const at = Date.parse('2025-06-06T00:00:00Z');
    const id = await tested.record('driver_change', at, { driverId: 9, attributes });
    const between = `?from=${at}&to=${at + 1}`;
    const lists = [`${base}${between}`, `${base}/vehicle-notifications/${tested.vehicleId}${between}`];
    const seenBy = async (client: Client): Promise<unknown[]> => {
      const responses = await Promise.all(lists.map((path) => client.get(path)));
      return responses.flatMap(({ items }) => items.map(pickFields));
    };
    const guest = await platform.user('manager', platform.theirs);
    await tested.share(guest, ['notifications', 'commands']);
    expect(await seenBy(platform.as(guest))).toEqual([without, without]);
    expect(await seenBy(owner)).toEqual([whole, whole]);
    expect(pickFields((await platform.as(guest).post(`${base}/${id}/acknowledge`)).data)).toEqual(without);
    expect(pickFields((await owner.post(`${base}/${id}/acknowledge`)).data)).toEqual(whole);
  });

  it('is visible to drivers if the vehicle is their own', async () => {
    const at = Date.parse('2025-06-07T00:00:00Z');
    await tested.record('driver_change', at, { driverId: 9, attributes });
    const driver = await platform.user('driver');
    await tested.share(driver, ['notifications']);
    const seen = async () => (await platform.as(driver).get(`${base}?from=${at}&to=${at + 1}`)).items.map(pickFields);
    expect(await seen()).toEqual([without]);
    await owner.put(`/api/vehicles/${tested.vehicleId}/owner`, { owner_user_id: driver.id });
    expect(await seen()).toEqual([whole]);
  });
});

describe('geofence of a notification', () => {
  it('is the address for the account, but not for its drivers or for users of a share', async () => {
    const at = Date.parse('2025-06-08T00:00:00Z');
    await tested.record('sos', at, { address: 'Shenzhen', area: 'Depot of Ann' });
    const seenBy = async (user: TestUser) => {
      const { items } = await platform.as(user).get(`${base}?from=${at}&to=${at + 1}`);
      expect(items).toHaveLength(1);
      expect(items[0]).not.toHaveProperty('area');
      return items[0]?.['address'];
    };
    const [guest, driver] = [await platform.user('manager', platform.theirs), await platform.user('driver')];
    await tested.share(guest, ['notifications']);
    expect(await seenBy(guest)).toBe('Shenzhen');
    await owner.put(`/api/vehicles/${tested.vehicleId}/owner`, { owner_user_id: driver.id });
    expect(await seenBy(driver)).toBe('Shenzhen');
    expect(await seenBy(platform.ours.owner)).toBe('Depot of Ann');
    expect(await seenBy(await platform.user('viewer'))).toBe('Depot of Ann');
  });
});
