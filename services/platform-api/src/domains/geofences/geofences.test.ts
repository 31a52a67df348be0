import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { newImei } from '../../testing/fake-terminals.ts';
import { lastLocationAt as location, writeLastLocation } from '../../testing/last-location.ts';
import { type ApiResponse, type Client, PlatformHarness } from '../../testing/platform-harness.ts';

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

const path = '/api/geofences';
const square = [
  [22.5, 114],
  [22.5, 114.1],
  [22.6, 114.1],
  [22.6, 114],
];

async function vehicle(client = owner, more: object = {}): Promise<{ id: number; imei: string }> {
  const imei = newImei();
  const made = await client.post('/api/vehicles', { vehicle_no: `KA${randomInt(10 ** 9)}`, imei, ...more });
  expect(made.status).toBe(201);
  return { id: made.data.id, imei };
}

const ids = (response: ApiResponse): number[] => response.items.map(({ id }) => id).sort((a, b) => a - b);

describe('geofences', () => {
  it('creates, reads, lists, changes and deletes a geofence', async () => {
    const made = await owner.post(path, { name: 'Depot', coordinates: [...square, square[0]] });
    expect(made).toMatchObject({
      status: 201,
      data: {
        name: 'Depot',
        type: 'polygon',
        coordinates: square,
        radius_m: null,
        width_m: null,
        notify_on: ['enter', 'exit'],
        dwell_seconds: null,
        schedule: null,
        vehicles: [],
        groups: [],
        push_to_terminal: false,
        terminal_sync: {},
        attributes: {},
        bbox: [22.5, 114, 22.6, 114.1],
        inside_count: 0,
        version: 1,
      },
    });
    expect(made.headers.get('location')).toBe(`${path}/${made.data.id}`);
    // 0.1 degrees of latitude by 0.1 degrees of longitude at 22.55 degrees north.
    expect(Number(made.data['area_m2']) / (11_119.5 * 11_119.5 * Math.cos((22.55 * Math.PI) / 180))).toBeCloseTo(1, 3);
    const [ring = []] = (made.data['geojson'] as { geometry: { coordinates: number[][][] } }).geometry.coordinates;
    expect(ring).toEqual([...square, square[0]].map((pair) => [...(pair ?? [])].reverse()));
    const one = `${path}/${made.data.id}`;
    expect((await owner.get(one)).data).toEqual(made.data);
    expect(ids(await owner.get(path))).toContain(made.data.id);
    const changed = await owner.put(one, {
      name: 'Yard',
      notify_on: ['dwell', 'dwell'],
      dwell_seconds: 90,
      color: '#112233',
    });
    expect(changed).toMatchObject({
      status: 200,
      data: {
        name: 'Yard',
        notify_on: ['dwell'],
        dwell_seconds: 90,
        color: '#112233',
        version: 2,
        coordinates: square,
      },
    });
    expect(await owner.put(one, { color: null })).toMatchObject({ data: { color: null, name: 'Yard' } });
    expect(await owner.put(one, { name: 'X' }, { 'if-match': '"1"' })).toMatchObject({ status: 412 });
    expect(await owner.delete(one)).toMatchObject({ status: 200, data: { id: made.data.id, name: 'Yard' } });
    expect(await owner.delete(one)).toMatchObject({ status: 404 });
    expect(await owner.get(one)).toMatchObject({ status: 404 });
  });

  it('creates a circle and changes it into a polygon and a corridor', async () => {
    const circle = await owner.post(path, { name: 'C', type: 'circle', coordinates: [[10, 20]], radius_m: 500 });
    expect(circle).toMatchObject({ status: 201, data: { radius_m: 500, area_m2: 785_398, coordinates: [[10, 20]] } });
    expect(circle.data['geojson']).toMatchObject({
      geometry: { type: 'Polygon' },
      properties: { radius_m: 500, center: [10, 20] },
    });
    const one = `${path}/${circle.data.id}`;
    expect(await owner.put(one, { type: 'polygon' })).toMatchObject({ status: 400 });
    expect(await owner.put(one, { type: 'polygon', coordinates: square })).toMatchObject({
      status: 200,
      data: { type: 'polygon', radius_m: null },
    });
    expect(await owner.put(one, { type: 'corridor', width_m: 50 })).toMatchObject({
      status: 200,
      data: { type: 'corridor', width_m: 50, coordinates: square, geojson: { geometry: { type: 'LineString' } } },
    });
  });

  it('finds geofences by text, type, position and vehicle', async () => {
    const tenant = await harness.tenant('Finders');
    const client = harness.as(tenant.owner);
    const group = await client.post('/api/vehicle-groups', { name: 'North' });
    const below = await client.post('/api/vehicle-groups', { name: 'Inner', parent_group: group.data.id });
    const [car, lonely] = [await vehicle(client, { group_ids: [below.data.id] }), await vehicle(client)];
    const make = async (body: object) => (await client.post(path, { coordinates: square, ...body })).data.id;
    const all = await make({ name: 'For all', description: 'the (big) one' });
    const named = await make({ name: 'Named', vehicles: [car.id, car.id] });
    const grouped = await make({ name: 'Grouped', groups: [group.data.id] });
    const linked = await make({ name: 'Linked', vehicles: [lonely.id] });
    await client.put(`/api/vehicle-groups/${group.data.id}`, { geofences: [linked] });
    const dateLine = await make({
      name: 'Fiji',
      coordinates: [
        [-17, 179],
        [-17, -179],
        [-18, -179],
        [-18, 179],
      ],
      vehicles: [lonely.id],
    });
    const found = async (query: string) => ids(await client.get(`${path}?${query}`));
    expect(await found('query=big')).toEqual([all]);
    expect(await found('query=.*')).toEqual([]);
    expect(await found('type=circle')).toEqual([]);
    expect(await found(`vehicle_id=${car.id}`)).toEqual([all, named, grouped, linked]);
    expect(await found(`vehicle_id=${lonely.id}`)).toEqual([all, linked, dateLine]);
    expect(await found('vehicle_id=999999')).toEqual([]);
    expect(await found('bbox=22.55,114.05,22.7,114.2')).toEqual([all, named, grouped, linked]);
    expect(await found('bbox=23,115,24,116')).toEqual([]);
    expect(await found('bbox=-17.5,179.5,-17.4,-179.9')).toEqual([dateLine]);
    expect(await found('bbox=-17.5,-179.5,-17.4,-179.4')).toEqual([dateLine]);
    expect(await client.get(`${path}?bbox=1,2,3`)).toMatchObject({ status: 400 });
    expect(await client.get(`${path}?type=blob`)).toMatchObject({ status: 400 });
    expect(await client.get(`${path}?sort=secret`)).toMatchObject({ status: 400 });
    const names = (await client.get(`${path}?sort=name&limit=2`)).items.map(({ name }) => name);
    expect(names).toEqual(['Fiji', 'For all']);
    expect((await client.get(`${path}?limit=2&page=9`)).body).toMatchObject({
      data: [],
      meta: { pagination: { total: 5, pageCount: 3 } },
    });
  });

  it('counts the vehicles inside and lists the terminals with a pending area', async () => {
    const tenant = await harness.tenant('Insiders');
    const client = harness.as(tenant.owner);
    const [inside, outside, blind] = [await vehicle(client), await vehicle(client), await vehicle(client)];
    await writeLastLocation(harness.deps, location(inside.imei, 22.55, 114.05));
    await writeLastLocation(harness.deps, location(outside.imei, 22.7, 114.05));
    await writeLastLocation(harness.deps, { ...location(blind.imei, 22.55, 114.05), gpsValid: false });
    const made = await client.post(path, { name: 'I', coordinates: square, push_to_terminal: true });
    expect(made.data).toMatchObject({
      inside_count: 1,
      terminal_sync: { [inside.imei]: 'pending', [outside.imei]: 'pending', [blind.imei]: 'pending' },
    });
    const one = `${path}/${made.data.id}`;
    expect((await client.put(one, { vehicles: [outside.id] })).data).toMatchObject({
      inside_count: 0,
      terminal_sync: { [outside.imei]: 'pending' },
    });
    expect((await client.put(one, { push_to_terminal: false })).data['terminal_sync']).toEqual({});
  });

  it('rejects vehicles and groups of another account like unknown ones', async () => {
    const theirs = await vehicle(stranger);
    const theirGroup = await stranger.post('/api/vehicle-groups', { name: 'Theirs' });
    const with_ = (more: object) => owner.post(path, { name: 'X', coordinates: square, ...more });
    const foreign = await with_({ vehicles: [theirs.id] });
    const wrong = await with_({ vehicles: [987_654_321] });
    expect([foreign.status, wrong.status]).toEqual([404, 404]);
    expect(foreign.body).toMatchObject({
      code: 'vehicle_not_found',
      error: expect.stringContaining(String(theirs.id)) as unknown,
    });
    expect(await with_({ groups: [theirGroup.data.id] })).toMatchObject({ status: 404, body: { code: 'not_found' } });
  });

  it('removes deleted vehicles and groups, but never becomes a geofence for all vehicles', async () => {
    const [first, second] = [await vehicle(), await vehicle()];
    const group = await owner.post('/api/vehicle-groups', { name: `G${randomInt(10 ** 9)}` });
    const make = async (more: object) => (await owner.post(path, { name: 'X', coordinates: square, ...more })).data.id;
    const both = await make({ vehicles: [first.id, second.id] });
    const alone = await make({ vehicles: [first.id] });
    const grouped = await make({ vehicles: [second.id], groups: [group.data.id] });
    await owner.delete(`/api/vehicles/${first.id}`);
    await owner.delete(`/api/vehicle-groups/${group.data.id}`);
    expect(await owner.get(`${path}/${both}`)).toMatchObject({ data: { vehicles: [second.id] } });
    expect(await owner.get(`${path}/${grouped}`)).toMatchObject({ data: { vehicles: [second.id], groups: [] } });
    const left = await owner.get(`${path}/${alone}`);
    expect(left.data['vehicles']).toEqual([first.id]);
    // A response can be sent back.
    expect(await owner.put(`${path}/${alone}`, { name: 'Y', vehicles: left.data['vehicles'] })).toMatchObject({
      status: 200,
    });
    expect(ids(await owner.get(`${path}?vehicle_id=${second.id}&limit=200`))).not.toContain(alone);
  });

  it('removes a deleted geofence from groups', async () => {
    const made = await owner.post(path, { name: 'X', coordinates: square });
    const group = await owner.post('/api/vehicle-groups', {
      name: `G${randomInt(10 ** 9)}`,
      geofences: [made.data.id],
    });
    expect(group.data['geofences']).toEqual([made.data.id]);
    await owner.delete(`${path}/${made.data.id}`);
    expect((await owner.get(`/api/vehicle-groups/${group.data.id}`)).data['geofences']).toEqual([]);
  });

  it('limits the number of geofences of an account', async () => {
    const tenant = await harness.tenant('Full');
    const client = harness.as(tenant.owner);
    const { data } = await client.post(path, { name: 'X', coordinates: square });
    const documents = Array.from({ length: 999 }, (_unused, at) => ({
      _id: 5_000_000 + at,
      accountId: tenant.accountId,
    }));
    await harness.deps.database.collection<{ _id: number; accountId: number }>('geofences').insertMany(documents);
    expect(await client.post(path, { name: 'X', coordinates: square })).toMatchObject({
      status: 409,
      body: { code: 'limit_reached' },
    });
    expect(await client.delete(`${path}/${data.id}`)).toMatchObject({ status: 200 });
    const twenty = Array.from({ length: 20 }, () => client.post(path, { name: 'X', coordinates: square }));
    const statuses = (await Promise.all(twenty)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 201)).toHaveLength(1);
    expect(statuses.filter((status) => status === 409)).toHaveLength(19);
  });

  it('hides geofences from other accounts and allows changes by permitted roles only', async () => {
    const made = await owner.post(path, { name: 'Ours', coordinates: square });
    const one = `${path}/${made.data.id}`;
    expect(await stranger.get(one)).toMatchObject({ status: 404 });
    expect(await stranger.put(one, { name: 'Theirs' })).toMatchObject({ status: 404 });
    expect(await stranger.delete(one)).toMatchObject({ status: 404 });
    expect(ids(await stranger.get(path))).not.toContain(made.data.id);
    const viewer = harness.as(await harness.user('viewer'));
    expect(await viewer.get(one)).toMatchObject({ status: 200 });
    expect(await viewer.put(one, { name: 'V' })).toMatchObject({ status: 403 });
    expect(await viewer.post(path, { name: 'V', coordinates: square })).toMatchObject({ status: 403 });
    expect(await harness.anonymous.get(path)).toMatchObject({ status: 401 });
    expect(await owner.get(`${path}/abc`)).toMatchObject({ status: 404 });
    expect(await owner.put(`${path}/0`, { name: 'X' })).toMatchObject({ status: 404 });
  });

  it('returns to drivers the geofences that apply to their own vehicles', async () => {
    const tenant = await harness.tenant('Driven');
    const client = harness.as(tenant.owner);
    const user = await harness.user('driver', tenant);
    const [own, other] = [await vehicle(client), await vehicle(client)];
    expect(await client.put(`/api/vehicles/${own.id}/owner`, { owner_user_id: user.id })).toMatchObject({
      status: 200,
    });
    const make = async (vehicles: number[]) =>
      (await client.post(path, { name: 'X', coordinates: square, vehicles })).data.id;
    const [seen, hidden] = [await make([own.id]), await make([other.id])];
    const driver = harness.as(user);
    expect(ids(await driver.get(path))).toEqual([seen]);
    expect(await driver.get(`${path}/${hidden}`)).toMatchObject({ status: 404 });
    // The geofence applies to all vehicles, but a driver does not see the others.
    const shared = await client.post(path, { name: 'All', coordinates: square, push_to_terminal: true });
    for (const imei of [own.imei, other.imei]) await writeLastLocation(harness.deps, location(imei, 22.55, 114.05));
    const seenBy = async (reader: Client) => (await reader.get(`${path}/${shared.data.id}`)).data;
    expect(await seenBy(client)).toMatchObject({
      inside_count: 2,
      terminal_sync: { [own.imei]: 'pending', [other.imei]: 'pending' },
    });
    const response = { inside_count: 1, terminal_sync: { [own.imei]: 'pending' } };
    expect(await seenBy(driver)).toMatchObject(response);
    expect((await seenBy(driver))['terminal_sync']).toEqual(response.terminal_sync);
    expect((await driver.get(path)).items.find(({ id }) => id === shared.data.id)).toMatchObject(response);
    const group = async (vehicles: number[]) =>
      (await client.post('/api/vehicle-groups', { name: `G${vehicles.join()}`, vehicles })).data.id;
    const [ownGroup, otherGroup] = [await group([own.id]), await group([other.id])];
    const named = { vehicles: [own.id, other.id], groups: [ownGroup, otherGroup] };
    await client.put(`${path}/${seen}`, named);
    expect((await client.get(`${path}/${seen}`)).data).toMatchObject(named);
    expect((await driver.get(`${path}/${seen}`)).data).toMatchObject({ vehicles: [own.id], groups: [ownGroup] });
  });

  it('applies to no vehicle, rather than to all, after everything that it names is deleted concurrently', async () => {
    const [one, two] = [await vehicle(), await vehicle()];
    const group = (await owner.post('/api/vehicle-groups', { name: 'Ends' })).data.id;
    const body = { name: 'Ends', coordinates: square };
    const made = [];
    for (const named of [{ vehicles: [one.id, two.id] }, { vehicles: [one.id], groups: [group] }])
      made.push((await owner.post(path, { ...body, ...named })).data.id);
    const deleted = await Promise.all([
      owner.delete(`/api/vehicles/${one.id}`),
      owner.delete(`/api/vehicles/${two.id}`),
      owner.delete(`/api/vehicle-groups/${group}`),
    ]);
    expect(deleted.map(({ status }) => status)).toEqual([200, 200, 200]);
    for (const id of made) {
      const { vehicles, groups } = (await owner.get(`${path}/${id}`)).data as unknown as Record<string, number[]>;
      expect([...(vehicles ?? []), ...(groups ?? [])]).toHaveLength(1);
    }
  });

  it('stores every validated shape completely under concurrent changes', async () => {
    const made = await owner.post(path, { name: 'Race', type: 'circle', coordinates: [[1, 1]], radius_m: 100 });
    const one = `${path}/${made.data.id}`;
    const responses = await Promise.all([
      owner.put(one, { radius_m: 200 }),
      owner.put(one, { type: 'polygon', coordinates: square }),
      owner.put(one, { name: 'Renamed' }),
    ]);
    expect(responses.every(({ status }) => status === 200 || status === 400)).toBe(true);
    const after = await owner.get(one);
    const isWhole =
      after.data['type'] === 'polygon' ? after.data['radius_m'] === null : after.data['radius_m'] !== null;
    expect([isWhole, after.data['name']]).toEqual([true, 'Renamed']);
  });

  it('accepts all concurrent changes of a shape; the last one wins', async () => {
    const made = await owner.post(path, { name: 'Many', type: 'circle', coordinates: [[1, 1]], radius_m: 100 });
    const radii = Array.from({ length: 12 }, (_unused, at) => 200 + at);
    const put = (radius_m: number) => owner.put(`${path}/${made.data.id}`, { radius_m });
    const responses = await Promise.all(radii.map(put));
    expect(responses.map(({ status }) => status)).toEqual(radii.map(() => 200));
    const after = (await owner.get(`${path}/${made.data.id}`)).data;
    expect(radii).toContain(after['radius_m']);
    expect(after.version).toBe(13);
  });
});
