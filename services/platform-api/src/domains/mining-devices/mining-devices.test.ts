import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Client, PlatformHarness } from '../../testing/platform-harness.ts';
import { ingestedId, keepIngested } from './ingestion.ts';

jest.setTimeout(60_000);

let harness: PlatformHarness;
let owner: Client;
let stranger: Client;
beforeAll(async () => {
  harness = await PlatformHarness.open();
  owner = harness.as(harness.ours.owner);
  stranger = harness.as(harness.theirs.owner);
});
afterAll(() => harness?.close());

const path = '/api/mining-devices';
const newImei = (): string => `86${String(randomInt(10 ** 12)).padStart(13, '0')}`;
const list = (client: Client, body: unknown) => client.post(`${path}/list`, body);

/** Ingests positions that a partner sent for a device of the account. */
async function ingest(imei: string, ...seconds: number[]): Promise<void> {
  const scope = { accountId: harness.ours.accountId };
  const items = seconds.map((second) => {
    const timestamp = new Date(1_700_000_000_000 + second * 1000);
    return {
      _id: ingestedId(scope, imei, timestamp),
      ...scope,
      imei,
      timestamp,
      receivedAt: timestamp,
      latitude: 22.5,
      longitude: 114.1,
      speed: 30,
      course: 90,
      altitude: null,
      satellites: 7,
      ignition: true,
      odometerKm: null,
      batteryPercent: null,
      backfilled: false,
    };
  });
  await keepIngested(harness.deps, scope, 'positions', items);
}

describe('mining devices', () => {
  it('creates, changes and deletes a mining device', async () => {
    const imei = newImei();
    const made = await owner.post(path, { imei, site: 'North pit' });
    expect(made).toMatchObject({
      status: 201,
      data: { imei, site: 'North pit', status: 'pending', data_count: 0, last_seen: null, last_location: null },
    });
    const one = `${path}/${made.data.id}`;
    expect(made.headers.get('location')).toBe(one);
    expect(await owner.get(one)).toMatchObject({ status: 200, data: made.data });
    const changed = await owner.put(one, { data: { vehicle_no: 'KA 01', imei: newImei(), attributes: { a: 1 } } });
    expect(changed).toMatchObject({ status: 200, data: { imei, vehicle_no: 'KA 01', attributes: { a: 1 } } });
    expect(changed.body).toMatchObject({ meta: { ignored_fields: ['/imei'] } });
    expect(await owner.put(one, { site: null }, { 'if-match': '"1"' })).toMatchObject({ status: 412 });
    expect(await owner.delete(one)).toMatchObject({ status: 200, data: { id: made.data.id } });
    for (const gone of [await owner.delete(one), await owner.get(one)]) expect(gone.status).toBe(404);
    expect(await owner.post(path, { imei })).toMatchObject({ status: 201 });
  });

  it('requires a number that is unique in the system in any form, and does not reveal its account', async () => {
    const digits = `1${String(randomInt(10 ** 10)).padStart(10, '0')}`;
    expect(await owner.post(path, { imei: `0${digits}` })).toMatchObject({ status: 201, data: { imei: `0${digits}` } });
    for (const client of [owner, stranger]) {
      const again = await client.post(path, { imei: digits.padStart(20, '0') });
      expect(again).toMatchObject({ status: 409, body: { code: 'duplicate' } });
      expect(JSON.stringify(again.body)).not.toContain('account');
    }
  });

  it.each([
    {},
    { imei: '' },
    { imei: '12345' },
    { imei: '000000000000' },
    { imei: 868120303960832 },
    { imei: '86812030396083a' },
    { imei: '868120303960832', status: 'broken' },
    { imei: '868120303960832', site: 7 },
  ])('rejects %j', async (body) => {
    expect(await owner.post(path, body)).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
  });

  it('lists devices by the page, limit, query and filters of the body', async () => {
    const tenant = await harness.tenant('Miners');
    const client = harness.as(tenant.owner);
    const imeis = [newImei(), newImei(), newImei()];
    for (const [i, imei] of imeis.entries())
      await client.post(path, { imei, vehicle_no: `MINE-${i}`, site: i === 0 ? 'North' : 'South', status: 'active' });
    const first = await list(client, { page: 1, limit: 2 });
    expect(first.items.map((item) => item['imei'])).toEqual([imeis[2], imeis[1]]);
    expect(first.body).toMatchObject({ meta: { pagination: { page: 1, pageSize: 2, pageCount: 2, total: 3 } } });
    expect((await list(client, { page: 2, limit: 2 })).items.map((item) => item['imei'])).toEqual([imeis[0]]);
    expect(await list(client, { page: 9, limit: 2 })).toMatchObject({ status: 200, items: [] });
    expect((await list(client, { limit: 1000 })).body).toMatchObject({ meta: { pagination: { pageSize: 200 } } });
    expect((await list(client, { query: 'mine-1' })).items).toMatchObject([{ vehicle_no: 'MINE-1' }]);
    expect((await list(client, { query: '.*' })).items).toEqual([]);
    expect((await list(client, { filters: { site: 'North', status: 'active' } })).items).toHaveLength(1);
    expect((await list(client, { filters: { created_from: Date.now() + 60_000 } })).items).toEqual([]);
    expect((await list(client, { filters: { created_to: '2020-01-01T00:00:00Z' } })).items).toEqual([]);
    expect((await list(client, { filters: { seen_since: '2020-01-01T00:00:00Z' } })).items).toEqual([]);
    expect(await list(client, undefined)).toMatchObject({ status: 200 });
    expect((await list(stranger, {})).items.filter((item) => imeis.includes(String(item['imei'])))).toEqual([]);
  });

  it.each([
    { page: 0 },
    { page: 'one' },
    { limit: 0 },
    { limit: -1 },
    { limit: '5' },
    { filters: { colour: 'red' } },
    { filters: { status: 'broken' } },
    { filters: { seen_since: 'yesterday' } },
    { filters: 'all' },
    { query: 5 },
  ])('rejects listing by %j', async (body) => {
    expect(await list(owner, body)).toMatchObject({ status: 400 });
  });

  it('names an unknown filter and the known ones', async () => {
    expect((await list(owner, { filters: { colour: 'red' } })).body).toMatchObject({
      error: expect.stringMatching(/^The field filters\.colour is not a known field; known fields: status, site, /),
      details: [{ path: '/filters/colour', message: expect.any(String) }],
    });
  });

  it('hides devices from other accounts and rejects changes by viewers', async () => {
    const { data } = await owner.post(path, { imei: newImei(), site: 'Ours' });
    expect(await stranger.put(`${path}/${data.id}`, { site: 'Theirs' })).toMatchObject({ status: 404 });
    expect(await stranger.delete(`${path}/${data.id}`)).toMatchObject({ status: 404 });
    expect(await stranger.get(`${path}/${data.id}`)).toMatchObject({ status: 404 });
    expect((await list(owner, { query: String(data['imei']) })).items).toMatchObject([{ site: 'Ours' }]);
    const viewer = harness.as(await harness.user('viewer'));
    expect(await viewer.put(`${path}/${data.id}`, { site: 'x' })).toMatchObject({ status: 403 });
    expect(await viewer.post(path, { imei: newImei() })).toMatchObject({ status: 403 });
    for (const read of [await list(viewer, {}), await viewer.get(`${path}/${data.id}`)]) expect(read.status).toBe(200);
  });
});

