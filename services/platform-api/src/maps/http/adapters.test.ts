import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { encodePolyline } from '../../geometry/polyline.ts';
import type { Position } from '../../geometry/positions.ts';
import { lineOf } from '../matched-line.ts';
import { type FakeResponse, ProviderServer } from '../testing/provider-server.ts';
import { HttpProvider } from './http-provider.ts';
import { Nominatim } from './nominatim.ts';
import { Osrm } from './osrm.ts';
import { Photon } from './photon.ts';
import { Valhalla } from './valhalla.ts';

let server: ProviderServer;
let http: HttpProvider;

beforeEach(async () => {
  server = await ProviderServer.start();
  http = new HttpProvider({ url: server.url, timeoutMs: 3_000, userAgent: 'fleet-test' });
});
afterEach(async () => {
  http.stop();
  await server.stop();
});

const responses = (response: FakeResponse): void => void (server.respond = () => response);
const parameters = (): Record<string, string> => Object.fromEntries(server.last.url.searchParams);

/** Example from the manual on nominatim.org. */
const nominatimPlace = {
  place_id: 100149,
  licence: 'Data © OpenStreetMap contributors, ODbL 1.0.',
  osm_type: 'node',
  osm_id: 107775,
  boundingbox: ['51.3473219', '51.6673219', '-0.2876474', '0.0323526'],
  lat: '51.5073219',
  lon: '-0.1276474',
  display_name: 'London, Greater London, England, SW1A 2DU, United Kingdom',
  category: 'place',
  type: 'city',
  addresstype: 'city',
  importance: 0.9654895765402,
  address: {
    house_number: '10',
    road: 'Downing Street',
    city: 'London',
    state_district: 'Greater London',
    state: 'England',
    postcode: 'SW1A 2DU',
    country: 'United Kingdom',
    country_code: 'gb',
  },
};
const london = { position: [51.5073219, -0.1276474], address: nominatimPlace.display_name };

describe('Nominatim', () => {
  it('returns the valid places of a Nominatim search', async () => {
    responses({ body: [nominatimPlace, { lat: 'x', lon: '1', display_name: 'nowhere' }] });
    const found = await new Nominatim(http).search({ text: 'London', near: [51, 0], country: 'GB', limit: 5 });
    expect(found).toEqual([
      {
        ...london,
        confidence: 0.9654895765402,
        type: 'city',
        components: {
          house: '10',
          road: 'Downing Street',
          suburb: null,
          city: 'London',
          district: 'Greater London',
          state: 'England',
          postcode: 'SW1A 2DU',
          country: 'United Kingdom',
          countryCode: 'GB',
        },
      },
    ]);
    expect(server.last.url.pathname).toBe('/search');
    expect(parameters()).toEqual({
      q: 'London',
      format: 'jsonv2',
      addressdetails: '1',
      limit: '5',
      countrycodes: 'gb',
      viewbox: '-1,52,1,50',
    });
  });

  it.each([
    [[-17.5, 179.9], '178.9,-16.5,180,-18.5'],
    [[-17.5, -179.9], '-180,-16.5,-178.9,-18.5'],
    [[89.5, 0], '-1,90,1,88.5'],
    [[-90, 180], '179,-89,180,-90'],
  ] as [Position, string][])('searches places near %j within the valid range of coordinates', async (near, viewbox) => {
    responses({ body: [] });
    await new Nominatim(http).search({ text: 'Nadi', near, limit: 5 });
    expect(parameters()).toMatchObject({ viewbox });
  });

  it('finds the address of a position, and none in the sea', async () => {
    responses({ body: nominatimPlace });
    const nominatim = new Nominatim(http);
    expect(await nominatim.reverse([51.5, -0.12], 'de')).toMatchObject(london);
    expect(server.last.url.pathname).toBe('/reverse');
    expect(parameters()).toEqual({
      lat: '51.5',
      lon: '-0.12',
      format: 'jsonv2',
      addressdetails: '1',
      'accept-language': 'de',
    });
    responses({ body: { error: 'Unable to geocode' } });
    expect(await nominatim.reverse([0, -30])).toBeNull();
  });

  it('rejects a response in another format', async () => {
    responses({ body: { error: 'x' } });
    await expect(new Nominatim(http).search({ text: 'x', limit: 1 })).rejects.toThrow('list of places');
    responses({ body: { lat: '1', lon: '2' } });
    await expect(new Nominatim(http).reverse([1, 2])).rejects.toThrow('address');
  });
});

