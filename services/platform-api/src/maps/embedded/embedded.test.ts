import { readFile } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { propertyRuns, propertySettings } from '@fleet/testing';
import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { lineLengthM, nearestOnLine } from '../../geometry/lines.ts';
import { destination, distanceM, type Position } from '../../geometry/positions.ts';
import { lineOf } from '../matched-line.ts';
import { EmbeddedGeocoder, type OwnPlace } from './embedded-geocoder.ts';
import { EmbeddedMatcher } from './embedded-matcher.ts';
import { EmbeddedRouter } from './embedded-router.ts';
import { matchTrace } from './map-matching.ts';
import { BuiltInPlaces } from './places.ts';
import { plusCodeOf, positionOfPlusCode } from './plus-codes.ts';
import { readRoads } from './road-file.ts';
import { type OnRoad, type Road, RoadNetwork } from './road-network.ts';
import { SearchBudget } from './search-budget.ts';
import { byLength, findPaths } from './shortest-path.ts';
import { similarity, trigramsOf } from './trigrams.ts';

fc.configureGlobal(propertySettings);

const road = (line: readonly Position[], more: Partial<Road> = {}): Road => ({
  line,
  name: null,
  maxSpeedKmh: null,
  isOneWay: false,
  ...more,
});
const east = (metres: number, north = 0): Position => destination(destination([10, 20], 90, metres), 0, north);

describe('Plus Codes', () => {
  // From the test data of github.com/google/open-location-code.
  it.each([
    [[20.3700625, 2.7821875], '7FG49QCJ+2V'],
    [[47.0000625, 8.0000625], '8FVC2222+22'],
    [[-41.2730625, 174.7859375], '4VCPPQGP+Q9'],
    [[90, 1], 'CFX3X2X2+X2'],
    [[1, 180], '62H22222+22'],
  ] as [Position, string][])('encodes and decodes %j as %s', (position, code) => {
    expect(plusCodeOf(position)).toBe(code);
  });

  it('round-trips within the area of the code, and returns null for invalid text', () => {
    fc.assert(
      fc.property(
        fc.double({ min: -89, max: 89, noNaN: true }),
        fc.double({ min: -179.9, max: 179.9, noNaN: true }),
        (lat, lng) => {
          const back = positionOfPlusCode(` ${plusCodeOf([lat, lng]).toLowerCase()} `);
          expect(distanceM(back ?? [0, 0], [lat, lng])).toBeLessThan(10);
        },
      ),
    );
    for (const text of ['', 'QCG+2X', '7FG49QCG', 'London', '7FG49QCG+2!']) expect(positionOfPlusCode(text)).toBeNull();
  });
});

describe('trigrams', () => {
  it('equal those of pg_trgm, without accents and case', () => {
    expect([...trigramsOf('Cät')].sort()).toEqual(['  c', ' ca', 'at ', 'cat']);
    expect([...trigramsOf('ca', true)].sort()).toEqual(['  c', ' ca']);
    expect(similarity('word', 'two words')).toBeCloseTo(4 / 11, 5);
    expect(similarity('', '')).toBe(0);
  });
});

describe('built-in places', () => {
  it('match the number in the table, and find the nearest place', async () => {
    const places = await BuiltInPlaces.load();
    const lines = (await readFile(new URL('../../../data/places.tsv', import.meta.url), 'utf8')).trimEnd().split('\n');
    expect(lines).toHaveLength(23_388);
    const all = lines.slice(1).map((line): Position => {
      const [, , , latitude, longitude] = line.split('\t');
      return [Number(latitude), Number(longitude)];
    });
    const corner = fc.tuple(
      fc.double({ min: -89, max: 89, noNaN: true }),
      fc.double({ min: -180, max: 180, noNaN: true }),
    );
    fc.assert(
      fc.property(corner, (position) => {
        const least = Math.min(...all.map((each) => distanceM(each, position)));
        expect(places.nearest(position).distanceM).toBeCloseTo(least, 0);
      }),
      { numRuns: propertyRuns(20) },
    );
  });
});

