import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { lastLocationAt, writeLastLocation } from '../../testing/last-location.ts';
import { type Client, type Data, PlatformHarness } from '../../testing/platform-harness.ts';
import { nextVersions } from './row-versions.ts';

jest.setTimeout(60_000);

let harness: PlatformHarness;
let owner: Client;
let count = 0;

beforeAll(async () => {
  harness = await PlatformHarness.open();
  owner = harness.as(harness.ours.owner);
});
afterAll(() => harness?.close());

const newImei = (): string => `0${randomInt(10 ** 10, 10 ** 11 - 1)}`;

async function createVehicle(client: Client, body: Record<string, unknown> = {}): Promise<Data> {
  count += 1;
  const { data, status } = await client.post('/api/vehicles', { vehicle_no: `FLEET${count}`, ...body });
  expect(status).toBe(201);
  return data;
}

interface Fleet {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
  readonly removed: readonly number[];
  readonly complete: boolean;
  readonly generated_at: string;
}

async function readFleet(client: Client, query = ''): Promise<Fleet> {
  const { data, status } = await client.get(`/api/fleet${query}`);
  expect(status).toBe(200);
  return data as unknown as Fleet;
}

/** Returns the rows as records by vehicle id. */
const toRecords = ({ columns, rows }: Fleet): Map<number, Record<string, unknown>> =>
  new Map(
    rows.map((row) => {
      const record = Object.fromEntries(columns.map((name, at) => [name, row[at]]));
      return [Number(record['vehicle_id']), record];
    }),
  );

const toTime = (fleet: Fleet): string => `?updated_since=${Date.parse(fleet.generated_at)}`;

