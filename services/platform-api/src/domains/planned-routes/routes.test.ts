import { randomInt } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { decodePolyline, encodePolyline } from '../../geometry/polyline.ts';
import type { Position } from '../../geometry/positions.ts';
import { routeRule } from '../../rules/route-deviation/route-rule.ts';
import { lastLocationAt, writeLastLocation } from '../../testing/last-location.ts';
import { type ApiResponse, type Client, PlatformHarness } from '../../testing/platform-harness.ts';
import { contextOf, type ReportSketch, RuleHarness, routeOf } from '../../testing/rule-harness.ts';
import { routeRuleName } from './progress.ts';

jest.setTimeout(60_000);

let harness: PlatformHarness;
let owner: Client;
let stranger: Client;
beforeAll(async () => {
  const roads = fileURLToPath(new URL('../../../data/sample-roads.geojson', import.meta.url));
  harness = await PlatformHarness.open({ ROAD_NETWORK_FILE: roads });
  owner = harness.as(harness.ours.owner);
  stranger = harness.as(harness.theirs.owner);
});
afterAll(() => harness?.close());

const path = '/api/routes';
const line = [
  [10, 20],
  [10, 20.01],
  [10.01, 20.01],
];
/** A trip on the sample roads, from Shennan Road to Binhe Avenue. */
const onRoads = [
  { lat: 22.5411, lng: 114.0506, name: 'Depot' },
  { lat: 22.5279, lng: 114.0668, name: 'Customer', radius_m: 80, stop_seconds: 600 },
];
const awayFromRoads = [
  { lat: 40, lng: 10 },
  { lat: 40.5, lng: 10 },
];

async function vehicle(client = owner): Promise<{ id: number; imei: string }> {
  const imei = `1381${String(randomInt(10 ** 8)).padStart(8, '0')}`;
  const made = await client.post('/api/vehicles', { vehicle_no: `RT${randomInt(10 ** 9)}`, imei });
  expect(made.status).toBe(201);
  return { id: made.data.id, imei };
}

async function route(body: object = {}, client = owner): Promise<number> {
  const made = await client.post(path, { name: 'R', path: line, ...body });
  expect(made.status).toBe(201);
  return made.data.id;
}

const ids = (response: ApiResponse): number[] => response.items.map(({ id }) => id).sort((a, b) => a - b);