describe('EmbeddedGeocoder', () => {
  const geocoder = new EmbeddedGeocoder();
  const depot: OwnPlace = {
    id: 'geofence:7',
    name: 'Paris Depot',
    detail: 'geofence',
    position: [48.9, 2.3],
    type: 'geofence',
  };
  const search = (text: string, more: object = {}, own: OwnPlace[] = []) =>
    geocoder.search({ text, limit: 5, ...more }, own);

  it('returns distance and direction from the nearest city', async () => {
    expect(await geocoder.reverse([28.6358, 77.2245])).toMatchObject({
      components: { city: 'New Delhi', countryCode: 'IN' },
    });
    const near = await geocoder.reverse([18.7, 74.1]);
    expect(near.address).toMatch(/^[\d.]+ km (N|NE|E|SE|S|SW|W|NW) of .+, Maharashtra, India$/);
    const sea = await geocoder.reverse([-40, -20]);
    expect(sea.address).toMatch(/^\d{3,4} km \w+ of /);
    expect(sea.components.country).toBeNull();
  });

  it('finds cities by name, with country, with or without accents, largest first', async () => {
    expect((await search('London'))[0]).toMatchObject({ address: 'London, England, United Kingdom', type: 'city' });
    expect((await search('london, ontario canada'))[0]).toMatchObject({ components: { countryCode: 'CA' } });
    expect((await search('sao paulo'))[0]).toMatchObject({ address: expect.stringContaining('São Paulo') as unknown });
    expect((await search('New Delhi'))[0]).toMatchObject({ components: { city: 'New Delhi' } });
    expect((await search('london', { country: 'CA' })).every(({ components }) => components.countryCode === 'CA')).toBe(
      true,
    );
    expect((await search('London', { near: [42.98, -81.24] }))[0]).toMatchObject({ components: { countryCode: 'CA' } });
    expect(await search('qqxzzv street 99')).toEqual([]);
    expect(await search('!!')).toEqual([]);
    expect(await search('San', { limit: 2 })).toHaveLength(2);
  });

  it('accepts positions and full Plus Codes', async () => {
    expect(await search('28.6139, 77.2090')).toMatchObject([
      { position: [28.6139, 77.209], confidence: 1, type: 'coordinates' },
    ]);
    expect(await search('7JWVJ675+HJ')).toMatchObject([{ type: 'plus_code', address: '7JWVJ675+HJ' }]);
    expect((await search('95.0, 200.0')).every(({ type }) => type === 'city')).toBe(true);
  });

  it('suggests own places first, and completes the last word', async () => {
    const offered = await geocoder.suggest({ text: 'pari', limit: 5 }, [depot]);
    expect(offered[0]).toMatchObject({ id: 'geofence:7', title: 'Paris Depot', type: 'geofence' });
    expect(offered.slice(1).map(({ title }) => title)).toContain('Paris');
    expect(await geocoder.suggest({ text: 'pari', limit: 5 }, [depot], { isOwnOnly: true })).toHaveLength(1);
    expect((await search('Paris Depot', {}, [depot]))[0]).toMatchObject({
      type: 'geofence',
      components: { countryCode: 'FR' },
    });
  });
});

describe('road files', () => {
  it('reads GeoJSON with OpenStreetMap tags, and skips what is not a road', () => {
    const line = [
      [1, 2],
      [3, 4],
    ];
    const feature = (properties: object, geometry: object = { type: 'LineString', coordinates: line }) => ({
      type: 'Feature',
      properties,
      geometry,
    });
    const roads = readRoads(
      JSON.stringify({
        type: 'FeatureCollection',
        features: [
          feature({ name: 'A', maxspeed: '30 mph', oneway: 'yes' }),
          feature({ ref: 'B7', maxspeed: 'signals', oneway: '-1' }),
          feature({}, { type: 'MultiLineString', coordinates: [line, line] }),
          feature({}, { type: 'Point', coordinates: [1, 2] }),
          feature({}, { type: 'LineString', coordinates: [[1, 2]] }),
          feature(
            {},
            {
              type: 'LineString',
              coordinates: [
                [1, 2],
                [1, 200],
              ],
            },
          ),
          feature({}, {}),
        ],
      }),
    );
    expect(roads).toHaveLength(4);
    expect(roads[0]).toMatchObject({
      name: 'A',
      isOneWay: true,
      line: [
        [2, 1],
        [4, 3],
      ],
    });
    expect(roads[0]?.maxSpeedKmh).toBeCloseTo(48.28, 2);
    expect(roads[1]).toEqual({
      name: 'B7',
      maxSpeedKmh: null,
      isOneWay: true,
      line: [
        [4, 3],
        [2, 1],
      ],
    });
    expect(() => readRoads('{"type":"Feature"}')).toThrow('FeatureCollection');
  });
});