describe('GET /api/fleet', () => {
  it('returns every visible vehicle as one row with its driver, cameras, state and position', async () => {
    const driver = (await owner.post('/api/drivers', { name: 'Asha Nair' })).data;
    const imei = newImei();
    const reporting = await createVehicle(owner, {
      name: 'Truck one',
      imei,
      vehicle_type: 'truck',
      driver_id: driver.id,
      channels: [{ channel_id: 1 }, { channel_id: 2, enabled: false }, { channel_id: 3 }],
    });
    const silent = await createVehicle(owner);
    const nowMs = Date.now();
    const location = { ...lastLocationAt(imei, 22.5, 114.1), speed: 52, course: 90, ignition: true };
    const stateChange = { state: 'moving' as const, atMs: nowMs - 42_000 };
    await writeLastLocation(harness.deps, { ...location, timestamp: nowMs, serverTimestamp: nowMs, stateChange });
    const fleet = await readFleet(owner);
    expect(fleet).toMatchObject({ removed: [], complete: true });
    const rows = toRecords(fleet);
    expect(rows.get(reporting.id)).toMatchObject({
      vehicle_no: reporting['vehicle_no'],
      name: 'Truck one',
      vehicle_type: 'truck',
      imei,
      group_ids: [],
      driver_id: driver.id,
      driver_name: 'Asha Nair',
      channel_ids: [1, 3],
      access: 'owner',
      state: 'moving',
      state_since: nowMs - 42_000,
      connected: false,
      latitude: 22.5,
      longitude: 114.1,
      speed: 52,
      course: 90,
      ignition: true,
      gps_valid: true,
      timestamp: nowMs,
      open_severity: null,
    });
    expect(rows.get(silent.id)).toMatchObject({
      imei: null,
      driver_name: null,
      state: 'never_connected',
      state_since: null,
      latitude: null,
      timestamp: null,
    });
  });

  it('returns 304 without a body to a client that has the current rows', async () => {
    await createVehicle(owner);
    const first = await owner.get('/api/fleet');
    const tag = first.headers.get('etag') ?? '';
    expect(tag).toMatch(/^W\//);
    const second = await owner.get('/api/fleet', { 'if-none-match': tag });
    expect([second.status, second.body]).toEqual([304, '']);
    await createVehicle(owner);
    expect((await owner.get('/api/fleet', { 'if-none-match': tag })).status).toBe(200);
  });

  it('returns only the changed rows and the removed vehicles since an earlier response', async () => {
    const [kept, renamed, removed] = [
      await createVehicle(owner),
      await createVehicle(owner),
      await createVehicle(owner),
    ];
    const before = await readFleet(owner);
    expect(await readFleet(owner, toTime(before))).toMatchObject({ rows: [], removed: [], complete: false });
    await owner.put(`/api/vehicles/${renamed.id}`, { name: 'Another name' });
    await owner.delete(`/api/vehicles/${removed.id}`);
    const added = await createVehicle(owner);
    // A second window reads the changes first.
    await readFleet(owner);
    const changes = await readFleet(owner, toTime(before));
    const rows = toRecords(changes);
    expect([...rows.keys()].toSorted((a, b) => a - b)).toEqual([renamed.id, added.id]);
    expect(rows.has(kept.id)).toBe(false);
    expect(rows.get(renamed.id)).toMatchObject({ name: 'Another name' });
    expect(changes).toMatchObject({ removed: [removed.id], complete: false });
  });

  it('returns all rows if the changes since a time are not known', async () => {
    const vehicle = await createVehicle(owner);
    await readFleet(owner);
    const fleet = await readFleet(owner, '?updated_since=2020-01-01T00:00:00Z');
    expect(fleet.complete).toBe(true);
    expect(toRecords(fleet).has(vehicle.id)).toBe(true);
  });

  it('marks a vehicle with its highest severity until the event is acknowledged', async () => {
    const vehicle = await createVehicle(owner);
    const record = (id: number, severity: string) => ({
      _id: id,
      accountId: harness.ours.accountId,
      vehicleId: vehicle.id,
      severity,
      type: 'sos',
      acknowledgedAt: null,
      createdAt: new Date(),
      updatedAt: new Date(),
      version: 1,
    });
    const notifications = harness.records.collection('notifications');
    await notifications.insertMany([record(901_001, 'warning'), record(901_002, 'critical')] as never);
    const severity = async () => toRecords(await readFleet(owner)).get(vehicle.id)?.['open_severity'];
    expect(await severity()).toBe('critical');
    await notifications.updateOne({ _id: 901_002 }, { $set: { acknowledgedAt: new Date() } });
    expect(await severity()).toBe('warning');
  });

  it('returns no vehicle of another account, and only shared and own vehicles to a driver', async () => {
    const [ours, theirs] = [await createVehicle(owner), await createVehicle(harness.as(harness.theirs.owner))];
    const rows = toRecords(await readFleet(owner));
    expect([rows.has(ours.id), rows.has(theirs.id)]).toEqual([true, false]);
    const driver = await harness.user('driver');
    expect((await readFleet(harness.as(driver))).rows).toEqual([]);
    await owner.put(`/api/vehicles/${ours.id}/owner`, { owner_user_id: driver.id });
    const own = await readFleet(harness.as(driver));
    expect([...toRecords(own).keys()]).toEqual([ours.id]);
  });

  it('shows no driver, group or event of a vehicle that is only shared to view', async () => {
    const group = (await owner.post('/api/vehicle-groups', { name: 'South depot' })).data;
    const driver = (await owner.post('/api/drivers', { name: 'Bela Rao' })).data;
    const vehicle = await createVehicle(owner, { driver_id: driver.id, group_ids: [group.id] });
    const guest = await harness.user('manager', harness.theirs);
    const shared = await owner.post('/api/vehicle/share-vehicles', {
      secondaryUser: guest.id,
      vehicles: [vehicle.id],
      permissions: ['view'],
    });
    expect(shared.status).toBeLessThan(300);
    const client = harness.as(guest);
    const before = await readFleet(client);
    expect(toRecords(before).get(vehicle.id)).toMatchObject({
      access: 'shared',
      permissions: ['view'],
      group_ids: [],
      driver_id: null,
      driver_name: null,
      open_severity: null,
    });
  });

  it('rejects a time that is not valid', async () => {
    expect((await owner.get('/api/fleet?updated_since=yesterday')).status).toBe(400);
  });
});

describe('the versions of rows', () => {
  const hour = 3_600_000;

  it('keep the time of the last change of each row, and of its removal', () => {
    const first = nextVersions(
      null,
      new Map([
        [1, ['a']],
        [2, ['b']],
      ]),
      1_000,
    );
    const second = nextVersions(
      first,
      new Map([
        [1, ['a']],
        [2, ['c']],
      ]),
      2_000,
    );
    expect([...second.rows].map(([id, { changedAtMs }]) => [id, changedAtMs])).toEqual([
      [1, 1_000],
      [2, 2_000],
    ]);
    const third = nextVersions(second, new Map([[2, ['c']]]), 3_000);
    expect(third.rows.get(1)).toEqual({ hash: null, changedAtMs: 3_000 });
    expect(nextVersions(third, new Map([[2, ['c']]]), 4_000).rows.get(1)).toEqual({ hash: null, changedAtMs: 3_000 });
  });

  it('forget removals after an hour, and then no longer know the changes before', () => {
    const first = nextVersions(null, new Map([[1, ['a']]]), 1_000);
    const removed = nextVersions(first, new Map(), 2_000);
    const later = nextVersions(removed, new Map(), 2_001 + hour);
    expect(later.rows.has(1)).toBe(false);
    expect(later.sinceMs).toBe(2_001);
  });
});
