import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { RecordFields } from '../../store/record-store.ts';
import { NotificationHarness } from '../../testing/notification-harness.ts';
import type { Client, PlatformHarness, TestUser } from '../../testing/platform-harness.ts';

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

const acknowledge = (ids: readonly number[], client = owner, note?: string) =>
  client.post(`${base}/acknowledge`, { ids, ...(note === undefined ? {} : { note }) });
const listIds = async (query: string, client = owner): Promise<unknown[]> =>
  (await client.get(`${base}?${query}`)).items.map(({ id }) => id);
/** A guest of another account with a share of the current vehicle. */
async function createGuest(permissions: string[]): Promise<TestUser> {
  const guest = await platform.user('manager', platform.theirs);
  await tested.share(guest, permissions);
  return guest;
}

describe('GET /api/notifications/:id', () => {
  it('returns a notification with the names of its driver and of the user who acknowledged it', async () => {
    const driver = (await owner.post('/api/drivers', { name: 'Asha Nair' })).data.id;
    const id = await tested.record('sos', Date.now(), { driverId: driver });
    expect((await owner.get(`${base}/${id}`)).data).toMatchObject({
      id,
      driver_name: 'Asha Nair',
      acknowledged_by_name: null,
    });
    const manager = await platform.user('manager');
    await acknowledge([id], platform.as(manager), 'called');
    const { name } = (await owner.get(`/api/users/${manager.id}`)).data;
    expect((await owner.get(`${base}/${id}`)).data).toMatchObject({
      acknowledged_by: manager.id,
      acknowledged_by_name: name,
      attributes: { acknowledge_note: 'called' },
    });
  });

  it('names no driver and no user of the other account to a guest, who sees only shared notifications', async () => {
    const driver = (await owner.post('/api/drivers', { name: 'Asha Nair' })).data.id;
    const id = await tested.record('sos', Date.now(), { driverId: driver });
    await acknowledge([id]);
    const guest = platform.as(await createGuest(['notifications']));
    expect((await guest.get(`${base}/${id}`)).data).toMatchObject({
      driver_id: null,
      driver_name: null,
      acknowledged_by_name: null,
    });
    const other = platform.as(await createGuest(['view']));
    for (const client of [stranger, other]) expect((await client.get(`${base}/${id}`)).status).toBe(404);
    expect((await owner.get(`${base}/999999999`)).status).toBe(404);
  });

  it('shows a driver only the notifications of own vehicles', async () => {
    const user = await platform.user('driver');
    const foreign = await tested.record('sos', Date.now());
    tested.vehicleId = await tested.createVehicle();
    await owner.put(`/api/vehicles/${tested.vehicleId}/owner`, { owner_user_id: user.id });
    const own = await tested.record('sos', Date.now());
    const client = platform.as(user);
    expect((await client.get(`${base}/${own}`)).status).toBe(200);
    expect((await client.get(`${base}/${foreign}`)).status).toBe(404);
  });

  it('returns the thumbnail of a picture once it exists', async () => {
    const id = await tested.record('sos', Date.now(), {
      media: [
        { id: 71, kind: 'image' },
        { id: 72, kind: 'video' },
      ],
    });
    const thumbnail = { file: { imei: '1', fileId: 'a', server: 'any' }, width: 320, height: 240 };
    await platform.records.collection<RecordFields & { preview: object }>('media').insertOne({
      _id: 71,
      createdAt: new Date(),
      updatedAt: new Date(),
      version: 1,
      preview: { width: 640, height: 480, durationMs: null, thumbnail },
    });
    const { media } = (await owner.get(`${base}/${id}`)).data as unknown as {
      media: { url: string; thumbnail_url: string | null }[];
    };
    expect(media.map(({ thumbnail_url: url }) => url)).toEqual([`${media[0]?.url}&thumbnail=1`, null]);
  });
});