/** Returns a square grid of streets with `size` crossings per side, some of them one-way. */
function grid(size: number, stepM: number, isOneWay: (at: number) => boolean = () => false): Road[] {
  const roads: Road[] = [];
  for (let at = 0; at < size; at += 1) {
    const line = (place: (along: number) => Position) => Array.from({ length: size }, (_unused, along) => place(along));
    roads.push(
      road(
        line((along) => east(along * stepM, at * stepM)),
        { name: `E${at}`, isOneWay: isOneWay(at) },
      ),
    );
    roads.push(
      road(
        line((along) => east(at * stepM, along * stepM)),
        { name: `N${at}`, isOneWay: isOneWay(at + size) },
      ),
    );
  }
  return roads;
}

/** Returns the distances between all nodes by Floyd and Warshall, which is slow and simple. */
function allDistances(network: RoadNetwork): number[][] {
  const count = network.nodes.length;
  const table = Array.from({ length: count }, (_unused, from) =>
    Array.from({ length: count }, (_unused2, to) => (from === to ? 0 : Number.POSITIVE_INFINITY)),
  );
  const at = (from: number, to: number): number => table[from]?.[to] ?? Number.POSITIVE_INFINITY;
  const put = (from: number, to: number, value: number): void => {
    const row = table[from];
    if (row !== undefined && value < at(from, to)) row[to] = value;
  };
  for (let from = 0; from < count; from += 1)
    for (const { to, segment } of network.waysFrom(from)) put(from, to, segment.lengthM);
  for (let via = 0; via < count; via += 1)
    for (let from = 0; from < count; from += 1)
      for (let to = 0; to < count; to += 1) put(from, to, at(from, via) + at(via, to));
  return table;
}

describe('shortest paths', () => {
  it('have the length that Floyd and Warshall find, with one goal or several, with one-way streets', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 1023 }), fc.nat(), fc.nat(), async (oneWays, from, to) => {
        const network = new RoadNetwork(grid(5, 100, (at) => ((oneWays >> at) & 1) === 1));
        const table = allDistances(network);
        const count = network.nodes.length;
        const [start, goal] = [from % count, to % count];
        const onNode = (node: number) => network.near(network.at(node), 1, 9);
        const pathsTo = async (goals: readonly OnRoad[]) => {
          const paths = onNode(start).map((place) => findPaths(network, place, goals, byLength(10_000)));
          return (await Promise.all(paths)).flat();
        };
        const reached = await pathsTo(onNode(goal));
        const alone = (await Promise.all(onNode(goal).map((each) => pathsTo([each])))).flat();
        const least = (paths: typeof reached) =>
          Math.min(...paths.map((path) => path?.lengthM ?? Number.POSITIVE_INFINITY));
        const expected = table[start]?.[goal] ?? Number.POSITIVE_INFINITY;
        const isClose = (found: number) => found === expected || Math.abs(found - expected) < 0.5;
        expect([isClose(least(reached)), isClose(least(alone))]).toEqual([true, true]);
        const isLong = reached.map((path) => path === null || Math.abs(lineLengthM(path.line) - path.lengthM) < 0.1);
        expect(isLong).not.toContain(false);
      }),
      { numRuns: propertyRuns(60) },
    );
  });

  it('are not searched beyond the cost limit', async () => {
    const network = new RoadNetwork(grid(4, 100));
    const [start] = network.near(east(0), 1, 1);
    const [goal] = network.near(east(300, 300), 1, 1);
    if (start === undefined || goal === undefined) throw new Error('the grid has no crossing');
    expect(await findPaths(network, start, [goal], byLength(599))).toEqual([null]);
    expect((await findPaths(network, start, [goal], byLength(601)))[0]?.lengthM).toBeCloseTo(600, 0);
  });
});

