import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type ApiResponse, type Client, PlatformHarness } from '../../testing/platform-harness.ts';
import { ensureVehicle } from '../vehicles/use-cases.ts';
import { findDriverNames, purgeArchivedNames } from './queries.ts';
import { archiveName, driverCollection } from './store.ts';

jest.setTimeout(60_000);

let harness: PlatformHarness;
let owner: Client;
let vehicleIds: number[];

beforeAll(async () => {
  harness = await PlatformHarness.open();
  owner = harness.as(harness.ours.owner);
  vehicleIds = [];
  for (const n of [1, 2]) vehicleIds.push(await vehicle(harness.ours, `DRV ${n}`, `0138${n}0000001`));
});
afterAll(() => harness?.close());

async function vehicle(tenant: PlatformHarness['ours'], vehicleNo: string, imei: string): Promise<number> {
  const fields = { accountId: tenant.accountId, ownerUserId: tenant.owner.id, vehicleNo, imei };
  return (await ensureVehicle(harness.records, fields)).record._id;
}
const create = async (body: Record<string, unknown>) => (await owner.post('/api/drivers', body)).data;

/** Returns the body of an error response. */
const getError = ({ body }: ApiResponse) => body as { code: string; details: { path: string; message: string }[] };
const errorPaths = (response: ApiResponse): string[] => getError(response).details.map(({ path }) => path);