describe('routes', () => {
  it('are created with a path, read, listed, updated and deleted', async () => {
    const made = await owner.post(path, { name: 'North', path: line, color: '#00ff00' });
    expect(made).toMatchObject({
      status: 201,
      data: {
        name: 'North',
        waypoints: [],
        path: line,
        profile: 'car',
        deviation_m: 100,
        notify_on: ['deviation', 'return', 'waypoint_arrival', 'completed'],
        schedule: null,
        active: true,
        path_source: 'client',
        vehicle_ids: [],
        bbox: [10, 20, 10.01, 20.01],
      },
    });
    expect(decodePolyline(String(made.data['polyline']))).toEqual(line);
    expect(Number(made.data['distance_m'])).toBeGreaterThan(2_100);
    expect(made.headers.get('location')).toBe(`${path}/${made.data.id}`);
    const one = `${path}/${made.data.id}`;
    expect((await owner.get(one)).data).toEqual(made.data);
    expect(await owner.put(one, { name: 'South', active: false, deviation_m: 20 })).toMatchObject({
      status: 200,
      data: { name: 'South', active: false, deviation_m: 20, path: line, version: 2 },
    });
    expect(await owner.put(one, { name: 'X' }, { 'if-match': '"1"' })).toMatchObject({ status: 412 });
    expect(ids(await owner.get(`${path}?query=sout`))).toContain(made.data.id);
    expect(ids(await owner.get(`${path}?active=true`))).not.toContain(made.data.id);
    expect(await owner.delete(one)).toMatchObject({ status: 200, data: { id: made.data.id } });
    expect(await owner.delete(one)).toMatchObject({ status: 404 });
  });

  it('accept a polyline', async () => {
    const polyline = encodePolyline(line.map(([lat = 0, lng = 0]) => [lat, lng] as const));
    expect(await owner.post(path, { name: 'P', polyline })).toMatchObject({
      status: 201,
      data: { path: line, polyline, path_source: 'client' },
    });
  });

  it('are drawn along roads, and redrawn when the waypoints change', async () => {
    const made = await owner.post(path, { name: 'Drawn', waypoints: onRoads });
    expect(made).toMatchObject({
      status: 201,
      data: {
        path_source: 'provider',
        waypoints: [
          { lat: 22.5411, lng: 114.0506, name: 'Depot', radius_m: 50, stop_seconds: null },
          { lat: 22.5279, lng: 114.0668, name: 'Customer', radius_m: 80, stop_seconds: 600 },
        ],
      },
    });
    const drawn = made.data['path'] as number[][];
    expect(drawn.length).toBeGreaterThan(4);
    expect(drawn[0]).toEqual([22.5411, 114.0506]);
    const one = `${path}/${made.data.id}`;
    expect((await owner.put(one, { name: 'Same' })).data['path']).toEqual(drawn);
    const changed = await owner.put(one, { waypoints: [onRoads[0], { lat: 22.5262, lng: 114.0447 }] });
    expect(changed.data['path']).not.toEqual(drawn);
    expect(await owner.put(one, { path: line })).toMatchObject({ data: { path: line, path_source: 'client' } });
    expect(await owner.put(one, { profile: 'truck' })).toMatchObject({
      data: { path: line, path_source: 'client', profile: 'truck' },
    });
    expect(await owner.put(one, { path: null })).toMatchObject({ data: { path_source: 'provider' } });
  });

  it('are straight lines without known roads, and report that as their source', async () => {
    const made = await owner.post(path, { name: 'Straight', waypoints: awayFromRoads });
    expect(made).toMatchObject({
      status: 201,
      data: {
        path_source: 'straight_line',
        path: [
          [40, 10],
          [40.5, 10],
        ],
      },
    });
    // 55.6 km times 1.3, at 40 km/h.
    expect(Number(made.data['distance_m']) / 72_277).toBeCloseTo(1, 2);
    expect(Number(made.data['duration_seconds']) / 6_505).toBeCloseTo(1, 2);
  });

  it.each([
    ['no name', { path: line }, '/name'],
    ['neither path nor waypoints', { name: 'X' }, '/waypoints'],
    ['one waypoint', { name: 'X', waypoints: onRoads.slice(1) }, '/waypoints'],
    ['too many waypoints', { name: 'X', waypoints: Array.from({ length: 51 }, () => onRoads[0]) }, '/waypoints'],
    [
      'a waypoint with an invalid latitude',
      {
        name: 'X',
        waypoints: [
          { lat: 91, lng: 0 },
          { lat: 0, lng: 0 },
        ],
      },
      '/waypoints/0/lat',
    ],
    ['a waypoint without longitude', { name: 'X', waypoints: [{ lat: 1 }, { lat: 0, lng: 0 }] }, '/waypoints/0/lng'],
    [
      'a path with an invalid latitude',
      {
        name: 'X',
        path: [
          [100, 0],
          [0, 0],
        ],
      },
      '/path/0',
    ],
    ['a path of one point', { name: 'X', path: [[0, 0]] }, '/path'],
    ['an invalid polyline', { name: 'X', polyline: '!!' }, '/polyline'],
    ['an unknown profile', { name: 'X', path: line, profile: 'boat' }, '/profile'],
    ['a deviation below the minimum', { name: 'X', path: line, deviation_m: 19 }, '/deviation_m'],
    ['a fraction of a metre', { name: 'X', path: line, deviation_m: 20.5 }, '/deviation_m'],
    ['an unknown event', { name: 'X', path: line, notify_on: ['arrival'] }, '/notify_on/0'],
    [
      'an unknown time zone',
      { name: 'X', path: line, schedule: { timezone: 'X/Y', days: [1], from: '01:00', to: '02:00' } },
      '/schedule/timezone',
    ],
  ])('are rejected with %s', async (_name, body, at) => {
    const response = await owner.post(path, body);
    expect(response).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
    expect((response.body as { details: { path: string }[] }).details.map((detail) => detail.path)).toContain(at);
  });

  it('do not change when they are sent back as read', async () => {
    const drawn = await owner.post(path, { name: 'Drawn', waypoints: onRoads });
    const given = await owner.post(path, { name: 'Given', path: line });
    for (const { data } of [drawn, given]) {
      const back = await owner.put(`${path}/${data.id}`, { ...data, name: 'Back' });
      expect(back).toMatchObject({ status: 200 });
      expect(back.data).toEqual({ ...data, name: 'Back', version: 2, updated_at: expect.any(String) });
    }
    // A different line has the client as its source.
    const changed = await owner.put(`${path}/${drawn.data.id}`, { path: line });
    expect(changed.data).toMatchObject({ path: line, path_source: 'client', waypoints: drawn.data['waypoints'] });
  });

  it('retain their path when their waypoints are removed', async () => {
    const made = await owner.post(path, { name: 'Bare', waypoints: onRoads });
    const bare = await owner.put(`${path}/${made.data.id}`, { waypoints: [] });
    expect(bare.data).toMatchObject({ waypoints: [], path: made.data['path'], path_source: 'provider' });
    const [one] = onRoads;
    for (const body of [{ waypoints: [one] }, { waypoints: [one], path: line }, { waypoints: [], path: null }])
      expect(await owner.put(`${path}/${made.data.id}`, body)).toMatchObject({
        status: 400,
        body: { code: 'validation_failed', details: [{ path: '/waypoints' }] },
      });
    expect(await owner.post(path, { name: 'X', waypoints: [] })).toMatchObject({ status: 400 });
    expect(await owner.post(path, { name: 'X', waypoints: [], path: line })).toMatchObject({ status: 201 });
  });

  it('have the path of their waypoints after concurrent updates', async () => {
    const one = `${path}/${(await owner.post(path, { name: 'Race', waypoints: onRoads })).data.id}`;
    const ends = Array.from({ length: 8 }, (_unused, at) => ({ lat: 22.5262 + at / 10_000, lng: 114.0447 }));
    const responses = await Promise.all(ends.map((end) => owner.put(one, { waypoints: [onRoads[0], end] })));
    expect(responses.map(({ status }) => status)).toEqual(ends.map(() => 200));
    const { data } = await owner.get(one);
    // Whichever update was last, the path must be the one of its waypoints.
    const alone = await owner.post(path, { name: 'Alone', waypoints: data['waypoints'] });
    expect(data['path']).toEqual(alone.data['path']);
  });

  it('reject a path and a polyline of different lines, and clearing the path without waypoints', async () => {
    const both = await owner.post(path, { name: 'X', path: line, polyline: '_p~iF~ps|U_ulLnnqC' });
    expect(both).toMatchObject({ status: 400, body: { code: 'conflicting_parameters' } });
    expect(await owner.put(`${path}/${await route()}`, { path: null })).toMatchObject({ status: 400 });
  });

  it('are visible to their account only, and updated only by permitted roles', async () => {
    const one = `${path}/${await route()}`;
    expect(await stranger.get(one)).toMatchObject({ status: 404 });
    expect(await stranger.put(one, { name: 'X' })).toMatchObject({ status: 404 });
    expect(await stranger.delete(one)).toMatchObject({ status: 404 });
    const viewer = harness.as(await harness.user('viewer'));
    expect(await viewer.get(one)).toMatchObject({ status: 200 });
    expect(await viewer.put(one, { name: 'X' })).toMatchObject({ status: 403 });
    expect(await owner.get(`${path}/none`)).toMatchObject({ status: 404 });
  });
});

