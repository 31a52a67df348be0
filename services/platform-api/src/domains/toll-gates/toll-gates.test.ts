import { randomUUID } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { propertySettings } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import { nearestOnLine } from '../../geometry/lines.ts';
import type { Position } from '../../geometry/positions.ts';
import { type Client, PlatformHarness } from '../../testing/platform-harness.ts';
import { readCsv } from './csv.ts';
import { loadTollGates } from './load-toll-gates.ts';
import { alongPath, readTollGates } from './rules.ts';

fc.configureGlobal(propertySettings);

jest.setTimeout(60_000);

describe('files of toll gates', () => {
  it('are parsed according to RFC 4180', () => {
    expect(readCsv('\uFEFFa,b\r\n"x, ""y""\nz", 2 \r\n\r\n,\nlast,')).toEqual([
      ['a', 'b'],
      ['x, "y"\nz', '2'],
      ['last', ''],
    ]);
    expect(() => readCsv('a\n"b"c')).toThrow('could not read');
  });

  it('have prices in columns, and invalid rows are reported', () => {
    const header = 'name,latitude,longitude,country,currency,rate_car_single,rate_car_return,rate_bus_single';
    const { gates, invalidRows } = readTollGates(
      [
        header,
        'A,1,2,IN,INR,100,150,',
        'B,91,2,IN,INR,1,,',
        ',1,2,IN,INR,1,,',
        'C,1,2,IN,rupees,1,,',
        'D,1,2,IN,,,,',
      ].join('\n'),
    );
    expect(invalidRows).toEqual([2, 3, 4]);
    expect(gates).toMatchObject([
      {
        name: 'A',
        latitude: 1,
        rates: [{ vehicleClass: 'car', single: 100, return: 150, monthly: null, currency: 'INR' }],
      },
      { name: 'D', rates: [], highway: null, source: 'file' },
    ]);
  });

  it('may be JSON, either a list or an object with one', () => {
    const gate = {
      name: 'A',
      latitude: 1,
      longitude: 2,
      country: 'IN',
      rates: [{ vehicle_class: 'car', single: 5, currency: 'INR' }],
    };
    expect(readTollGates(JSON.stringify([gate])).gates).toHaveLength(1);
    expect(readTollGates(JSON.stringify({ toll_gates: [gate, { name: 'x' }] }))).toMatchObject({
      gates: [{ name: 'A' }],
      invalidRows: [2],
    });
    expect(() => readTollGates('[1,')).toThrow(SyntaxError);
  });

  it('are matched to a path in driving order, as by an exhaustive search', () => {
    const near = fc
      .tuple(fc.integer({ min: 0, max: 300 }), fc.integer({ min: 0, max: 300 }))
      .map(([a, b]): Position => [a / 1e4, b / 1e4]);
    fc.assert(
      fc.property(
        fc.array(near, { minLength: 2, maxLength: 200 }),
        fc.array(near, { maxLength: 20 }),
        (path, places) => {
          const found = alongPath(path, places, { positionOf: (place) => place, withinM: 200 });
          const expected = places
            .map((place) => nearestOnLine(place, path))
            .filter((on) => on !== null && on.distanceM <= 200);
          expect(found).toHaveLength(expected.length);
          const order = found.map(({ alongM }) => alongM);
          expect(order).toEqual(order.toSorted((a, b) => a - b));
        },
      ),
    );
  });
});

