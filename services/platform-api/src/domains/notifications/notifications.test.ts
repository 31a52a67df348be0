import { type LiveEvent, liveEvents, subscribe } from '@fleet/bus';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { FakeTerminals, generalResponse, newImei } from '../../testing/fake-terminals.ts';
import { recordTestNotification } from '../../testing/notifications.ts';
import {
  type ApiResponse,
  type Client,
  type Data,
  PlatformHarness,
  type TestUser,
} from '../../testing/platform-harness.ts';
import type { AuditEntry } from '../audit/schema.ts';
import { wantedNotifications } from './preferences.ts';
import { defaultTypes } from './rules.ts';
import type { Notification } from './schema.ts';
import { typeDefinitions } from './type-definitions.ts';

jest.setTimeout(60_000);
let harness: PlatformHarness;
let owner: Client;
let theirs: Client;
let vehicleId: number;
let vehicles = 0;
beforeAll(async () => {
  harness = await PlatformHarness.open();
  [owner, theirs] = [harness.as(harness.ours.owner), harness.as(harness.theirs.owner)];
});
afterAll(() => harness.close());
beforeEach(async () => {
  vehicleId = await newVehicle(owner);
});

/** Returns a time zone in which the current day began long ago and ends in hours. */
function middayZone(): string {
  const ahead = 12 - new Date().getUTCHours();
  // The sign of these names is inverted: it is the offset to Greenwich.
  return ahead === 0 ? 'UTC' : `Etc/GMT${ahead > 0 ? '-' : '+'}${Math.abs(ahead)}`;
}

async function newVehicle(client: Client, more: object = {}): Promise<number> {
  vehicles += 1;
  const body = { vehicle_no: `N ${vehicles}`, timezone: middayZone(), ...more };
  const { status, data } = await client.post('/api/vehicles', body);
  expect(status).toBe(201);
  return data.id;
}

const base = '/api/notifications';
let serial = 0;

/** Records a notification as the event rules do. */
async function record(
  type: string,
  timestamp: number,
  of: Partial<Notification> = {},
  accountId = harness.ours.accountId,
): Promise<number> {
  serial += 1;
  const fields = {
    dedupeKey: `test-${serial}`,
    type,
    vehicleId,
    vehicleNo: 'N',
    driverId: null,
    attributes: '{"count":2}',
    timestamp,
    serverTimestamp: timestamp + serial,
    ...of,
  };
  const { _id } = await recordTestNotification(harness.deps, accountId, fields);
  return _id;
}

const typesIn = ({ items }: ApiResponse) => items.map((each) => each['notification_type']);

const share = (user: TestUser, permissions: string[]) =>
  owner.post('/api/vehicle/share-vehicles', { secondaryUser: user.id, vehicles: [vehicleId], permissions });

describe('GET /api/notifications/types', () => {
  it('lists all types', async () => {
    const { status, items } = await harness.as(await harness.user('driver')).get(`${base}/types`);
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
    const client = harness.as(await harness.user('viewer', harness.ours, { language: 'es' }));
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
  ['/api/notifications/types', () => harness.as(harness.ours.owner)],
  ['/api/subscriptions/plans', () => harness.as(harness.ours.owner)],
  ['/api/openapi.json', () => harness.anonymous],
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
  const list = (query = '', client = owner, id = vehicleId) =>
    client.get(`${base}/vehicle-notifications/${id}${query}`);

  it('returns the current day of the vehicle’s time zone, newest first', async () => {
    const now = Date.now();
    const id = await record('sos', now - 5);
    await record('overspeed', now);
    await record('overspeed', now - 3 * 24 * 3_600_000);
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
      vehicle_id: vehicleId,
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
    });
  });

  it('filters by a day in the vehicle’s time zone, times, types and severity', async () => {
    vehicleId = await newVehicle(owner, { timezone: 'Asia/Kolkata' });
    await record('sos', Date.parse('2026-01-31T18:29:59Z'));
    await record('geofence', Date.parse('2026-01-31T18:30:00Z'));
    await record('ignition_on', Date.parse('2026-02-01T18:29:59Z'));
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
    for (const path of [`${base}/vehicle-notifications/${vehicleId}?${name}=sos,nonsense`, `${base}?${name}=nonsense`])
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
    await record('sos', Date.now());
    expect((await list('', theirs)).body).toMatchObject({ status: 404, code: 'vehicle_not_found' });
    expect((await list('', harness.as(await harness.user('driver')))).status).toBe(404);
    const guest = await harness.user('manager', harness.theirs);
    await share(guest, ['view']);
    expect((await list('', harness.as(guest))).body).toMatchObject({ status: 403, code: 'permission_denied' });
    await share(guest, ['notifications']);
    expect(typesIn(await list('', harness.as(guest)))).toEqual(['sos']);
  });
});