describe('EmbeddedRouter', () => {
  const over = (roads: Road[]) => new EmbeddedRouter(() => Promise.resolve(new RoadNetwork(roads)));
  const query = { profile: 'car' as const, alternatives: 0 };

  it('takes the faster route, respects one-way streets, and names the roads', async () => {
    const router = over([
      road([east(0), east(1000)], { name: 'Slow Lane', maxSpeedKmh: 20 }),
      road([east(0), east(0, 500), east(1000, 500), east(1000)], { name: 'Ring', maxSpeedKmh: 100 }),
    ]);
    const [fast] = await router.route({ ...query, waypoints: [east(0), east(1000)] });
    expect(fast).toMatchObject({ source: 'provider', steps: [{ instruction: 'Follow Ring' }] });
    expect(fast?.distanceM).toBeCloseTo(2000, -1);
    expect(fast?.durationS).toBeCloseTo(72, 0);
    const [oneWay] = await over([
      road([east(0), east(1000)], { isOneWay: true }),
      road([east(1000), east(1000, 100), east(0, 100), east(0)], { isOneWay: true }),
    ]).route({ ...query, waypoints: [east(800), east(200)] });
    expect(oneWay?.distanceM).toBeCloseTo(200 + 100 + 1000 + 100 + 200, -1);
  });

  it('returns two points for a route from a position to itself', async () => {
    const [route] = await over([road([east(0), east(1000)])]).route({ ...query, waypoints: [east(0), east(0)] });
    expect(route).toMatchObject({ source: 'provider', distanceM: 0 });
    expect(route?.path).toHaveLength(2);
  });

  it('limits the speed of trucks', async () => {
    const router = over([road([east(0), east(1000)], { maxSpeedKmh: 120 })]);
    const waypoints = [east(0), east(1000)];
    const [car] = await router.route({ ...query, waypoints });
    const [truck] = await router.route({ ...query, profile: 'truck', waypoints });
    expect(car?.durationS).toBeCloseTo(30, 0);
    expect(truck?.durationS).toBeCloseTo(45, 0);
  });

  it.each([
    ['there are no roads', []],
    ['a position is far from all roads', [road([east(0), east(1000)])]],
    ['no route exists', [road([east(0), east(1000)]), road([east(9000), east(10_000)])]],
  ] as [string, Road[]][])('draws and labels a straight line where %s', async (_name, roads) => {
    const to = roads.length === 1 ? east(50_000) : east(10_000);
    const [route] = await over(roads).route({ ...query, waypoints: [east(0), to] });
    const straightM = distanceM(east(0), to);
    expect(route).toMatchObject({ source: 'straight_line', path: [east(0), to] });
    expect(route?.distanceM).toBeCloseTo(straightM * 1.3, 3);
    expect(route?.durationS).toBeCloseTo((straightM * 1.3) / (40 / 3.6), 3);
    expect(route?.steps[0]?.instruction).toContain('straight line');
  });
});

/** Returns how often other work ran during the given work. */
async function turnsDuring(work: Promise<unknown>): Promise<number> {
  const going = new Set([work]);
  const done = work.finally(() => going.clear());
  let turns = 0;
  for (; going.size > 0; turns += 1) await setImmediate();
  await done;
  return turns;
}

describe('distant positions in a large network', () => {
  const size = 100;
  const [here, there] = [east(0), east((size - 1) * 100, (size - 1) * 100)];
  const network = RoadNetwork.build(grid(size, 100));

  it('yields to other requests while it searches routes', async () => {
    const far = [here, there, here].map((position) => ({ position }));
    const roads = await network;
    // Each of these visits most of the 10,000 crossings several times.
    expect(await turnsDuring(matchTrace(roads, far))).toBeGreaterThan(5);
    const router = new EmbeddedRouter(() => network);
    const waypoints = Array.from({ length: 6 }, (_unused, at) => (at % 2 === 0 ? here : there));
    expect(await turnsDuring(router.route({ waypoints, profile: 'car', alternatives: 0 }))).toBeGreaterThan(5);
    expect(await turnsDuring(RoadNetwork.build(grid(size, 100)))).toBeGreaterThan(2);
  });

  it('matches each point separately once the budget is spent', async () => {
    const far = [here, there, here].map((position) => ({ position }));
    // Limited by steps, and by time.
    for (const budget of [new SearchBudget(1_000), new SearchBudget(1_000_000, 0)]) {
      const { points } = await matchTrace(await network, far, budget);
      expect(points.map(({ isMatched, leg }) => [isMatched, leg.length])).toEqual([
        [true, 1],
        [true, 1],
        [true, 1],
      ]);
    }
    const whole = await matchTrace(await network, far);
    expect(whole.points[1]?.leg.length).toBeGreaterThan(100);
  });
});

describe('roads at the date line', () => {
  it('are found from the other side of the date line', async () => {
    const roads = new RoadNetwork([
      road([
        [0, -179.9995],
        [0, -179.9],
      ]),
      road([
        [1, 179.9],
        [1, 179.9995],
      ]),
    ]);
    expect(roads.near([0, 179.9996], 200, 1)[0]?.distanceM).toBeCloseTo(100, -1);
    expect(roads.near([1, -179.9996], 200, 1)[0]?.distanceM).toBeCloseTo(100, -1);
    expect(roads.near([0, 179.9], 200, 1)).toEqual([]);
  });
});