describe('toll gates', () => {
  let harness: PlatformHarness;
  let owner: Client;
  const path = '/api/toll-gates';
  const sample = fileURLToPath(new URL('../../../data/sample-toll-gates.csv', import.meta.url));
  beforeAll(async () => {
    harness = await PlatformHarness.open({ TOLL_GATES_FILE: sample });
    owner = harness.as(harness.ours.owner);
  });
  afterAll(() => harness?.close());

  const names = async (query: string, client = owner): Promise<unknown[]> =>
    (await client.get(`${path}?${query}`)).items.map(({ name }) => String(name).replace('Sample gate ', ''));

  it('are those of the file, for every account', async () => {
    const all = await owner.get(path);
    expect(all).toMatchObject({ status: 200, body: { meta: { pagination: { total: 5, page: 1 } } } });
    expect(all.items.at(-1)).toMatchObject({
      name: 'Sample gate Binhe East',
      highway: 'Binhe Avenue',
      state: 'Guangdong',
      country: 'CN',
      direction: 'west',
      effective_from: '2026-01-01',
      source: 'sample',
      version: 1,
      rates: [
        { vehicle_class: 'car', single: 500, return: 900, monthly: 30_000, currency: 'CNY' },
        { vehicle_class: 'truck', single: 1_500, return: 2_800, monthly: 90_000, currency: 'CNY' },
      ],
    });
    expect(await names('limit=2&page=3')).toEqual(['Binhe East']);
    expect(await names('', harness.as(harness.theirs.owner))).toHaveLength(5);
    expect(await harness.anonymous.get(path)).toMatchObject({ status: 401 });
  });

  it('are found by text, state, position and rectangle', async () => {
    expect(await names('query=century')).toEqual(['Pudong']);
    expect(await names('query=.*')).toEqual([]);
    expect(await names('state=guangDONG')).toHaveLength(3);
    expect(await names('state=guang')).toEqual([]);
    expect(await names('latitude=22.526&longitude=114.045')).toEqual(['Binhe West', 'Shennan', 'Binhe East']);
    expect(await names('latitude=22.526&longitude=114.045&radius_km=1')).toEqual(['Binhe West']);
    expect(await names('latitude=22.526&longitude=114.045&query=binhe&limit=1&offset=1')).toEqual(['Binhe East']);
    expect(await names('latitude=22.525999999999996&longitude=114.04500000000002&radius_km=1')).toEqual(['Binhe West']);
    expect(await names('latitude=1e-7&longitude=-1.0259699999999998')).toEqual([]);
    expect(await names('bbox=31,121,32,122')).toEqual(['Pudong']);
    expect(await names('bbox=-10,170,10,-170')).toEqual([]);
  });

  it('are found on a route in driving order, with the distance to each', async () => {
    const along = [
      [22.5411, 114.0506],
      [22.541, 114.0662],
      [22.5279, 114.0668],
      [22.5253, 114.0526],
      [22.5262, 114.0447],
    ];
    const made = async (line: number[][]) => (await owner.post('/api/routes', { name: 'T', path: line })).data.id;
    const [there, back] = [await made(along), await made(along.toReversed())];
    const found = await owner.get(`${path}?route_id=${there}`);
    expect(found.items.map(({ name }) => name)).toEqual([
      'Sample gate Shennan',
      'Sample gate Binhe East',
      'Sample gate Binhe West',
    ]);
    const ways = found.items.map((gate) => Number(gate['distance_from_start_m']));
    expect(ways[0]).toBe(0);
    expect(ways[1]).toBeGreaterThan(2_900);
    expect(ways[2]).toBeGreaterThan(ways[1] ?? 0);
    expect(await names(`route_id=${back}`)).toEqual(['Binhe West', 'Binhe East', 'Shennan']);
    expect(await harness.as(harness.theirs.owner).get(`${path}?route_id=${there}`)).toMatchObject({ status: 404 });
  });

  it.each([
    'latitude=1',
    'longitude=1',
    'radius_km=5',
    'latitude=91&longitude=0',
    'latitude=1&longitude=1&radius_km=0',
    'latitude=1&longitude=1&bbox=1,1,2,2',
    'route_id=1&bbox=1,1,2,2',
    'bbox=1,2,3',
    'route_id=0',
    'limit=0',
    'page=1&offset=0',
  ])('reject %s', async (query) => {
    expect(await owner.get(`${path}?${query}`)).toMatchObject({ status: 400 });
  });

  it('follow a changed file: known gates preserve their ids, and an invalid file changes nothing', async () => {
    const file = join(tmpdir(), `toll-gates-${randomUUID()}.json`);
    const before = (await owner.get(`${path}?query=pudong`)).items[0];
    const gate = (name: string, more: object = {}) => ({
      name,
      latitude: 31.2295,
      longitude: 121.5195,
      country: 'CN',
      ...more,
    });
    const load = async (text: string): Promise<void> => {
      await writeFile(file, text);
      await loadTollGates(harness.deps, file);
    };
    try {
      await load('{ not json');
      expect(await names('')).toHaveLength(5);
      await Promise.all(
        [1, 2].map(() => load(JSON.stringify([gate('Sample gate Pudong', { city: 'Pudong' }), gate('New')]))),
      );
      expect((await names('')).toSorted((a, b) => String(a).localeCompare(String(b)))).toEqual(['New', 'Pudong']);
      const [after] = (await owner.get(`${path}?query=sample%20gate%20pudong`)).items;
      expect(after).toMatchObject({ id: before?.id, version: 2, city: 'Pudong', rates: [] });
    } finally {
      await rm(file);
      await loadTollGates(harness.deps, sample);
    }
  });
});