describe('GET /api/notifications', () => {
  it('lists the notifications of all vehicles whose notifications the caller may see', async () => {
    const guest = await harness.user('viewer', harness.theirs);
    const at = Date.parse('2025-05-05T00:00:00Z');
    const foreign = await newVehicle(theirs);
    await record('sos', at);
    await record('towing', at + 1, { vehicleId: foreign }, harness.theirs.accountId);
    const query = `?from=${at}&to=${at + 10}`;
    expect(typesIn(await owner.get(base + query))).toEqual(['sos']);
    expect(typesIn(await harness.as(guest).get(base + query))).toEqual(['towing']);
    await share(guest, ['view']);
    expect(typesIn(await harness.as(guest).get(base + query))).toEqual(['towing']);
    await share(guest, ['notifications']);
    expect(typesIn(await harness.as(guest).get(base + query))).toEqual(['towing', 'sos']);
    expect(typesIn(await harness.as(guest).get(`${base}${query}&vehicle_id=${vehicleId}`))).toEqual(['sos']);
    const driver = await harness.user('driver');
    expect(typesIn(await harness.as(driver).get(base + query))).toEqual([]);
    await owner.put(`/api/vehicles/${vehicleId}/owner`, { owner_user_id: driver.id });
    expect(typesIn(await harness.as(driver).get(base + query))).toEqual(['sos']);
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
    const id = await record('driver_change', at, { driverId: 9, attributes });
    const between = `?from=${at}&to=${at + 1}`;
    const lists = [`${base}${between}`, `${base}/vehicle-notifications/${vehicleId}${between}`];
    const seenBy = async (client: Client): Promise<unknown[]> => {
      const responses = await Promise.all(lists.map((path) => client.get(path)));
      return responses.flatMap(({ items }) => items.map(pickFields));
    };
    const guest = await harness.user('manager', harness.theirs);
    await share(guest, ['notifications', 'commands']);
    expect(await seenBy(harness.as(guest))).toEqual([without, without]);
    expect(await seenBy(owner)).toEqual([whole, whole]);
    expect(pickFields((await harness.as(guest).post(`${base}/${id}/acknowledge`)).data)).toEqual(without);
    expect(pickFields((await owner.post(`${base}/${id}/acknowledge`)).data)).toEqual(whole);
  });

  it('is visible to drivers if the vehicle is their own', async () => {
    const at = Date.parse('2025-06-07T00:00:00Z');
    await record('driver_change', at, { driverId: 9, attributes });
    const driver = await harness.user('driver');
    await share(driver, ['notifications']);
    const seen = async () => (await harness.as(driver).get(`${base}?from=${at}&to=${at + 1}`)).items.map(pickFields);
    expect(await seen()).toEqual([without]);
    await owner.put(`/api/vehicles/${vehicleId}/owner`, { owner_user_id: driver.id });
    expect(await seen()).toEqual([whole]);
  });
});

describe('geofence of a notification', () => {
  it('is the address for the account, but not for its drivers or for users of a share', async () => {
    const at = Date.parse('2025-06-08T00:00:00Z');
    await record('sos', at, { address: 'Shenzhen', area: 'Depot of Ann' });
    const seenBy = async (user: TestUser) => {
      const { items } = await harness.as(user).get(`${base}?from=${at}&to=${at + 1}`);
      expect(items).toHaveLength(1);
      expect(items[0]).not.toHaveProperty('area');
      return items[0]?.['address'];
    };
    const [guest, driver] = [await harness.user('manager', harness.theirs), await harness.user('driver')];
    await share(guest, ['notifications']);
    expect(await seenBy(guest)).toBe('Shenzhen');
    await owner.put(`/api/vehicles/${vehicleId}/owner`, { owner_user_id: driver.id });
    expect(await seenBy(driver)).toBe('Shenzhen');
    expect(await seenBy(harness.ours.owner)).toBe('Depot of Ann');
    expect(await seenBy(await harness.user('viewer'))).toBe('Depot of Ann');
  });
});