describe('map matching', () => {
  /** Moves a position by a repeatable error of some metres. */
  const noisy = (position: Position, at: number, metres: number): Position =>
    destination(position, (at * 137.5) % 360, metres * ((at * 7919) % 100) * 0.01);
  const trace = (positions: readonly Position[]) => positions.map((position) => ({ position }));

  it('matches a noisy drive to the streets that it took', async () => {
    const network = new RoadNetwork(grid(6, 200));
    const driven = [
      ...Array.from({ length: 20 }, (_unused, at) => east(at * 50)),
      ...Array.from({ length: 16 }, (_unused, at) => east(1000, at * 50)),
    ];
    const { points, confidence } = await matchTrace(network, trace(driven.map((each, at) => noisy(each, at, 15))));
    expect(points.every(({ isMatched }) => isMatched)).toBe(true);
    expect(confidence).toBeGreaterThan(0.7);
    expect(points.slice(0, 19).map(({ roadName }) => roadName)).toEqual(Array.from({ length: 19 }, () => 'E0'));
    expect(points.slice(22).map(({ roadName }) => roadName)).toEqual(Array.from({ length: 14 }, () => 'N5'));
    const line = lineOf(points);
    expect(lineLengthM(line)).toBeLessThan(lineLengthM(driven) * 1.05);
    for (const [at, position] of driven.entries()) {
      expect(nearestOnLine(position, line)?.distanceM).toBeLessThan(30);
      expect(points[at]?.distanceM ?? 99).toBeLessThan(16);
    }
  });

  it('stays on the street although a parallel one is briefly nearer', async () => {
    const network = new RoadNetwork([
      road([east(0), east(2000)], { name: 'Main' }),
      road([east(0, 40), east(2000, 40)], { name: 'Side' }),
    ]);
    const driven = Array.from({ length: 20 }, (_unused, at) => east(at * 100, at === 10 ? 22 : 3));
    const { points } = await matchTrace(network, trace(driven));
    expect(new Set(points.map(({ roadName }) => roadName))).toEqual(new Set(['Main']));
  });

  it('returns a point without a road unchanged, and draws the line past it', async () => {
    const network = new RoadNetwork([road([east(0), east(1000)])]);
    const outlier = east(500, 400);
    const { points } = await matchTrace(network, trace([east(100, 5), outlier, east(900, 5)]));
    expect(points[1]).toMatchObject({ isMatched: false, position: outlier, distanceM: null });
    expect(lineLengthM(lineOf(points))).toBeCloseTo(800, -1);
    const alone = await matchTrace(new RoadNetwork([]), trace([east(0), east(100)]));
    expect(alone).toMatchObject({ confidence: 0, points: [{ isMatched: false }, { isMatched: false }] });
    expect(lineOf(alone.points)).toEqual([east(0), east(100)]);
  });

  it('starts a new chain where no route continues', async () => {
    const network = new RoadNetwork([road([east(0), east(500)]), road([east(3000), east(3500)])]);
    const { points } = await matchTrace(network, trace([east(100), east(400), east(3100), east(3400)]));
    expect(points.every(({ isMatched }) => isMatched)).toBe(true);
    expect(points[2]?.leg).toHaveLength(1);
    expect(lineLengthM(lineOf(points))).toBeCloseTo(3300, -1);
  });

  it("falls back to the account's own paths wherever the file has no road nearby", async () => {
    const matcher = new EmbeddedMatcher(() =>
      Promise.resolve(new RoadNetwork([road([east(0), east(1000)], { name: 'Main' })])),
    );
    const own = [
      [east(1000), east(1000, 2000)],
      [east(50_000), east(60_000)],
    ];
    const driven = [east(200, 4), east(800, -4), east(1004, 600), east(996, 1400)];
    const { points, confidence } = await matcher.match(trace(driven), own);
    expect(points.map(({ isMatched, roadName }) => [isMatched, roadName])).toEqual([
      [true, 'Main'],
      [true, 'Main'],
      [true, null],
      [true, null],
    ]);
    expect(confidence).toBeGreaterThan(0.8);
    const without = await matcher.match(trace(driven), []);
    expect(without.points.map(({ isMatched }) => isMatched)).toEqual([true, true, false, false]);
  });

  it('matches the demo round with the sample roads', async () => {
    const text = await readFile(new URL('../../../data/sample-roads.geojson', import.meta.url), 'utf8');
    const network = new RoadNetwork(readRoads(text));
    const positions: Position[] = [
      [22.5411, 114.0506],
      [22.5408, 114.0575],
      [22.5385, 114.068],
      [22.5279, 114.0668],
      [22.5254, 114.053],
    ];
    const { points } = await matchTrace(network, trace(positions));
    expect(points.map(({ roadName }) => roadName)).toEqual([
      'Shennan Road',
      'Shennan Road',
      'Huanggang Road',
      expect.stringMatching(/Huanggang Road|Binhe Avenue/),
      'Binhe Avenue',
    ]);
  });
});