describe('drivers', () => {
  const completeDriver = {
    name: 'Ann Driver',
    phone_number: '+1 (415) 555-2671',
    email: 'ann@example.com',
    address: '1 Road',
    photo_url: 'https://example.com/ann.jpg',
    notes: 'careful',
    license_number: ' L-1 ',
    license_class: 'C',
    license_country: 'DE',
    license_issue_date: '2020-02-29',
    license_expiry_date: '2030-02-28',
    date_of_birth: '1980-01-31',
    blood_group: 'AB-',
    emergency_contact: { name: 'Ben', phone_number: '+49 30 901820' },
    card_number: 'CARD-1',
    attributes: { $shift: 'night', 'a.b': [1, null] },
  };

  it('creates, reads, changes and deletes a driver with all fields', async () => {
    const created = await owner.post('/api/drivers', { ...completeDriver, vehicle_ids: vehicleIds });
    expect(created.status).toBe(201);
    const id = created.data.id;
    expect(created.headers.get('location')).toBe(`/api/drivers/${id}`);
    const response = {
      ...completeDriver,
      id,
      version: 1,
      phone_number: '+14155552671',
      license_number: 'L-1',
      emergency_contact: { name: 'Ben', phone_number: '+4930901820' },
      vehicle_ids: vehicleIds,
      current_vehicle_id: null,
      status: 'active',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updated_at: expect.any(String),
    };
    expect(created.data).toEqual(response);
    const read = await owner.get(`/api/drivers/${id}`);
    expect([read.status, read.headers.get('etag'), read.data]).toEqual([200, '"1"', response]);

    const changed = await owner.put(`/api/drivers/${id}`, {
      notes: null,
      status: 'inactive',
      vehicle_ids: vehicleIds.slice(1),
    });
    expect(changed.status).toBe(200);
    expect(changed.data).toMatchObject({
      notes: null,
      status: 'inactive',
      name: 'Ann Driver',
      vehicle_ids: vehicleIds.slice(1),
      version: 2,
    });
    const stale = await owner.put(`/api/drivers/${id}`, { name: 'A' }, { 'if-match': '"1"' });
    expect([stale.status, getError(stale).code]).toEqual([412, 'version_mismatch']);

    const deleted = await owner.delete(`/api/drivers/${id}`);
    expect([deleted.status, deleted.data['name']]).toEqual([200, 'Ann Driver']);
    expect(deleted.data['vehicle_ids']).toEqual(vehicleIds.slice(1));
    expect((await owner.delete(`/api/drivers/${id}`)).status).toBe(404);
    const left = await owner.get(`/api/vehicles/${vehicleIds[1]}`);
    expect(left.data['driver_id']).toBeNull();
  });

  it('moves a vehicle to the driver who was assigned last, in the vehicle and the driver records', async () => {
    const [first, second] = [
      await create({ name: 'First', vehicle_ids: vehicleIds }),
      await create({ name: 'Second', vehicle_ids: vehicleIds.slice(0, 1) }),
    ];
    expect((await owner.get(`/api/drivers/${first.id}`)).data['vehicle_ids']).toEqual(vehicleIds.slice(1));
    const seen = await owner.get(`/api/vehicles/${vehicleIds[0]}`);
    expect(seen.data['driver_id']).toBe(second.id);
    const ofVehicle = await owner.get(`/api/drivers?vehicle_id=${vehicleIds[1]}`);
    expect(ofVehicle.items).toMatchObject([{ name: 'First' }]);
    expect((await owner.get('/api/drivers?vehicle_id=999999')).items).toEqual([]);
    const driven = await owner.get(`/api/vehicles?driver_id=${first.id}`);
    expect(driven.items).toMatchObject([{ id: vehicleIds[1] }]);
  });

  it('lists drivers in pages, sorted, and finds them by name, phone, license and card', async () => {
    await create({ name: 'Zoe Search', phone_number: '+14155552672', license_number: 'SEARCH-L', card_number: 'SC9' });
    await create({ name: 'Abe Search', status: 'inactive' });
    const names = async (query: string) => (await owner.get(`/api/drivers?${query}`)).items.map((each) => each['name']);
    expect(await names('query=search&sort=name')).toEqual(['Abe Search', 'Zoe Search']);
    expect(await names('query=search&sort=-name&limit=1')).toEqual(['Zoe Search']);
    expect(await names('query=4155552672')).toEqual(['Zoe Search']);
    expect(await names('query=search-l')).toEqual(['Zoe Search']);
    expect(await names('query=sc9')).toEqual(['Zoe Search']);
    expect(await names('query=search&status=inactive')).toEqual(['Abe Search']);
    const page = await owner.get('/api/drivers?query=search&limit=1&offset=1');
    expect(page.body).toMatchObject({ meta: { pagination: { page: 2, pageSize: 1, pageCount: 2, total: 2 } } });
    expect((await owner.get('/api/drivers?sort=phone')).status).toBe(400);
    expect((await owner.get('/api/drivers?status=gone')).status).toBe(400);
  });

  it('rejects a license or card number of another driver of the account', async () => {
    await create({ name: 'Unique', license_number: 'U-1', card_number: 'UC-1' });
    const license = await owner.post('/api/drivers', { name: 'Other', license_number: 'U-1' });
    expect([license.status, getError(license).code]).toEqual([409, 'duplicate']);
    expect(getError(license).details).toEqual([{ path: '/license_number', message: 'is taken' }]);
    const card = await owner.post('/api/drivers', { name: 'Other', card_number: 'UC-1' });
    expect(getError(card).details).toEqual([{ path: '/card_number', message: 'is taken' }]);
    const elsewhere = await harness.as(harness.theirs.owner).post('/api/drivers', { name: 'T', license_number: 'U-1' });
    expect(elsewhere.status).toBe(201);
  });

  it.each([
    ['no name', {}, '/name'],
    ['an empty name', { name: '' }, '/name'],
    ['a name of the wrong type', { name: 7 }, '/name'],
    ['a date that does not exist', { name: 'X', license_expiry_date: '2025-02-30' }, '/license_expiry_date'],
    ['a timestamp instead of a date', { name: 'X', date_of_birth: '2000-01-01T00:00:00Z' }, '/date_of_birth'],
    ['a birth date in the future', { name: 'X', date_of_birth: '2999-01-01' }, '/date_of_birth'],
    [
      'a license that expires before its issue date',
      { name: 'X', license_issue_date: '2025-01-02', license_expiry_date: '2025-01-01' },
      '/license_expiry_date',
    ],
    ['a phone number without a country code', { name: 'X', phone_number: '030 123456' }, '/phone_number'],
    [
      'a contact without a phone number',
      { name: 'X', emergency_contact: { name: 'Y' } },
      '/emergency_contact/phone_number',
    ],
    ['an invalid e-mail', { name: 'X', email: 'x' }, '/email'],
    ['a photo URL that is not a web address', { name: 'X', photo_url: 'javascript:alert(1)' }, '/photo_url'],
    ['an unknown status', { name: 'X', status: 'fired' }, '/status'],
    ['a blank license', { name: 'X', license_number: '  ' }, '/license_number'],
    ['attributes above 8 KiB', { name: 'X', attributes: { a: 'x'.repeat(8200) } }, '/attributes'],
    ['vehicle ids that are not numbers', { name: 'X', vehicle_ids: ['1'] }, '/vehicle_ids/0'],
  ])('rejects %s with 400 and the path', async (_case, body, path) => {
    const response = await owner.post('/api/drivers', body);
    expect([response.status, getError(response).code]).toEqual([400, 'validation_failed']);
    expect(errorPaths(response)).toContain(path);
  });

  it('checks the dates of a change against the unchanged dates', async () => {
    const driver = await create({ name: 'Dated', license_issue_date: '2025-01-02' });
    const refused = await owner.put(`/api/drivers/${driver.id}`, { license_expiry_date: '2025-01-01' });
    expect(refused.status).toBe(400);
  });

  it('does not expose drivers and vehicles to another account', async () => {
    const driver = await create({ name: 'Hidden' });
    const path = `/api/drivers/${driver.id}`;
    const stranger = harness.as(harness.theirs.owner);
    for (const response of [
      await stranger.get(path),
      await stranger.put(path, { name: 'X' }),
      await stranger.delete(path),
    ])
      expect([response.status, getError(response).code]).toEqual([404, 'not_found']);
    const theirVehicle = await vehicle(harness.theirs, 'THEIRS', '013800000991');
    const taken = await owner.put(path, { vehicle_ids: [theirVehicle] });
    expect([taken.status, getError(taken).code]).toEqual([404, 'vehicle_not_found']);
    expect((await owner.get('/api/drivers/0')).status).toBe(404);
    expect((await owner.get('/api/drivers/x')).status).toBe(404);
  });

  it('lets viewers read and managers change drivers; users with the role driver see those of their own vehicles', async () => {
    const driver = await create({ name: 'Roles' });
    const path = `/api/drivers/${driver.id}`;
    const viewer = harness.as(await harness.user('viewer'));
    expect((await viewer.get(path)).status).toBe(200);
    const refused = await viewer.put(path, { name: 'X' });
    expect([refused.status, getError(refused).code]).toEqual([403, 'permission_denied']);
    const manager = harness.as(await harness.user('manager'));
    expect((await manager.put(path, { name: 'By manager' })).status).toBe(200);

    const user = await harness.user('driver');
    const own = await owner.put(`/api/vehicles/${vehicleIds[0]}/owner`, { owner_user_id: user.id });
    expect(own.status).toBe(200);
    const colleague = harness.as(user);
    expect((await colleague.get(path)).status).toBe(404);
    await owner.put(path, { vehicle_ids: [vehicleIds[0]] });
    expect((await colleague.get('/api/drivers')).items).toMatchObject([{ id: driver.id }]);
    // The response contains only the user's own vehicles.
    await owner.put(path, { vehicle_ids: vehicleIds.slice(0, 2) });
    const { accountId } = harness.ours;
    await driverCollection(harness.records).update({ accountId }, driver.id, { currentVehicleId: vehicleIds[1] ?? 0 });
    expect((await owner.get(path)).data).toMatchObject({
      vehicle_ids: vehicleIds.slice(0, 2),
      current_vehicle_id: vehicleIds[1],
    });
    const published = { vehicle_ids: [vehicleIds[0]], current_vehicle_id: null };
    expect((await colleague.get(path)).data).toMatchObject(published);
    expect((await colleague.get('/api/drivers')).items).toMatchObject([published]);
    expect((await colleague.post('/api/drivers', { name: 'X' })).status).toBe(403);
  });

  it('resolves names of removed drivers for as long as full or thinned history may be stored', async () => {
    const { id } = await create({ name: 'Long gone' });
    expect((await owner.delete(`/api/drivers/${id}`)).status).toBe(200);
    const { accountId } = harness.ours;
    const removedAt = new Date();
    const removed = { _id: id, accountId, name: 'Long gone' };
    await archiveName(harness.records, removed, removedAt);
    const isNamedAfter = async (days: number): Promise<boolean> => {
      await purgeArchivedNames(harness.deps, removedAt.getTime() + days * 86_400_000);
      return (await findDriverNames(harness.deps, { accountId }, [id])).has(id);
    };
    const retentionDays = 3_650 + harness.deps.config.LOCATION_RETENTION_DAYS;
    expect([await isNamedAfter(retentionDays - 1), await isNamedAfter(retentionDays + 1)]).toEqual([true, false]);
  });

  it('stores no license that expires before its issue date under concurrent changes', async () => {
    const dates = { license_issue_date: '2020-01-01', license_expiry_date: '2030-01-01' };
    for (const name of ['One', 'Two', 'Three']) {
      const path = `/api/drivers/${(await create({ name, ...dates })).id}`;
      const changes = [{ license_issue_date: '2029-01-01' }, { license_expiry_date: '2021-01-01' }];
      const responses = await Promise.all(changes.map((change) => owner.put(path, change)));
      expect(responses.map(({ status }) => status).sort((x, y) => x - y)).toEqual([200, 400]);
    }
  });

  it('creates one driver per Idempotency-Key', async () => {
    const key = { 'idempotency-key': 'driver-once' };
    const first = await owner.post('/api/drivers', { name: 'Once' }, key);
    const second = await owner.post('/api/drivers', { name: 'Once' }, key);
    expect(second.data.id).toBe(first.data.id);
  });
});