/** Example from Photon's README. */
const photonResponse = {
  type: 'FeatureCollection',
  features: [
    {
      type: 'Feature',
      geometry: { type: 'Point', coordinates: [13.438596, 52.519281] },
      properties: {
        osm_type: 'N',
        osm_id: 240109189,
        osm_key: 'place',
        osm_value: 'city',
        type: 'city',
        name: 'Berlin',
        city: 'Berlin',
        state: 'Berlin',
        country: 'Deutschland',
        countrycode: 'DE',
      },
    },
    {
      type: 'Feature',
      geometry: { type: 'Point', coordinates: [-74.9, 44.0] },
      properties: {
        osm_type: 'N',
        osm_id: 7,
        type: 'house',
        housenumber: '7',
        street: 'Main St',
        city: 'Berlin',
        countrycode: 'US',
      },
    },
  ],
};

describe('Photon', () => {
  it('finds and suggests places', async () => {
    responses({ body: photonResponse });
    const photon = new Photon(http);
    const [city, house] = await photon.search({ text: 'berlin', near: [52, 13], limit: 5 });
    expect(city).toMatchObject({ address: 'Berlin, Deutschland', position: [52.519281, 13.438596], type: 'city' });
    expect(city?.components).toMatchObject({ city: 'Berlin', countryCode: 'DE', road: null });
    expect(house).toMatchObject({
      address: '7 Main St, Berlin',
      type: 'house',
      components: { house: '7', road: 'Main St' },
    });
    expect(parameters()).toEqual({ q: 'berlin', limit: '5', lat: '52', lon: '13' });
    expect(await photon.suggest({ text: 'berl', limit: 5 })).toMatchObject([
      {
        id: 'photon:N240109189',
        title: 'Berlin',
        subtitle: 'Deutschland',
        position: [52.519281, 13.438596],
        type: 'city',
      },
      { id: 'photon:N7', title: '7 Main St', subtitle: 'Berlin' },
    ]);
    expect(await photon.search({ text: 'berlin', country: 'US', limit: 1 })).toMatchObject([{ type: 'house' }]);
  });

  it('finds the address of a position in the supported languages', async () => {
    responses({ body: photonResponse });
    const photon = new Photon(http);
    expect(await photon.reverse([52.5, 13.4], 'de-AT')).toMatchObject({ address: 'Berlin, Deutschland' });
    expect(parameters()).toEqual({ lat: '52.5', lon: '13.4', lang: 'de' });
    responses({ body: { type: 'FeatureCollection', features: [] } });
    expect(await photon.reverse([0, 0], 'zh')).toBeNull();
    expect(parameters()).toEqual({ lat: '0', lon: '0' });
    responses({ body: { message: 'x' } });
    await expect(photon.reverse([0, 0])).rejects.toThrow('features');
  });
});

const [a, b, c]: [Position, Position, Position] = [
  [52.517, 13.388],
  [52.52, 13.4],
  [52.529, 13.428],
];