describe('mining devices of a driver', () => {
  it("returns only the devices of the driver's own vehicles", async () => {
    const user = await harness.user('driver');
    const driver = harness.as(user);
    const imei = newImei();
    const [own, other] = [await owner.post(path, { imei }), await owner.post(path, { imei: newImei() })];
    const vehicle = await owner.post('/api/vehicles', { vehicle_no: 'DRIVEN', imei });
    expect((await list(driver, {})).items).toEqual([]);
    const given = await owner.put(`/api/vehicles/${vehicle.data.id}/owner`, { owner_user_id: user.id });
    expect(given.status).toBe(200);
    expect((await list(driver, {})).items.map(({ id }) => id)).toEqual([own.data.id]);
    expect((await driver.get(`${path}/${own.data.id}`)).status).toBe(200);
    expect((await driver.get(`${path}/${other.data.id}`)).status).toBe(404);
  });
});

describe('clear-database', () => {
  const clear = (client: Client, body: unknown) => client.post('/api/mining-device/clear-database', body);

  it('deletes ingested data of one device or before a time, but never the devices', async () => {
    const imei = newImei();
    const { data } = await owner.post(path, { imei });
    await ingest(imei, 0, 1, 2, 2);
    const seen = (await list(owner, { query: imei })).items[0];
    expect(seen).toMatchObject({ data_count: 3, version: 1, last_location: { source: 'partner', speed: 30, imei } });
    expect(await clear(stranger, { confirm: 'CLEAR', imei })).toMatchObject({
      data: { locations_deleted: 0, heartbeats_deleted: 0 },
    });
    const before = new Date(1_700_000_001_000).toISOString();
    expect(await clear(owner, { confirm: 'CLEAR', imei, before })).toMatchObject({ data: { locations_deleted: 1 } });
    expect((await list(owner, { query: imei })).items).toMatchObject([{ data_count: 2 }]);
    expect(await clear(owner, { confirm: 'CLEAR' })).toMatchObject({ status: 200, data: { locations_deleted: 2 } });
    expect((await list(owner, { query: imei })).items).toMatchObject([
      { id: data.id, data_count: 0, last_location: null, last_seen: null },
    ]);
    const audited = await owner.get('/api/audit-log?action=mining_devices.clear_database');
    expect(audited.items[0]).toMatchObject({ user_id: harness.ours.owner.id, detail: { locations_deleted: 2 } });
  });

  it('requires the confirmation, and an owner or admin', async () => {
    for (const body of [undefined, {}, { confirm: 'clear' }, { confirm: true }, { confirm: 'CLEAR', before: 'noon' }])
      expect([body, (await clear(owner, body)).status]).toEqual([body, 400]);
    expect(await clear(harness.as(await harness.user('manager')), { confirm: 'CLEAR' })).toMatchObject({ status: 403 });
  });
});