describe('routes of vehicles', () => {
  it('are linked and unlinked idempotently', async () => {
    const [car, first, second] = [await vehicle(), await route(), await route()];
    const link = (what: string, route_ids: unknown) =>
      owner.post(`/api/vehicles/${car.id}/${what}-route`, { route_ids });
    expect(await link('link', [first])).toMatchObject({
      status: 200,
      data: { vehicle_id: car.id, route_ids: [first] },
    });
    expect(await link('link', [second, first])).toMatchObject({ data: { route_ids: [first, second] } });
    expect((await owner.get(`${path}/${first}`)).data).toMatchObject({ vehicle_ids: [car.id], version: 2 });
    expect(ids(await owner.get(`${path}?vehicle_id=${car.id}`))).toEqual([first, second]);
    expect(await link('unlink', [first, first])).toMatchObject({ status: 200, data: { route_ids: [second] } });
    expect(await link('unlink', [first])).toMatchObject({ status: 200, data: { route_ids: [second] } });
    await owner.delete(`${path}/${second}`);
    expect((await owner.get(`/api/vehicles/${car.id}/list-linked-routes`)).items).toEqual([]);
  });

  it('do not change if one of the routes is unknown or of another account', async () => {
    const [car, own] = [await vehicle(), await route()];
    const theirs = await route({}, stranger);
    const link = (vehicleId: number, route_ids: unknown) =>
      owner.post(`/api/vehicles/${vehicleId}/link-route`, { route_ids });
    expect(await link(car.id, [own, theirs])).toMatchObject({ status: 404 });
    expect(await link(car.id, [own, 987_654_321])).toMatchObject({ status: 404 });
    expect((await owner.get(`${path}/${own}`)).data).toMatchObject({ vehicle_ids: [] });
    const foreign = await vehicle(stranger);
    expect(await link(foreign.id, [own])).toMatchObject({ status: 404, body: { code: 'vehicle_not_found' } });
    expect(await owner.get(`/api/vehicles/${foreign.id}/list-linked-routes`)).toMatchObject({ status: 404 });
    for (const bad of [[], undefined, ['1'], [0], Array.from({ length: 51 }, () => own)])
      expect(await link(car.id, bad)).toMatchObject({ status: 400 });
  });

  it('report the progress of the vehicle, and nulls without a position', async () => {
    const car = await vehicle();
    const made = await owner.post(path, {
      name: 'Trip',
      path: line,
      waypoints: [
        { lat: 10, lng: 20 },
        { lat: 10, lng: 20.01 },
        { lat: 10.01, lng: 20.01 },
      ],
    });
    await owner.post(`/api/vehicles/${car.id}/link-route`, { route_ids: [made.data.id] });
    const progress = async () => {
      const response = await owner.get(`/api/vehicles/${car.id}/list-linked-routes`);
      expect(response).toMatchObject({ status: 200, body: { meta: { pagination: { total: 1 } } } });
      return response.items[0]?.['progress'] as Record<string, unknown>;
    };
    expect(await progress()).toEqual({ waypoint_index: null, distance_remaining_m: null, eta: null, off_route: null });
    const at = (latitude: number, longitude: number) =>
      writeLastLocation(harness.deps, lastLocationAt(car.imei, latitude, longitude));
    await at(10.0001, 20.005);
    const half = await progress();
    expect(half).toMatchObject({ waypoint_index: 1, off_route: false });
    expect(Number(half['distance_remaining_m']) / (547.5 + 1_112)).toBeCloseTo(1, 2);
    expect(Date.parse(String(half['eta']))).toBeGreaterThan(Date.now());
    await at(10.005, 20.02);
    expect(await progress()).toMatchObject({ waypoint_index: 2, off_route: true });
    await at(10.01, 20.01);
    expect(await progress()).toMatchObject({ waypoint_index: 2, distance_remaining_m: 0, off_route: false });
  });

  it('distinguish the way there from the way back on the same road by the state of the rule', async () => {
    const car = await vehicle();
    const there: Position[] = [
      [10, 20],
      [10, 20.02],
      [10, 20],
    ];
    const made = await owner.post(path, { name: 'There and back', path: there });
    await owner.post(`/api/vehicles/${car.id}/link-route`, { route_ids: [made.data.id] });
    const stored = routeOf(there, { _id: made.data.id, deviationM: 100 });
    const runner = new RuleHarness(routeRule, contextOf({ routes: [stored] }));
    runner.report(...[20, 20.01, 20.02, 20.005].map((lng, at): ReportSketch => ({ at: at * 60, place: [10, lng] })));
    const { redis } = harness.deps;
    await writeLastLocation(harness.deps, lastLocationAt(car.imei, 10, 20.005));
    const left = async () => {
      const response = await owner.get(`/api/vehicles/${car.id}/list-linked-routes`);
      return Number((response.items[0]?.['progress'] as Record<string, unknown> | undefined)?.['distance_remaining_m']);
    };
    expect(Math.round((await left()) / 100)).toBe(38);
    const state = { vehicleId: car.id, rules: { [routeRuleName]: runner.state } };
    await redis.set(`rule-state:{telemetry-0}:${car.imei}`, JSON.stringify({ ...state, vehicleId: car.id + 1 }));
    expect(Math.round((await left()) / 100)).toBe(38);
    await redis.set(`rule-state:{telemetry-0}:${car.imei}`, JSON.stringify(state));
    expect(Math.round((await left()) / 100)).toBe(5);
  });

  it('are unlinked from a deleted vehicle, and visible to drivers of linked vehicles only', async () => {
    const tenant = await harness.tenant('Linked');
    const client = harness.as(tenant.owner);
    const [own, other] = [await vehicle(client), await vehicle(client)];
    const [seen, hidden] = [await route({}, client), await route({}, client)];
    await client.post(`/api/vehicles/${own.id}/link-route`, { route_ids: [seen] });
    await client.post(`/api/vehicles/${other.id}/link-route`, { route_ids: [hidden] });
    const user = await harness.user('driver', tenant);
    await client.put(`/api/vehicles/${own.id}/owner`, { owner_user_id: user.id });
    expect(ids(await harness.as(user).get(path))).toEqual([seen]);
    expect(await harness.as(user).get(`${path}/${hidden}`)).toMatchObject({ status: 404 });
    // The response omits vehicles that the driver cannot see.
    await client.post(`/api/vehicles/${other.id}/link-route`, { route_ids: [seen] });
    expect((await client.get(`${path}/${seen}`)).data).toMatchObject({ vehicle_ids: [own.id, other.id] });
    const change = { vehicle_ids: [own.id] };
    expect((await harness.as(user).get(`${path}/${seen}`)).data).toMatchObject(change);
    expect((await harness.as(user).get(path)).items).toMatchObject([change]);
    const linked = await harness.as(user).get(`/api/vehicles/${own.id}/list-linked-routes`);
    expect(linked.items).toMatchObject([change]);
    await client.delete(`/api/vehicles/${other.id}`);
    expect((await client.get(`${path}/${hidden}`)).data).toMatchObject({ vehicle_ids: [] });
  });
});

