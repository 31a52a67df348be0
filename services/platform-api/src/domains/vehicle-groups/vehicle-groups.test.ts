import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import {
  type ApiResponse,
  type Client,
  type Data,
  PlatformHarness,
  type Tenant,
} from '../../testing/platform-harness.ts';
import { withMethod } from '../../testing/with-method.ts';
import { ensureVehicle } from '../vehicles/use-cases.ts';

jest.setTimeout(60_000);

let harness: PlatformHarness;
let owner: Client;
let vehicles: number[];
let drivers: number[];

beforeAll(async () => {
  harness = await PlatformHarness.open();
  owner = harness.as(harness.ours.owner);
  vehicles = [];
  for (const n of [1, 2, 3]) vehicles.push(await vehicle(harness.ours, `GRP ${n}`, `0137${n}0000001`));
  drivers = [(await owner.post('/api/drivers', { name: 'Grouped' })).data.id];
});
afterAll(() => harness?.close());

async function vehicle(tenant: Tenant, vehicleNo: string, imei: string): Promise<number> {
  const fields = { accountId: tenant.accountId, ownerUserId: tenant.owner.id, vehicleNo, imei };
  return (await ensureVehicle(harness.records, fields)).record._id;
}

async function create(body: Record<string, unknown>, client = owner): Promise<Data> {
  const response = await client.post('/api/vehicle-groups', body);
  expect(response.status).toBe(201);
  return response.data;
}
const read = async (id: number) => (await owner.get(`/api/vehicle-groups/${id}`)).data;
const idsIn = (items: readonly Data[]): number[] => items.map(({ id }) => id);
/** Creates a chain of nested groups, outermost first. */
async function chain(name: string, depth: number): Promise<number[]> {
  const ids: number[] = [];
  for (let n = 0; n < depth; n += 1)
    ids.push((await create({ name: `${name} ${n}`, parent_group: ids.at(-1) ?? null })).id);
  return ids;
}

/** Returns the body of an error response. */
const faultOf = ({ body }: ApiResponse) => body as { code: string; details: { path: string; message: string }[] };