describe('filters of GET /api/notifications', () => {
  it('select by acknowledgement, category, vehicles, driver and text', async () => {
    const driver = (await owner.post('/api/drivers', { name: 'Asha' })).data.id;
    const vehicle = tested.vehicleId;
    const sos = await tested.record('sos', Date.now(), { driverId: driver, address: 'NH 66, Kochi' });
    tested.vehicleId = await tested.createVehicle();
    const speed = await tested.record('overspeed', Date.now() + 1, { vehicleNo: 'KL07EF7788' });
    await acknowledge([speed]);
    const ours = `vehicle_id=${vehicle},${tested.vehicleId}`;
    expect(await listIds(ours)).toEqual([speed, sos]);
    expect(await listIds(`vehicle_id=${vehicle}`)).toEqual([sos]);
    expect(await listIds(`${ours}&acknowledged=true`)).toEqual([speed]);
    expect(await listIds(`${ours}&acknowledged=false`)).toEqual([sos]);
    expect(await listIds(`${ours}&category=emergency`)).toEqual([sos]);
    expect(await listIds(`${ours}&driver_id=${driver}`)).toEqual([sos]);
    expect(await listIds(`${ours}&query=ef77`)).toEqual([speed]);
    expect(await listIds(`${ours}&query=kochi`)).toEqual([sos]);
  });

  it('select the vehicles of a group and of the groups below it', async () => {
    const top = (await owner.post('/api/vehicle-groups', { name: `G ${tested.vehicleId}` })).data.id;
    const below = (await owner.post('/api/vehicle-groups', { name: `H ${tested.vehicleId}`, parent_group: top })).data
      .id;
    await tested.record('sos', Date.now());
    tested.vehicleId = await tested.createVehicle(owner, { group_ids: [below] });
    const id = await tested.record('sos', Date.now());
    expect(await listIds(`group_id=${top}`)).toEqual([id]);
    expect(await listIds(`group_id=${top}`, stranger)).toEqual([]);
    const guest = platform.as(await createGuest(['notifications']));
    expect(await listIds(`vehicle_id=${tested.vehicleId}`, guest)).toEqual([id]);
    expect(await listIds(`group_id=${top}`, guest)).toEqual([]);
  });

  it.each(['vehicle_id=0', 'vehicle_id=a', 'vehicle_id=1,', 'acknowledged=maybe', 'category=none', 'group_id=x'])(
    'reject %s',
    async (query) => {
      expect((await owner.get(`${base}?${query}`)).body).toMatchObject({ status: 400, code: 'validation_failed' });
    },
  );
});

describe('GET /api/notifications/summary', () => {
  it('counts all, the open ones by severity, and all by type', async () => {
    const [sos] = [await tested.record('sos', Date.now()), await tested.record('sos', Date.now())];
    await tested.record('overspeed', Date.now(), { severity: 'warning' });
    await tested.record('ignition_on', Date.now(), { severity: 'info' });
    await acknowledge([sos]);
    const read = async (query = '', client = owner) =>
      (await client.get(`${base}/summary?vehicle_id=${tested.vehicleId}${query}`)).data;
    expect(await read()).toEqual({
      total: 4,
      open: { critical: 1, warning: 1, info: 1 },
      by_type: { ignition_on: 1, overspeed: 1, sos: 2 },
    });
    expect(await read('&type=sos&acknowledged=false')).toEqual({
      total: 1,
      open: { critical: 1, warning: 0, info: 0 },
      by_type: { sos: 1 },
    });
    const nothing = { total: 0, open: { critical: 0, warning: 0, info: 0 }, by_type: {} };
    expect(await read('', stranger)).toEqual(nothing);
    expect(await read('', platform.as(await createGuest(['notifications'])))).toMatchObject({ total: 4 });
  });
});

describe('POST /api/notifications/acknowledge', () => {
  it('acknowledges several with a note; the first acknowledgement of each stays', async () => {
    const [first, second] = [await tested.record('sos', Date.now()), await tested.record('sos', Date.now())];
    await acknowledge([first], owner, 'first');
    const manager = await platform.user('manager');
    const { status, data } = await acknowledge([first, second, second], platform.as(manager), 'second');
    expect([status, data]).toEqual([200, { acknowledged: [first, second], failed: [] }]);
    const noteOf = async (id: number) => (await owner.get(`${base}/${id}`)).data;
    expect(await noteOf(first)).toMatchObject({
      acknowledged_by: platform.ours.owner.id,
      attributes: { acknowledge_note: 'first' },
    });
    expect(await noteOf(second)).toMatchObject({
      acknowledged_by: manager.id,
      attributes: { acknowledge_note: 'second' },
    });
  });

  it('returns those that the caller may not acknowledge with the code of each', async () => {
    const id = await tested.record('sos', Date.now());
    const mayRead = platform.as(await createGuest(['notifications']));
    expect((await acknowledge([id, 999_999_999], mayRead)).data).toEqual({
      acknowledged: [],
      failed: expect.arrayContaining([
        { id, code: 'permission_denied' },
        { id: 999_999_999, code: 'not_found' },
      ]),
    });
    expect((await acknowledge([id], stranger)).data['failed']).toEqual([{ id, code: 'not_found' }]);
    expect((await acknowledge([id], platform.as(await platform.user('viewer')))).status).toBe(403);
    expect((await owner.get(`${base}/${id}`)).data['acknowledged_at']).toBeNull();
  });

  it('accepts 1 to 200 ids', async () => {
    expect((await acknowledge([])).status).toBe(400);
    expect((await acknowledge(Array.from({ length: 201 }, (_, at) => at + 1))).status).toBe(400);
  });
});
