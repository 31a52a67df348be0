import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { loadConfig } from '../../assembly/config.ts';
import { decodePolyline, encodePolyline } from '../../geometry/polyline.ts';
import { ProviderServer } from '../../maps/testing/provider-server.ts';
import { newImei } from '../../testing/fake-terminals.ts';
import { lastLocationAt, writeLastLocation } from '../../testing/last-location.ts';
import { type Client, PlatformHarness } from '../../testing/platform-harness.ts';
import { removeExpiredAddresses } from './retention.ts';

jest.setTimeout(60_000);

const base = '/api/devices';
const square = [
  [22.5, 114],
  [22.5, 114.1],
  [22.6, 114.1],
  [22.6, 114],
];

async function vehicle(harness: PlatformHarness, client: Client, at?: [number, number]): Promise<number> {
  const imei = newImei();
  const made = await client.post('/api/vehicles', { vehicle_no: `GC${randomInt(10 ** 9)}`, imei });
  expect(made.status).toBe(201);
  if (at !== undefined) await writeLastLocation(harness.deps, lastLocationAt(imei, ...at));
  return made.data.id;
}

describe('geocoding without providers', () => {
  let harness: PlatformHarness;
  let owner: Client;
  let stranger: Client;
  beforeAll(async () => {
    harness = await PlatformHarness.open();
    owner = harness.as(harness.ours.owner);
    stranger = harness.as(harness.theirs.owner);
  });
  afterAll(() => harness?.close());

  it('returns the address, the Plus Code and the provider of a position', async () => {
    const response = await owner.get(`${base}/reverse-geocode?latitude=28.65&longitude=77.23`);
    expect(response).toMatchObject({
      status: 200,
      data: {
        address: expect.stringContaining('India') as unknown,
        components: { country: 'India', country_code: 'IN', road: null },
        plus_code: expect.stringMatching(/^[2-9CFGHJMPQRVWX]{8}\+[2-9CFGHJMPQRVWX]{2}$/) as unknown,
        geofences: [],
        provider: 'embedded',
        cached: false,
        fallback: false,
      },
    });
    expect(response.data['distance_m']).toEqual(expect.any(Number));
  });

  it("returns the account's geofences that contain a position, the smallest first", async () => {
    const large = await owner.post('/api/geofences', { name: 'Port', coordinates: square });
    const small = await owner.post('/api/geofences', {
      name: 'Gate',
      type: 'circle',
      coordinates: [[22.55, 114.05]],
      radius_m: 300,
    });
    const at = `${base}/reverse-geocode?latitude=22.55&longitude=114.05`;
    expect(await owner.get(at)).toMatchObject({
      data: {
        address: 'Gate',
        distance_m: 0,
        geofences: [
          { id: small.data.id, name: 'Gate' },
          { id: large.data.id, name: 'Port' },
        ],
      },
    });
    expect(await stranger.get(at)).toMatchObject({ data: { geofences: [], components: { city: 'Shenzhen' } } });
    const driver = harness.as(await harness.user('driver'));
    expect(await driver.get(at)).toMatchObject({ data: { geofences: [] } });
  });

  it('finds cities, places of the account, positions and Plus Codes', async () => {
    const geocode = async (query: string, client = owner) => (await client.get(`${base}/geocode?${query}`)).items;
    expect((await geocode('address=Nairobi'))[0]).toMatchObject({
      address: expect.stringContaining('Kenya') as unknown,
      type: 'city',
      provider: 'embedded',
      fallback: false,
      components: { country_code: 'KE' },
    });
    expect((await geocode('query=Nairobi'))[0]).toMatchObject({ type: 'city' });
    expect(await geocode('address=San&limit=3')).toHaveLength(3);
    expect((await geocode('address=London&country=ca'))[0]).toMatchObject({ components: { country_code: 'CA' } });
    expect((await geocode('address=London&latitude=42.9&longitude=-81.2'))[0]).toMatchObject({
      components: { country_code: 'CA' },
    });
    expect(await geocode('address=-1.2921,36.8219')).toMatchObject([
      { latitude: -1.2921, longitude: 36.8219, confidence: 1 },
    ]);
    expect(await geocode(`address=${encodeURIComponent('6GCRPR6C+24')}`)).toMatchObject([{ type: 'plus_code' }]);
    expect(await geocode('address=qqxxzz%2077')).toEqual([]);
    const name = 'Zebra Yard 7';
    await owner.post('/api/geofences', { name, coordinates: square });
    expect((await geocode(`address=${encodeURIComponent(name)}`))[0]).toMatchObject({
      address: name,
      type: 'geofence',
    });
    expect(await geocode(`address=${encodeURIComponent(name)}`, stranger)).toEqual([]);
  });

  it("suggests the account's geofences, routes and waypoints first", async () => {
    await owner.post('/api/geofences', { name: 'Mombasa Depot', coordinates: square });
    await owner.post('/api/routes', {
      name: 'Mombasa Run',
      waypoints: [
        { lat: -4.04, lng: 39.66, name: 'Mombasa Gate' },
        { lat: -3.9, lng: 39.6 },
      ],
    });
    const response = await owner.get(`${base}/auto-suggest-address?query=momba&latitude=-4&longitude=39.6`);
    expect(response.status).toBe(200);
    expect(
      response.items
        .slice(0, 3)
        .map(({ type }) => type)
        .toSorted((a, b) => String(a).localeCompare(String(b))),
    ).toEqual(['geofence', 'route', 'waypoint']);
    expect(response.items[3]).toMatchObject({
      title: 'Mombasa',
      type: 'city',
      distance_m: expect.any(Number) as unknown,
    });
    const others = await stranger.get(`${base}/auto-suggest-address?query=momba`);
    expect(others.items.every(({ type }) => type === 'city')).toBe(true);
    expect(others.items[0]).toMatchObject({
      title: 'Mombasa',
      subtitle: expect.stringContaining('Kenya') as unknown,
      distance_m: null,
    });
  });

  it('returns a straight line from a vehicle if no road data is available', async () => {
    const id = await vehicle(harness, owner, [10, 20]);
    const response = await owner.get(`${base}/generate-route?vehicleId=${id}&latitude=10&longitude=21&alternatives=2`);
    expect(response).toMatchObject({
      status: 200,
      data: {
        vehicle_id: id,
        origin: { latitude: 10, longitude: 20 },
        destination: { latitude: 10, longitude: 21, address: null },
        coordinates: [
          [10, 20],
          [10, 21],
        ],
        path_source: 'straight_line',
        alternatives: [],
        provider: 'embedded',
        fallback: false,
      },
    });
    // 109.5 km times 1.3, at 40 km/h.
    expect(Number(response.data['distance_m']) / 142_350).toBeCloseTo(1, 2);
    expect(Number(response.data['duration_seconds']) / 12_811).toBeCloseTo(1, 2);
    expect(Date.parse(String(response.data['eta']))).toBeGreaterThan(Date.now() + 12_000_000);
    expect(decodePolyline(String(response.data['polyline']))).toHaveLength(2);
    const steps = response.data['steps'] as { instruction: string }[];
    expect(steps[0]?.instruction).toContain('straight line');
    const byAddress = await owner.get(`${base}/generate-route?vehicle_id=${id}&address=Nairobi`);
    expect(byAddress.data['destination']).toMatchObject({ address: expect.stringContaining('Nairobi') as unknown });
  });

  it('rejects unknown vehicles, missing positions and invalid route parameters', async () => {
    const [id, silent] = [await vehicle(harness, owner, [10, 20]), await vehicle(harness, owner)];
    const foreign = await vehicle(harness, stranger, [10, 20]);
    const to = 'latitude=10&longitude=21';
    const status = async (query: string) => (await owner.get(`${base}/generate-route?${query}`)).status;
    expect(await status(`vehicleId=${silent}&${to}`)).toBe(404);
    expect(await status(`vehicleId=${foreign}&${to}`)).toBe(404);
    expect(await status(`vehicleId=987654321&${to}`)).toBe(404);
    expect(await status(`vehicleId=${id}&address=qqxxzz%2077`)).toBe(404);
    expect(await status(`vehicleId=${id}`)).toBe(400);
    expect(await status(`vehicleId=${id}&latitude=10`)).toBe(400);
    for (const name of ['vehicleId', 'vehicle_id'])
      expect((await owner.get(`${base}/generate-route?${name}=x&${to}`)).body).toMatchObject({
        error: `The query parameter ${name} must be an integer of at least 1.`,
        details: [{ path: `/${name}`, message: 'must be an integer of at least 1' }],
      });
    expect(await status(`vehicleId=${id}&${to}&address=Nairobi`)).toBe(400);
    expect(await status(`vehicleId=${id}&vehicle_id=${silent}&${to}`)).toBe(400);
    expect(await status(`vehicleId=${id}&${to}&alternatives=3`)).toBe(400);
    expect(await status(`vehicleId=${id}&${to}&profile=boat`)).toBe(400);
    expect(await status(to)).toBe(400);
  });

  it.each(['0.30000000000000004', '1e-7', '-1.0259699999999998', '1e1'])(
    'accepts %s as a latitude, as programs print it',
    async (latitude) => {
      expect(await owner.get(`${base}/reverse-geocode?latitude=${latitude}&longitude=20`)).toMatchObject({
        status: 200,
      });
    },
  );

  it.each([
    'reverse-geocode',
    'reverse-geocode?latitude=1',
    'reverse-geocode?latitude=91&longitude=0',
    'reverse-geocode?latitude=1e&longitude=0',
    'reverse-geocode?latitude=1&longitude=181',
    'reverse-geocode?latitude=1&longitude=1&language=e%20n',
    'geocode',
    'geocode?address=a',
    `geocode?address=${'a'.repeat(201)}`,
    'geocode?address=abc&limit=0',
    'geocode?address=abc&limit=11',
    'geocode?address=abc&country=IND',
    'geocode?address=abc&latitude=1',
    'geocode?address=abc&query=def',
    'auto-suggest-address',
    'auto-suggest-address?query=a',
    'auto-suggest-address?query=abc&longitude=1',
    `auto-suggest-address?query=${'a'.repeat(101)}`,
  ])('rejects %s', async (query) => {
    expect(await owner.get(`${base}/${query}`)).toMatchObject({ status: 400, body: { status: 400 } });
  });

  it('rejects geocoding without credentials', async () => {
    expect(await harness.anonymous.get(`${base}/geocode?address=Nairobi`)).toMatchObject({ status: 401 });
  });
});