describe('POST /api/notifications/:id/acknowledge', () => {
  const acknowledge = (id: number, body?: unknown, client = owner) => client.post(`${base}/${id}/acknowledge`, body);

  it('stores the first user, the time and the note', async () => {
    const id = await record('sos', Date.now());
    const first = await acknowledge(id, { note: 'called the driver' });
    expect(first.status).toBe(200);
    expect(first.data).toMatchObject({
      acknowledged_by: harness.ours.owner.id,
      attributes: { count: 2, acknowledge_note: 'called the driver' },
      version: 2,
    });
    const second = await acknowledge(id, undefined, harness.as(await harness.user('manager')));
    expect(second.data).toEqual(first.data);
  });

  it('confirms the alarm at the terminal, returns the result, and publishes the notification', async () => {
    const terminals = new FakeTerminals(harness.deps);
    const imei = newImei();
    vehicleId = await newVehicle(owner, { imei: imei.padStart(12, '0') });
    const events: LiveEvent[] = [];
    const listening = subscribe(harness.bus, liveEvents, console.error, (live) => events.push(...live.events));
    try {
      await terminals.connect(imei);
      const id = await record('illegal_ignition', Date.now(), { imei, attributes: '{"bit":27}' });
      const { data } = await acknowledge(id, { note: 'seen' });
      const confirmed = () => terminals.seen.filter(({ command }) => command.kind === 'confirmAlarm');
      expect(confirmed().map(({ command }) => command)).toEqual([
        { kind: 'confirmAlarm', alarmSerialNo: 0, alarmTypes: 2 ** 27 },
      ]);
      expect(data).toMatchObject({ attributes: { bit: 27, acknowledge_note: 'seen', terminal_confirmed: true } });
      await waitFor(async () => events.some((event) => event.data['id'] === id));
      expect(events.find((event) => event.data['id'] === id)).toMatchObject({
        type: 'notification',
        vehicleId,
        data: { ...data, user: harness.ours.owner.id },
      });
      // The alarm is confirmed once.
      expect((await acknowledge(id)).data).toEqual(data);
      expect(confirmed()).toHaveLength(1);
    } finally {
      listening.stop();
      await terminals.close();
    }
  });

  it('stores that the terminal is unavailable or refuses, and tries again with the next acknowledgement', async () => {
    const terminals = new FakeTerminals(harness.deps);
    const imei = newImei();
    vehicleId = await newVehicle(owner, { imei: imei.padStart(12, '0') });
    try {
      const id = await record('sos', Date.now(), { imei, attributes: '{"bit":0}' });
      const away = await acknowledge(id);
      expect(away).toMatchObject({ status: 200, data: { attributes: { terminal_confirmed: false } } });
      await terminals.connect(imei);
      terminals.respond = async () => generalResponse(3, 0x8203);
      expect((await acknowledge(id)).data).toEqual(away.data);
      terminals.respond = async () => generalResponse(0, 0x8203);
      const { data } = await acknowledge(id);
      expect(data).toMatchObject({
        acknowledged_at: away.data['acknowledged_at'],
        attributes: { terminal_confirmed: true },
      });
      expect(terminals.seen).toHaveLength(2);
    } finally {
      await terminals.close();
    }
  });

  it('is recorded in the audit log of the vehicle’s account', async () => {
    const id = await record('sos', Date.now());
    const guest = await harness.user('manager', harness.theirs);
    await share(guest, ['notifications', 'commands']);
    await acknowledge(id, {}, harness.as(guest));
    const entries = harness.records.collection<AuditEntry>('audit_log').find({ target: { type: 'notifications', id } });
    expect(await entries.toArray()).toMatchObject([
      {
        accountId: harness.ours.accountId,
        userId: guest.id,
        action: 'notifications.acknowledge',
        target: { type: 'notifications', id },
        detail: { vehicle_id: vehicleId, type: 'sos' },
      },
    ]);
  });

  it('counts as a command in the bucket that device-api uses as well, and sends no command above its limit', async () => {
    const terminals = new FakeTerminals(harness.deps);
    const imei = newImei();
    vehicleId = await newVehicle(owner, { imei: imei.padStart(12, '0') });
    const bucket = `rate-limit:command:${imei}`;
    try {
      await terminals.connect(imei);
      const id = await record('sos', Date.now(), { imei, attributes: '{"bit":0}' });
      // The bucket is empty, and its clock prevents a refill for a minute.
      await harness.deps.redis.set(bucket, `1000000.0000:${Date.now() + 60_000}`);
      expect(await acknowledge(id)).toMatchObject({
        status: 200,
        data: { acknowledged_by: harness.ours.owner.id, attributes: { terminal_confirmed: false } },
      });
      expect(terminals.seen).toEqual([]);
      await harness.deps.redis.del(bucket);
      expect((await acknowledge(id)).data).toMatchObject({ attributes: { terminal_confirmed: true } });
      expect(await harness.deps.redis.get(bucket)).toMatch(/^1\.0+:/);
    } finally {
      await harness.deps.redis.del(bucket);
      await terminals.close();
    }
  });

  it('confirms no alarms that end by themselves, and none whose terminal is in another vehicle', async () => {
    const terminals = new FakeTerminals(harness.deps);
    const imei = newImei();
    try {
      await terminals.connect(imei);
      await newVehicle(theirs, { imei: imei.padStart(12, '0') });
      const ids = [
        await record('power_cut', Date.now(), { imei, attributes: '{"bit":8}' }),
        await record('unknown_alarm', Date.now(), { imei, attributes: '{"bit":31}' }),
        await record('sos', Date.now(), { imei, attributes: '{"bit":0}' }),
      ];
      const responses = await Promise.all(ids.map((id) => acknowledge(id)));
      expect(responses.map(({ data }) => data['attributes'])).toEqual([
        { bit: 8 },
        { bit: 31 },
        { bit: 0, terminal_confirmed: false },
      ]);
      expect(terminals.seen.filter(({ command }) => command.kind === 'confirmAlarm')).toEqual([]);
    } finally {
      await terminals.close();
    }
  });

  it('requires permission to send commands to the vehicle', async () => {
    const id = await record('sos', Date.now());
    for (const role of ['viewer', 'driver'] as const)
      expect((await acknowledge(id, {}, harness.as(await harness.user(role)))).status).toBe(403);
    expect((await acknowledge(id, {}, theirs)).status).toBe(404);
    expect((await acknowledge(999_999_999)).status).toBe(404);
    const guest = await harness.user('manager', harness.theirs);
    await share(guest, ['notifications']);
    expect((await acknowledge(id, {}, harness.as(guest))).status).toBe(403);
    await share(guest, ['commands']);
    expect((await acknowledge(id, {}, harness.as(guest))).status).toBe(404);
    await share(guest, ['commands', 'notifications']);
    expect((await acknowledge(id, {}, harness.as(guest))).data).toMatchObject({ acknowledged_by: guest.id });
    expect((await acknowledge(id, { note: 5 })).status).toBe(400);
    expect((await acknowledge(id, { note: 'a'.repeat(1_001) })).status).toBe(400);
  });
});