describe('OSRM', () => {
  const leg = (line: Position[], name: string) => ({
    distance: 1000,
    duration: 60,
    steps: [
      {
        distance: 900,
        duration: 50,
        name,
        geometry: encodePolyline(line),
        maneuver: { type: 'depart', modifier: 'left' },
      },
      { distance: 100, duration: 10, name: '', geometry: encodePolyline(line.slice(-1)), maneuver: { type: 'arrive' } },
    ],
  });

  it('draws a route, longitude first', async () => {
    responses({
      body: {
        code: 'Ok',
        routes: [
          {
            geometry: encodePolyline([a, b, c]),
            distance: 3000,
            duration: 300,
            legs: [leg([a, b, c], 'Friedrichstraße')],
          },
        ],
        waypoints: [],
      },
    });
    const [route] = await new Osrm(http).route({ waypoints: [a, c], profile: 'car', alternatives: 2 });
    expect(route).toEqual({
      path: [a, b, c],
      distanceM: 3000,
      durationS: 300,
      source: 'provider',
      steps: [
        { instruction: 'Start on Friedrichstraße', distanceM: 900, durationS: 50 },
        { instruction: 'Arrive', distanceM: 100, durationS: 10 },
      ],
    });
    expect(decodeURIComponent(server.last.url.pathname)).toBe('/route/v1/driving/13.388,52.517;13.428,52.529');
    expect(parameters()).toEqual({ overview: 'full', geometries: 'polyline', steps: 'true', alternatives: '2' });
  });

  it('returns no route if there is none, and rejects invalid responses', async () => {
    responses({ status: 400, body: { code: 'NoRoute', message: 'Impossible route between points' } });
    const osrm = new Osrm(http);
    expect(await osrm.route({ waypoints: [a, c], profile: 'truck', alternatives: 0 })).toEqual([]);
    expect(server.last.url.pathname).toContain('/truck/');
    responses({ status: 400, body: { code: 'InvalidQuery' } });
    await expect(osrm.route({ waypoints: [a, c], profile: 'car', alternatives: 0 })).rejects.toThrow(
      'responded with 400',
    );
    responses({ body: { code: 'Ok', routes: [{ geometry: 7 }] } });
    await expect(osrm.route({ waypoints: [a, c], profile: 'car', alternatives: 0 })).rejects.toThrow('geometry');
    // A route without positions has no bounds and is invalid.
    responses({ body: { code: 'Ok', routes: [{ geometry: '' }] } });
    await expect(osrm.route({ waypoints: [a, c], profile: 'car', alternatives: 0 })).rejects.toThrow('way');
  });

  it('matches a trace and leaves points without a road unchanged', async () => {
    responses({
      body: {
        code: 'Ok',
        tracepoints: [
          { location: [13.388, 52.517], name: 'Friedrichstraße', distance: 4.2, matchings_index: 0, waypoint_index: 0 },
          null,
          { location: [13.428, 52.529], name: '', distance: 6, matchings_index: 0, waypoint_index: 1 },
        ],
        matchings: [{ confidence: 0.87, legs: [leg([a, b, c], 'Friedrichstraße')] }],
      },
    });
    const trace = [a, [52.6, 13.5] as const, c].map((position, at) => ({
      position,
      timestampMs: 1_000_000 + at * 10_000,
    }));
    const { points, confidence } = await new Osrm(http).match(trace, 'car');
    expect(confidence).toBe(0.87);
    expect(points.map(({ isMatched }) => isMatched)).toEqual([true, false, true]);
    expect(points[0]).toMatchObject({ position: a, distanceM: 4.2, roadName: 'Friedrichstraße' });
    expect(points[1]).toMatchObject({ position: [52.6, 13.5], distanceM: null });
    expect(points[2]).toMatchObject({ position: c, roadName: null, leg: [a, b, c] });
    expect(lineOf(points)).toEqual([a, b, c]);
    expect(parameters()).toMatchObject({ timestamps: '1000;1010;1020' });
    responses({ status: 400, body: { code: 'NoMatch', message: 'Could not match the trace.' } });
    const nowhere = await new Osrm(http).match([{ position: a, accuracyM: 5 }, { position: b }], 'car');
    expect(nowhere.points.map(({ isMatched }) => isMatched)).toEqual([false, false]);
    expect(parameters()['radiuses']).toBe('5;');
    expect(parameters()['timestamps']).toBeUndefined();
  });
});