describe('vehicle groups', () => {
  it('are created, read, updated and deleted with all their fields; vehicles are not deleted', async () => {
    const created = await owner.post('/api/vehicle-groups', {
      name: 'North',
      description: 'all of it',
      color: '#1976D2',
      vehicles: [vehicles[0], { id: vehicles[1] }],
      drivers: [{ id: drivers[0] }],
      geofences: [],
    });
    expect(created.status).toBe(201);
    const id = created.data.id;
    expect(created.headers.get('location')).toBe(`/api/vehicle-groups/${id}`);
    const response = {
      id,
      created_at: expect.any(String),
      updated_at: expect.any(String),
      version: 1,
      name: 'North',
      description: 'all of it',
      color: '#1976D2',
      parent_group: null,
      vehicles: vehicles.slice(0, 2),
      geofences: [],
      drivers,
      vehicle_count: 2,
    };
    expect(created.data).toEqual(response);
    const one = await owner.get(`/api/vehicle-groups/${id}`);
    expect([one.headers.get('etag'), one.data]).toEqual(['"1"', { ...response, sub_groups: [] }]);
    expect((await owner.get(`/api/vehicles/${vehicles[0]}`)).data['group_ids']).toEqual([id]);

    const changed = await owner.put(`/api/vehicle-groups/${id}`, {
      description: null,
      add_vehicles: [vehicles[2]],
      remove_vehicles: [{ id: vehicles[0] }],
    });
    expect(changed.data).toMatchObject({ description: null, vehicles: vehicles.slice(1), version: 2 });
    const replaced = await owner.put(`/api/vehicle-groups/${id}`, { vehicles: [vehicles[0]], drivers: [] });
    expect(replaced.data).toMatchObject({ vehicles: [vehicles[0]], drivers: [], name: 'North' });
    const stale = await owner.put(`/api/vehicle-groups/${id}`, { name: 'S' }, { 'if-match': '"1"' });
    expect([stale.status, faultOf(stale).code]).toEqual([412, 'version_mismatch']);

    const deleted = await owner.delete(`/api/vehicle-groups/${id}`);
    expect([deleted.status, deleted.data['vehicles']]).toEqual([200, [vehicles[0]]]);
    expect((await owner.delete(`/api/vehicle-groups/${id}`)).status).toBe(404);
    const left = await owner.get(`/api/vehicles/${vehicles[0]}`);
    expect([left.status, left.data['group_ids']]).toEqual([200, []]);
  });

  it('count each vehicle of the subtree once, and filter vehicles by it', async () => {
    const top = await create({ name: 'Count', vehicles: [vehicles[0]] });
    const below = await create({ name: 'Below', parent_group: top.id, vehicles: vehicles.slice(0, 2) });
    expect(await read(top.id)).toMatchObject({ vehicle_count: 2, vehicles: [vehicles[0]], sub_groups: [below.id] });
    const found = await owner.get(`/api/vehicles?group_id=${top.id}&sort=id`);
    expect(idsIn(found.items)).toEqual(vehicles.slice(0, 2));
    expect((await owner.get('/api/vehicles?group_id=999999')).items).toEqual([]);
  });

  it('return vehicles as objects with populateVehicles, also with an empty value', async () => {
    const group = await create({ name: 'Populated', vehicles: [vehicles[2]] });
    for (const query of ['populateVehicles=', 'populateVehicles=true', 'populate_vehicles=true']) {
      const { items } = await owner.get(`/api/vehicle-groups?query=populated&${query}`);
      expect(items[0]).toMatchObject({
        id: group.id,
        vehicles: [
          {
            id: vehicles[2],
            vehicle_no: 'GRP3',
            name: 'GRP3',
            imei: '013730000001',
            state: 'never_connected',
            location: null,
          },
        ],
      });
    }
    const plain = await owner.get('/api/vehicle-groups?query=populated&populateVehicles=false');
    expect(plain.items[0]?.['vehicles']).toEqual([vehicles[2]]);
    expect((await owner.get('/api/vehicle-groups?populateVehicles=2')).status).toBe(400);
  });

  it('are returned as an unpaged tree of folders with folderView', async () => {
    const client = harness.as((await harness.tenant('Folders')).owner);
    const top = await create({ name: 'Top', color: '#000000' }, client);
    const [b, a] = [
      await create({ name: 'b', parent_group: top.id }, client),
      await create({ name: 'a', parent_group: top.id }, client),
    ];
    const tree = await client.get('/api/vehicle-groups?folderView=true');
    const folder = { color: null, vehicle_count: 0, vehicles: [], children: [] };
    expect(tree.body).toEqual({
      data: [
        {
          ...folder,
          id: top.id,
          name: 'Top',
          color: '#000000',
          children: [
            { ...folder, id: a.id, name: 'a' },
            { ...folder, id: b.id, name: 'b' },
          ],
        },
      ],
    });
    expect((await client.get('/api/vehicle-groups?folderView=true&populateVehicles=')).status).toBe(200);
  });

  it('list their direct or all sub-groups, in pages', async () => {
    const [a = 0, b = 0, c = 0] = await chain('Sub', 3);
    const direct = await owner.get(`/api/vehicle-groups/${a}/list-sub-groups`);
    expect(idsIn(direct.items)).toEqual([b]);
    const all = await owner.get(`/api/vehicle-groups/${a}/list-sub-groups?recursive=true&sort=id&limit=1&page=2`);
    expect(idsIn(all.items)).toEqual([c]);
    expect(all.body).toMatchObject({ meta: { pagination: { page: 2, pageSize: 1, pageCount: 2, total: 2 } } });
    expect((await owner.get('/api/vehicle-groups/999999/list-sub-groups')).status).toBe(404);
  });

  it('reject cycles and more than eight levels', async () => {
    const ids = await chain('Deep', 8);
    const [top = 0] = ids;
    const lowest = ids.at(-1) ?? 0;
    const tooDeep = await owner.post('/api/vehicle-groups', { name: 'Ninth', parent_group: lowest });
    expect([tooDeep.status, faultOf(tooDeep).code]).toEqual([409, 'group_depth']);
    for (const parent of [top, lowest]) {
      const cycle = await owner.put(`/api/vehicle-groups/${top}`, { parent_group: parent });
      expect([cycle.status, faultOf(cycle).code]).toEqual([409, 'group_cycle']);
    }
    const other = await create({ name: 'Over' });
    const pushed = await owner.put(`/api/vehicle-groups/${top}`, { parent_group: other.id });
    expect([pushed.status, faultOf(pushed).code]).toEqual([409, 'group_depth']);
    expect((await owner.put(`/api/vehicle-groups/${ids[1]}`, { parent_group: null })).status).toBe(200);
    expect((await owner.put(`/api/vehicle-groups/${top}`, { parent_group: lowest })).status).toBe(200);
  });

  it('reject the second of two concurrent moves that would create a cycle', async () => {
    const [a, b] = [await create({ name: 'Race A' }), await create({ name: 'Race B' })];
    const responses = await Promise.all([
      owner.put(`/api/vehicle-groups/${a.id}`, { parent_group: b.id }),
      owner.put(`/api/vehicle-groups/${b.id}`, { parent_group: a.id }),
    ]);
    expect(responses.map(({ status }) => status).sort((x, y) => x - y)).toEqual([200, 409]);
    expect(responses.map(faultOf).find(({ code }) => code !== undefined)?.code).toBe('group_cycle');
    const parents = [(await read(a.id))?.['parent_group'], (await read(b.id))?.['parent_group']];
    expect(parents).toContain(null);
    expect(parents).not.toEqual([null, null]);
  });

  it('reject the second of two concurrent moves that would exceed eight levels', async () => {
    const [upper, middle, lower] = [await chain('Upper', 4), await chain('Middle', 4), await chain('Lower', 2)];
    const move = (below: number[], above: number[]) =>
      owner.put(`/api/vehicle-groups/${below[0]}`, { parent_group: above.at(-1) });
    // Each move alone is allowed: four and four, four and two.
    const responses = await Promise.all([move(middle, upper), move(lower, middle)]);
    expect(responses.map(({ status }) => status).sort((x, y) => x - y)).toEqual([200, 409]);
    expect(responses.map(faultOf).find(({ code }) => code !== undefined)?.code).toBe('group_depth');
  });

  it('move up, or are rejected, if their parent is deleted while they are created', async () => {
    const top = await create({ name: 'Vanishing' });
    for (let round = 0; round < 3; round += 1) {
      const parent = await create({ name: `Parent ${round}`, parent_group: top.id });
      const [child] = await Promise.all([
        owner.post('/api/vehicle-groups', { name: `Late child ${round}`, parent_group: parent.id }),
        owner.delete(`/api/vehicle-groups/${parent.id}`),
      ]);
      if (child.status === 404) continue;
      expect(child.status).toBe(201);
      expect(await read(child.data.id)).toMatchObject({ parent_group: top.id });
    }
  });

  it('have unique names among siblings, also after a move', async () => {
    const top = await create({ name: 'Names' });
    const inner = await create({ name: 'Same', parent_group: top.id });
    const outer = await create({ name: 'Same' });
    const twice = await owner.post('/api/vehicle-groups', { name: 'Same', parent_group: top.id });
    expect([twice.status, faultOf(twice).details]).toEqual([409, [{ path: '/name', message: 'is taken' }]]);
    const moved = await owner.put(`/api/vehicle-groups/${outer.id}`, { parent_group: top.id });
    expect([moved.status, faultOf(moved).code]).toEqual([409, 'duplicate']);
    expect((await owner.put(`/api/vehicle-groups/${inner.id}`, { name: 'Other' })).status).toBe(200);
    expect((await owner.put(`/api/vehicle-groups/${outer.id}`, { parent_group: top.id })).status).toBe(200);
  });

  it('move up when their parent is deleted, with (2) if the name is taken; cascade deletes them', async () => {
    const top = await create({ name: 'Lifting' });
    const middle = await create({ name: 'Middle', parent_group: top.id });
    const child = await create({ name: 'Child', parent_group: middle.id, vehicles: [vehicles[0]] });
    await create({ name: 'Child', parent_group: top.id });
    expect((await owner.delete(`/api/vehicle-groups/${middle.id}`)).status).toBe(200);
    expect(await read(child.id)).toMatchObject({
      name: 'Child (2)',
      parent_group: top.id,
      vehicles: [vehicles[0]],
    });
    const all = await owner.delete(`/api/vehicle-groups/${top.id}?cascade=true`);
    expect([all.status, all.data.id]).toEqual([200, top.id]);
    expect((await owner.get(`/api/vehicle-groups/${child.id}`)).status).toBe(404);
    const left = await owner.get(`/api/vehicles/${vehicles[0]}`);
    expect(left.status).toBe(200);
    expect(left.data['group_ids']).not.toContainEqual(child.id);
  });

  it('apply their geofences to the vehicles of the whole subtree', async () => {
    const top = await create({ name: 'Fenced' });
    const low = await create({ name: 'Low', parent_group: top.id });
    const [inside, outside] = [
      await vehicle(harness.ours, 'FENCED 1', '013700000077'),
      await vehicle(harness.ours, 'FENCED 2', '013700000078'),
    ];
    await owner.put(`/api/vehicles/${inside}`, { group_ids: [low.id] });
    const corners = [
      [1, 1],
      [1, 2],
      [2, 2],
    ];
    // The geofence names another vehicle, and so does not apply to all.
    const fence = await owner.post('/api/geofences', { name: 'Yard', coordinates: corners, vehicles: [vehicles[0]] });
    const changed = await owner.put(`/api/vehicle-groups/${top.id}`, { geofences: [{ id: fence.data.id }] });
    expect(changed.data).toMatchObject({ geofences: [fence.data.id] });
    const holding = async (id: number) => idsIn((await owner.get(`/api/geofences?vehicle_id=${id}`)).items);
    expect(await holding(inside)).toEqual([fence.data.id]);
    expect(await holding(outside)).toEqual([]);
    await owner.put(`/api/vehicle-groups/${low.id}`, { parent_group: null });
    expect(await holding(inside)).toEqual([]);
  });

  it.each(['vehicle-groups', 'drivers'])(
    'and drivers get no vehicles from a change whose lock has expired: %s',
    async (kind) => {
      const { id } = (await owner.post(`/api/${kind}`, { name: 'Late' })).data;
      const collection = harness.records.collection.bind(harness.records);
      const nowMs = performance.now.bind(performance);
      jest.spyOn(harness.records, 'collection').mockImplementation((name: string) => {
        const real = collection(name);
        const updateMany = async (...given: Parameters<typeof real.updateMany>) => {
          const updated = await real.updateMany(...given);
          // Simulates a paused process.
          jest.spyOn(performance, 'now').mockImplementation(() => nowMs() + 60_000);
          return updated;
        };
        return name === 'vehicles' ? withMethod(real, 'updateMany', updateMany) : real;
      });
      try {
        const wanted = kind === 'drivers' ? { vehicle_ids: [vehicles[0]] } : { vehicles: [vehicles[0]] };
        expect((await owner.put(`/api/${kind}/${id}`, wanted)).status).toBe(500);
      } finally {
        jest.restoreAllMocks();
      }
      const { driver_id, group_ids } = (await owner.get(`/api/vehicles/${vehicles[0]}`)).data;
      expect(kind === 'drivers' ? [driver_id] : group_ids).not.toContain(id);
    },
  );

  it('lose a driver who is deleted', async () => {
    const driver = (await owner.post('/api/drivers', { name: 'Leaving' })).data.id;
    const group = await create({ name: 'With driver', drivers: [driver] });
    await owner.delete(`/api/drivers/${driver}`);
    expect((await read(group.id))?.['drivers']).toEqual([]);
  });

  it.each([
    ['no name', {}, 400, 'validation_failed'],
    ['an empty name', { name: '' }, 400, 'validation_failed'],
    ['a name of 101 characters', { name: 'x'.repeat(101) }, 400, 'validation_failed'],
    ['a colour name', { name: 'X', color: 'red' }, 400, 'validation_failed'],
    ['vehicles as text', { name: 'X', vehicles: ['1'] }, 400, 'validation_failed'],
    ['an item without id', { name: 'X', vehicles: [{ no: 1 }] }, 400, 'validation_failed'],
    ['a parent that does not exist', { name: 'X', parent_group: 999_999 }, 404, 'not_found'],
    ['a vehicle that does not exist', { name: 'X', vehicles: [999_999] }, 404, 'vehicle_not_found'],
    ['a driver who does not exist', { name: 'X', drivers: [999_999] }, 404, 'not_found'],
    ['a geofence that does not exist', { name: 'X', geofences: [{ id: 999_999 }] }, 404, 'not_found'],
  ])('reject %s', async (_case, body, status, code) => {
    const response = await owner.post('/api/vehicle-groups', body);
    expect([response.status, faultOf(response).code]).toEqual([status, code]);
  });

  it('are invisible to another account, and accept none of its records', async () => {
    const group = await create({ name: 'Hidden' });
    const path = `/api/vehicle-groups/${group.id}`;
    const stranger = harness.as(harness.theirs.owner);
    for (const response of [
      await stranger.get(path),
      await stranger.get(`${path}/list-sub-groups`),
      await stranger.put(path, { name: 'X' }),
      await stranger.delete(path),
      await stranger.post('/api/vehicle-groups', { name: 'X', parent_group: group.id }),
      await stranger.post('/api/vehicle-groups', { name: 'X', vehicles }),
    ])
      expect(response.status).toBe(404);
    expect((await stranger.get('/api/vehicle-groups')).items).toEqual([]);
    expect((await owner.get('/api/vehicle-groups/abc')).status).toBe(404);
  });

  it("are visible to a viewer, and to a driver only with the driver's own vehicles", async () => {
    const viewer = harness.as(await harness.user('viewer'));
    expect((await viewer.get('/api/vehicle-groups')).status).toBe(200);
    expect((await viewer.post('/api/vehicle-groups', { name: 'X' })).status).toBe(403);
    const user = await harness.user('driver');
    const own = await vehicle(harness.ours, 'OWN 1', '013700000088');
    const mine = await create({ name: 'Mine', vehicles: [own, vehicles[0]] });
    await owner.put(`/api/vehicles/${own}/owner`, { owner_user_id: user.id });
    const driver = harness.as(user);
    expect((await driver.get('/api/vehicle-groups')).items).toMatchObject([
      { id: mine.id, vehicles: [own], vehicle_count: 1 },
    ]);
    const hidden = await create({ name: 'Not mine' });
    expect((await driver.get(`/api/vehicle-groups/${hidden.id}`)).status).toBe(404);
    // Ids of invisible groups and drivers are not returned.
    const people: number[] = [];
    for (const vehicle_ids of [[own], [vehicles[0]]])
      people.push((await owner.post('/api/drivers', { name: 'Somebody', vehicle_ids })).data.id);
    const other = await create({ name: 'Not mine below', parent_group: mine.id });
    const below = await create({ name: 'Mine below', parent_group: mine.id, vehicles: [own] });
    await owner.put(`/api/vehicle-groups/${mine.id}`, { parent_group: hidden.id, drivers: people });
    const seenBy = async (reader: Client) => (await reader.get(`/api/vehicle-groups/${mine.id}`)).data;
    expect(await seenBy(owner)).toMatchObject({
      parent_group: hidden.id,
      sub_groups: [other.id, below.id],
      drivers: people,
    });
    expect(await seenBy(driver)).toMatchObject({
      parent_group: null,
      sub_groups: [below.id],
      drivers: [people[0]],
      vehicles: [own],
      vehicle_count: 1,
    });
    const listed = (await driver.get('/api/vehicle-groups')).items;
    expect(listed.find(({ id }) => id === mine.id)).toMatchObject({ parent_group: null, drivers: [people[0]] });
  });
});