describe('vehicle preferences', () => {
  const write = (body: unknown, client = owner, id = vehicleId) =>
    client.post(`${base}/update-preferences/${id}`, body);
  const read = (client = owner, id = vehicleId) => client.get(`${base}/vehicle-preferences/${id}`);

  it('returns the preferences of each user, and the default until they are set', async () => {
    expect((await read()).body).toEqual({
      data: { vehicle_id: vehicleId, notification_types: defaultTypes, channels: ['push'], is_default: true },
    });
    const set = await write({ notification_types: ['sos', 'geofence', 'sos'], channels: ['email', 'sms'] });
    expect(set.status).toBe(200);
    const data = {
      vehicle_id: vehicleId,
      notification_types: ['sos', 'geofence'],
      channels: ['sms', 'email'],
      is_default: false,
    };
    expect(set.body).toEqual({ data });
    expect((await read()).body).toEqual({ data });
    expect((await read(harness.as(await harness.user('viewer')))).data).toMatchObject({ is_default: true });
    await write({ notification_types: [] });
    const muted = { notificationTypes: [], channels: ['sms', 'email'], isDefault: false };
    expect(await wantedNotifications(harness.deps, harness.ours.owner.id, vehicleId)).toEqual(muted);
  });

  it('accepts preferences from every role that sees the vehicle', async () => {
    const guest = await harness.user('viewer', harness.theirs);
    const asGuest = harness.as(guest);
    expect((await write({ notification_types: ['sos'] }, asGuest)).body).toMatchObject({ code: 'vehicle_not_found' });
    expect((await read(asGuest)).status).toBe(404);
    await share(guest, ['live_video']);
    expect((await write({ notification_types: ['sos'] }, asGuest)).status).toBe(403);
    await share(guest, ['notifications']);
    expect((await write({ notification_types: ['sos'] }, asGuest)).status).toBe(200);
    expect((await read()).data).toMatchObject({ is_default: true });
  });

  it('creates one record for several concurrent requests', async () => {
    const responses = await Promise.all(
      ['sos', 'towing', 'idling'].map((type) => write({ notification_types: [type] })),
    );
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect((await read()).data['notification_types']).toHaveLength(1);
  });

  it.each([
    ['/notification_types/1', { notification_types: ['sos', 'SOS'] }],
    ['/notification_types', {}],
    ['/notification_types', { notification_types: 'sos' }],
    ['/channels/0', { notification_types: [], channels: ['pigeon'] }],
  ])('rejects an invalid value at %s', async (path, body) => {
    expect((await write(body)).body).toMatchObject({ status: 400, details: [{ path }] });
  });
});