describe('Valhalla', () => {
  it('draws a route from a position to itself, and none for a response without routes', async () => {
    const trip = (...line: Position[]) => ({
      trip: { legs: [{ shape: encodePolyline(line, 6) }], summary: { length: 0, time: 0 } },
    });
    const query = { waypoints: [a, a], profile: 'car' as const, alternatives: 0 };
    responses({ body: trip(a, a) });
    expect(await new Valhalla(http).route(query)).toMatchObject([{ path: [a, a], distanceM: 0 }]);
    responses({ body: trip() });
    await expect(new Valhalla(http).route(query)).rejects.toThrow('way');
  });

  it('draws a route and the alternatives', async () => {
    const trip = (name: string) => ({
      status: 0,
      legs: [
        {
          shape: encodePolyline([a, b, c], 6),
          summary: { length: 3, time: 300 },
          maneuvers: [
            { instruction: `Drive ${name}.`, length: 2.9, time: 290 },
            { instruction: 'You have arrived.', length: 0, time: 0 },
          ],
        },
      ],
      summary: { length: 3, time: 300 },
    });
    responses({ body: { trip: trip('east'), alternates: [{ trip: trip('west') }] } });
    const routes = await new Valhalla(http).route({ waypoints: [a, c], profile: 'truck', alternatives: 1 });
    expect(routes).toHaveLength(2);
    expect(routes[0]).toMatchObject({ path: [a, b, c], distanceM: 3000, durationS: 300, source: 'provider' });
    expect(routes[1]?.steps[0]).toEqual({ instruction: 'Drive west.', distanceM: 2900, durationS: 290 });
    expect(server.last).toMatchObject({
      method: 'POST',
      body: {
        locations: [
          { lat: 52.517, lon: 13.388 },
          { lat: 52.529, lon: 13.428 },
        ],
        costing: 'truck',
        alternates: 1,
      },
    });
  });

  it('returns no route if there is none', async () => {
    responses({ status: 400, body: { error_code: 442, error: 'No path could be found for input', status_code: 400 } });
    expect(await new Valhalla(http).route({ waypoints: [a, c], profile: 'car', alternatives: 0 })).toEqual([]);
    responses({ status: 400, body: { error_code: 100, error: 'Failed to parse json request' } });
    await expect(new Valhalla(http).route({ waypoints: [a, c], profile: 'car', alternatives: 0 })).rejects.toThrow(
      'responded with 400',
    );
  });

  it('matches a trace along the shape', async () => {
    const edge = (names: string[], begin: number, end: number, limit: unknown) => ({
      names,
      speed_limit: limit,
      begin_shape_index: begin,
      end_shape_index: end,
    });
    responses({
      body: {
        shape: encodePolyline([a, b, c], 6),
        confidence_score: 0.9,
        edges: [edge(['Friedrichstraße'], 0, 1, 50), edge([], 1, 2, 'unlimited')],
        matched_points: [
          {
            lat: 52.517,
            lon: 13.388,
            type: 'matched',
            edge_index: 0,
            distance_along_edge: 0,
            distance_from_trace_point: 3,
          },
          { lat: 52.6, lon: 13.5, type: 'unmatched', edge_index: 18446744073709552000, distance_from_trace_point: 0 },
          {
            lat: 52.529,
            lon: 13.428,
            type: 'matched',
            edge_index: 1,
            distance_along_edge: 1,
            distance_from_trace_point: 2,
          },
        ],
      },
    });
    const trace = [a, [52.6, 13.5] as const, c].map((position) => ({ position, accuracyM: 8 }));
    const { points, confidence } = await new Valhalla(http).match(trace, 'car');
    expect(confidence).toBe(0.9);
    expect(points[0]).toMatchObject({ roadName: 'Friedrichstraße', speedLimitKmh: 50, distanceM: 3 });
    expect(points[1]).toMatchObject({ isMatched: false, position: [52.6, 13.5] });
    expect(points[2]).toMatchObject({ roadName: null, speedLimitKmh: null, leg: [b, c] });
    expect(lineOf(points)).toEqual([a, b, c]);
    expect(server.last.body).toMatchObject({
      shape_match: 'map_snap',
      shape: [{ lat: 52.517, lon: 13.388, accuracy: 8 }, {}, {}],
    });
    responses({ status: 400, body: { error_code: 444, error: 'Map Match algorithm failed to find path' } });
    expect((await new Valhalla(http).match(trace, 'car')).points.every(({ isMatched }) => !isMatched)).toBe(true);
  });
});