describe('geocoding with providers', () => {
  let harness: PlatformHarness;
  let owner: Client;
  let geocoder: ProviderServer;
  let roads: ProviderServer;
  beforeAll(async () => {
    geocoder = await ProviderServer.start();
    roads = await ProviderServer.start();
    harness = await PlatformHarness.open({
      GEOCODER: 'nominatim',
      GEOCODER_URL: geocoder.url,
      // One of the responses below is a timeout. The others must not time out on a busy machine.
      GEOCODER_TIMEOUT_MS: '3000',
      SUGGESTER: 'photon',
      SUGGESTER_URL: geocoder.url,
      ROUTER: 'osrm',
      ROUTER_URL: roads.url,
      MATCHER: 'osrm',
      MATCHER_URL: roads.url,
      MAPS_CONTACT: 'ops@fleet.example',
    });
    owner = harness.as(harness.ours.owner);
  });
  afterAll(async () => {
    await harness?.close();
    await geocoder?.stop();
    await roads?.stop();
  });

  const place = {
    lat: '1.5',
    lon: '2.5',
    display_name: '7 Main Street, Town',
    address: { road: 'Main Street', country_code: 'xx' },
  };

  it('caches the address of a position for 30 days, separately for each account', async () => {
    geocoder.respond = () => ({ body: place });
    const at = (latitude: string) => `${base}/reverse-geocode?latitude=${latitude}&longitude=2.5&language=en`;
    expect(await owner.get(at('1.50001'))).toMatchObject({
      data: {
        address: '7 Main Street, Town',
        provider: 'nominatim',
        cached: false,
        fallback: false,
        components: { road: 'Main Street', country_code: 'XX' },
      },
    });
    expect(geocoder.last.headers['user-agent']).toContain('ops@fleet.example');
    const requested = geocoder.received.length;
    expect(await owner.get(at('1.50004'))).toMatchObject({
      data: { address: '7 Main Street, Town', provider: 'nominatim', cached: true },
    });
    expect(geocoder.received).toHaveLength(requested);
    expect(await owner.get(at('1.5006'))).toMatchObject({ data: { cached: false } });
    const stranger = harness.as(harness.theirs.owner);
    expect(await stranger.get(at('1.50001'))).toMatchObject({ data: { cached: false } });
    const { database } = harness.deps;
    expect(await removeExpiredAddresses(database)).toBe(0);
    const inAMonth = new Date(Date.now() + 31 * 24 * 3600 * 1000);
    expect(await removeExpiredAddresses(database, inAMonth)).toBe(3);
    expect(await owner.get(at('1.50001'))).toMatchObject({ data: { cached: false } });
  });

  it('falls back to the embedded geocoder if the provider fails, times out or finds nothing, and does not cache that result', async () => {
    const responses = [{ status: 500, body: {} }, 'silence', { body: { error: 'Unable to geocode' } }] as const;
    for (const [at, response] of responses.entries()) {
      geocoder.respond = () => response;
      const query = `${base}/reverse-geocode?latitude=${40 + at}&longitude=-3`;
      expect(await owner.get(query)).toMatchObject({
        status: 200,
        data: { provider: 'embedded', fallback: true, cached: false },
      });
    }
    geocoder.respond = () => ({ body: place });
    expect(await owner.get(`${base}/reverse-geocode?latitude=40&longitude=-3`)).toMatchObject({
      data: { provider: 'nominatim' },
    });
  });

  it('returns the places and suggestions of the providers', async () => {
    geocoder.respond = ({ url }) =>
      url.pathname === '/search'
        ? { body: [place] }
        : {
            body: {
              type: 'FeatureCollection',
              features: [
                {
                  geometry: { coordinates: [2.5, 1.5] },
                  properties: { name: 'Quay', country: 'Utopia', osm_id: 1, osm_type: 'W' },
                },
              ],
            },
          };
    expect((await owner.get(`${base}/geocode?address=main`)).items).toMatchObject([
      { address: '7 Main Street, Town', provider: 'nominatim', fallback: false },
    ]);
    await owner.post('/api/geofences', { name: 'Quay Nine', coordinates: square });
    const offered = await owner.get(`${base}/auto-suggest-address?query=quay`);
    expect(offered.items.map(({ title }) => title)).toEqual(['Quay Nine', 'Quay']);
    geocoder.respond = () => ({ status: 503, body: {} });
    expect((await owner.get(`${base}/geocode?address=Nairobi`)).items[0]).toMatchObject({
      provider: 'embedded',
      fallback: true,
    });
    expect((await owner.get(`${base}/auto-suggest-address?query=nairob`)).items[0]).toMatchObject({ title: 'Nairobi' });
  });

  it('finds cached addresses while the provider is unavailable', async () => {
    geocoder.respond = () => ({ body: { ...place, display_name: '99 Quuxby Crescent, Town' } });
    await owner.get(`${base}/reverse-geocode?latitude=5&longitude=6`);
    geocoder.respond = () => ({ status: 503, body: {} });
    const found = `${base}/geocode?address=quuxby%20crescent`;
    expect((await owner.get(found)).items[0]).toMatchObject({
      address: '99 Quuxby Crescent, Town',
      type: 'address',
      fallback: true,
    });
    const offered = `${base}/auto-suggest-address?query=quuxby%20cres`;
    expect((await owner.get(offered)).items).toMatchObject([
      { id: 'address:5.0000,6.0000:', title: '99 Quuxby Crescent, Town', type: 'address' },
    ]);
    // Cached addresses would reveal where others have looked for a vehicle.
    const driver = harness.as(await harness.user('driver'));
    for (const client of [driver, harness.as(harness.theirs.owner)])
      for (const path of [found, offered]) expect((await client.get(path)).items).toEqual([]);
  });

  it('returns routes of the router, and straight lines if the router fails', async () => {
    const id = await vehicle(harness, owner, [10, 20]);
    const to = `${base}/generate-route?vehicleId=${id}&latitude=10.1&longitude=20.1&alternatives=1`;
    const way = (distance: number) => ({
      geometry: encodePolyline([
        [10, 20],
        [10.05, 20.02],
        [10.1, 20.1],
      ]),
      distance,
      duration: 900,
      legs: [{ steps: [{ distance, duration: 900, name: 'A1', maneuver: { type: 'depart' } }] }],
    });
    roads.respond = () => ({ body: { code: 'Ok', routes: [way(15_000), way(17_000)] } });
    expect(await owner.get(to)).toMatchObject({
      data: {
        distance_m: 15_000,
        duration_seconds: 900,
        path_source: 'provider',
        provider: 'osrm',
        fallback: false,
        steps: [{ instruction: 'Start on A1' }],
        alternatives: [{ distance_m: 17_000 }],
      },
    });
    const straight = { path_source: 'straight_line', provider: 'embedded', fallback: true };
    roads.respond = () => ({ status: 400, body: { code: 'NoRoute' } });
    expect(await owner.get(to)).toMatchObject({ status: 200, data: straight });
    roads.respond = () => ({ body: 'not JSON' });
    expect(await owner.get(to)).toMatchObject({ status: 200, data: straight });
  });

  it('matches long traces in windows of 100 points that share 5, and falls back to embedded matching', async () => {
    roads.received.length = 0;
    roads.respond = ({ url }) => {
      const points = decodeURIComponent(url.pathname).split('/').at(-1)?.split(';') ?? [];
      const found = points.map((point, at) => ({
        location: point.split(',').map(Number),
        name: 'A1',
        distance: 1,
        matchings_index: 0,
        waypoint_index: at,
      }));
      return {
        body: {
          code: 'Ok',
          tracepoints: found,
          matchings: [{ confidence: 0.8, legs: points.slice(1).map(() => ({ steps: [] })) }],
        },
      };
    };
    const coordinates = Array.from({ length: 230 }, (_unused, at) => ({ lat: 10, lng: 20 + at * 1e-4 }));
    const response = await owner.post('/api/routes/snap-to-road', { coordinates });
    expect(response).toMatchObject({ status: 200, data: { provider: 'osrm', fallback: false, confidence: 0.8 } });
    const points = response.data['points'] as { lng: number; road_name: string; index: number }[];
    expect(points.map(({ lng }) => lng)).toEqual(coordinates.map(({ lng }) => lng));
    const sizes = roads.received.map(({ url }) => url.pathname.split(';').length);
    expect(sizes).toEqual([100, 100, 40]);
    roads.respond = () => ({ status: 502, body: {} });
    expect(await owner.post('/api/routes/snap-to-road', { coordinates })).toMatchObject({
      status: 200,
      data: { provider: 'embedded', fallback: true },
    });
  });
});

describe('map provider settings', () => {
  it('rejects a provider without a URL', () => {
    expect(() => loadConfig({ ROUTER: 'osrm', GEOCODER: 'photon' })).toThrow(
      'GEOCODER=photon needs GEOCODER_URL; ROUTER=osrm needs ROUTER_URL',
    );
    expect(loadConfig({ ROUTER: 'osrm', ROUTER_URL: 'http://127.0.0.1:5000' })).toMatchObject({
      ROUTER_TIMEOUT_MS: 3_000,
    });
  });
});