describe('snap-to-road', () => {
  const snap = (coordinates: unknown, more: object = {}, client = owner) =>
    client.post(`${path}/snap-to-road`, { coordinates, ...more });

  it('matches positions to the roads of the file', async () => {
    const response = await snap([
      { lat: 22.54115, lng: 114.052, timestamp: 1_700_000_000_000, accuracy_m: 8 },
      { lat: 22.54075, lng: 114.058 },
      { lat: 22.5385, lng: 114.0681 },
    ]);
    expect(response).toMatchObject({ status: 200, data: { provider: 'embedded', fallback: false } });
    const { points, coordinates, distance_m, confidence } = response.data as unknown as {
      points: { index: number; matched: boolean; road_name: string | null; speed_limit_kmh: number | null }[];
      coordinates: object[];
      distance_m: number;
      confidence: number;
    };
    expect(points.map(({ index, road_name: name }) => [index, name])).toEqual([
      [0, 'Shennan Road'],
      [1, 'Shennan Road'],
      [2, 'Huanggang Road'],
    ]);
    expect(points[0]).toMatchObject({ matched: true, speed_limit_kmh: 60 });
    expect(coordinates.length).toBeGreaterThan(points.length);
    expect(distance_m).toBeGreaterThan(1_500);
    expect(confidence).toBeGreaterThan(0.5);
  });

  it('uses the routes of the account only, if there is no road', async () => {
    const trace = [
      { lat: 50.0001, lng: 30.001 },
      { lat: 49.9999, lng: 30.009 },
    ];
    await route({
      path: [
        [50, 30],
        [50, 30.02],
      ],
    });
    const ours = await snap(trace);
    expect(ours.data['points']).toMatchObject([
      { matched: true, lat: 50, road_name: null },
      { matched: true, lat: 50 },
    ]);
    const theirs = await snap(trace, {}, stranger);
    expect(theirs.data).toMatchObject({
      points: [
        { matched: false, ...trace[0] },
        { matched: false, ...trace[1] },
      ],
      coordinates: trace,
      confidence: 0,
    });
  });

  it('accepts a thousand positions and rejects invalid ones', async () => {
    const long = Array.from({ length: 1_000 }, (_unused, at) => ({
      lat: 22.5409 + (at % 2) * 1e-5,
      lng: 114.045 + at * 2e-5,
    }));
    const response = await snap(long);
    expect(response.data['points']).toHaveLength(1_000);
    const point = { lat: 1, lng: 1 };
    const bad = [
      undefined,
      [],
      [point],
      [...long, point],
      [point, { lat: 91, lng: 0 }],
      [point, { lat: '1', lng: 0 }],
      [point, {}],
    ];
    for (const each of bad)
      expect(await snap(each)).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
    expect(await snap([point, point], { profile: 'boat' })).toMatchObject({ status: 400 });
    expect(
      await harness.as(await harness.user('viewer')).post(`${path}/snap-to-road`, { coordinates: [point, point] }),
    ).toMatchObject({
      status: 200,
    });
  });
});
