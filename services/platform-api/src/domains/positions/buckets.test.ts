import { randomBytes } from 'node:crypto';
import { type Database, openDatabase } from '@fleet/storage';
import { testEnv } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testPosition } from '../../testing/positions.ts';
import { tooLargeError } from '../../testing/too-large-error.ts';
import type { LastLocation } from '../last-positions/schema.ts';
import { readPositions } from './bucket-reader.ts';
import { appendPositions } from './bucket-writer.ts';
import { pack, unpack } from './packing.ts';
import type { NewPoint, Point } from './schema.ts';

let database: Database;
beforeAll(() => {
  const url = new URL(testEnv('MONGODB_URL'));
  url.pathname = `/positions_${randomBytes(6).toString('hex')}`;
  database = openDatabase(url.href, { appName: 'test' });
});
afterAll(async () => {
  await database.db.dropDatabase();
  await database.close();
});

const noon = Date.parse('2026-01-31T12:00:00Z');
const point = (vehicleId: number, atMs: number, more: Partial<LastLocation> = {}, hash = 'aa'): NewPoint => ({
  vehicleId,
  accountId: 1,
  driverId: null,
  hash,
  position: testPosition('13800138000', { timestamp: atMs, serverTimestamp: atMs + 1_200, slowSinceMs: null, ...more }),
});
async function read(vehicleId: number, fromMs: number, toMs: number): Promise<Point[]> {
  const found: Point[] = [];
  for await (const each of readPositions(database, vehicleId, { fromMs, toMs })) found.push(each);
  return found;
}
const times = async (vehicleId: number, fromMs = noon - 86_400_000, toMs = noon + 86_400_000) =>
  (await read(vehicleId, fromMs, toMs)).map(({ position }) => position.timestamp - noon);

describe('packed point', () => {
  const full = testPosition('013800138000', {
    latitude: -22.543211,
    longitude: -114.057865,
    altitude: -12,
    speed: 45.3,
    course: 359,
    gpsValid: false,
    satellites: 11,
    signal: 28,
    ignition: true,
    odometerKm: 123_456.7,
    fuelL: 44.5,
    batteryPercent: 80,
    externalVoltage: 12.4,
    alarms: ['sos', 'overspeed'],
    source: 'partner',
    backfilled: true,
    timestamp: noon,
    serverTimestamp: noon + 5_000_000,
    slowSinceMs: noon + 5_000_000 - 60_000,
  });
  const empty = testPosition('1', {
    altitude: null,
    gpsValid: true,
    satellites: null,
    ignition: null,
    odometerKm: null,
    alarms: [],
    slowSinceMs: null,
    timestamp: noon,
    serverTimestamp: noon,
  });
  it.each([
    ['everything', full, 17],
    ['only the position', empty, null],
  ])('retains %s', (_case, position, driverId) => {
    const packed = pack({ position, driverId });
    expect(unpack(packed, position.imei, noon)).toEqual({ position, driverId });
    expect(packed.length).toBeLessThan(100);
  });
  it('is short if most fields are empty', () => {
    expect(pack({ position: empty, driverId: null })).toBe('48100000,11500000,0,90,1,0');
  });
});

describe('history of a vehicle', () => {
  it('has each report once, sorted by device time, in whatever order and how often reports arrive', async () => {
    const batch = [point(1, noon + 30_000), point(1, noon), point(1, noon + 3_600_000), point(1, noon - 1)];
    await appendPositions(database, batch);
    await appendPositions(database, batch);
    await appendPositions(database, [point(1, noon + 10_000), point(1, noon, {}, 'bb')]);
    expect(await times(1)).toEqual([-1, 0, 0, 10_000, 30_000, 3_600_000]);
    await appendPositions(database, []);
  });

  it('replaces 0, 0 without a fix by the position before it', async () => {
    const blind = { gpsValid: false, latitude: 0, longitude: 0 };
    const own = { gpsValid: false, latitude: 10, longitude: 20 };
    await appendPositions(database, [
      point(60, noon, blind),
      point(60, noon + 10_000, { latitude: 48.1, longitude: 11.5 }),
      point(60, noon + 20_000, blind),
      point(60, noon + 30_000, own),
      point(60, noon + 3_600_000, blind),
    ]);
    const places = (await read(60, noon, noon + 3_600_000)).map(({ position: { latitude, longitude, gpsValid } }) => [
      latitude,
      longitude,
      gpsValid,
    ]);
    expect(places).toEqual([
      [0, 0, false],
      [48.1, 11.5, true],
      [48.1, 11.5, false],
      [10, 20, false],
      [10, 20, false],
    ]);
  });

  it('limits the points of ten minutes, and stores the others', async () => {
    const many = Array.from({ length: 7 }, (_unused, at) => point(40, noon, {}, `a${at}`));
    expect(await appendPositions(database, many.slice(0, 3), { maxPoints: 5 })).toEqual({ points: 0, buckets: [] });
    const full = ['13800138000:40:2026-01-31T12:00'];
    expect(await appendPositions(database, many.slice(3), { maxPoints: 5 })).toEqual({ points: 2, buckets: full });
    expect(await appendPositions(database, [...many, point(41, noon)], { maxPoints: 5 })).toEqual({
      points: 7,
      buckets: [],
    });
    expect([await times(40), await times(41)]).toEqual([[0, 0, 0, 0, 0], [0]]);
  });

  it('skips a bucket that the database rejects as too large', async () => {
    const collection = database.collection('position_buckets');
    const bulkWrite = collection.bulkWrite.bind(collection);
    const stubborn = Object.create(database, {
      collection: {
        value: (name: string) =>
          name !== 'position_buckets'
            ? database.collection(name)
            : Object.create(collection, {
                bulkWrite: {
                  value: async (operations: { updateOne: { filter: { _id: string } } }[], options: object) => {
                    const refused = operations.find(({ updateOne }) => updateOne.filter._id.includes(':42:'));
                    if (refused === undefined) return bulkWrite(operations as never, options);
                    throw tooLargeError(refused.updateOne.filter._id);
                  },
                },
              }),
      },
    }) as Database;
    const left = await appendPositions(stubborn, [point(42, noon), point(43, noon)]);
    expect(left).toEqual({ points: 1, buckets: ['13800138000:42:2026-01-31T12:00'] });
    expect([await times(42), await times(43)]).toEqual([[], [0]]);
    expect(await appendPositions(stubborn, [point(42, noon + 1), point(43, noon + 1)])).toEqual({
      points: 1,
      buckets: [],
    });
    expect(await times(43)).toEqual([0, 1]);
  });

  it('returns the points within the window, both ends included', async () => {
    await appendPositions(
      database,
      [-1, 0, 1, 599_999, 600_000, 600_001].map((ms) => point(2, noon + ms)),
    );
    expect(await times(2, noon, noon + 600_000)).toEqual([0, 1, 599_999, 600_000]);
    expect(await times(2, noon + 600_001, noon + 999_999)).toEqual([600_001]);
    expect(await times(2, noon + 700_000, noon + 999_999)).toEqual([]);
    expect(await times(99)).toEqual([]);
  });

  it('continues over midnight', async () => {
    const midnight = Date.parse('2026-02-01T00:00:00Z') - noon;
    const given = [midnight - 2_000, midnight - 1, midnight, midnight + 5_000];
    await appendPositions(
      database,
      given.toReversed().map((ms) => point(3, noon + ms)),
    );
    expect(await times(3)).toEqual(given);
  });

  it('includes all terminals of the vehicle, but not their time in other vehicles', async () => {
    await appendPositions(database, [
      point(4, noon, { imei: '111' }),
      point(4, noon + 20_000, { imei: '00222' }),
      point(5, noon + 10_000, { imei: '111' }),
    ]);
    const [first, second] = await read(4, noon, noon + 60_000);
    expect([first?.position.imei, second?.position.imei]).toEqual(['111', '00222']);
    expect(await times(4)).toEqual([0, 20_000]);
    expect(await times(5)).toEqual([10_000]);
  });

  it('is complete if many replicas write concurrently', async () => {
    const others = Array.from({ length: 8 }, (_u, i) => point(6, noon + i * 1_000));
    await Promise.all(others.map((each) => appendPositions(database, [each])));
    expect(await times(6)).toHaveLength(8);
  });

  it('stores the reports of hundreds of vehicles in one batch', async () => {
    const ids = Array.from({ length: 300 }, (_u, i) => 1_000 + i);
    await appendPositions(
      database,
      ids.map((id) => point(id, noon, { imei: String(id) })),
    );
    expect(await times(1_299)).toEqual([0]);
  });

  it('rejects an invalid terminal number', async () => {
    await expect(appendPositions(database, [point(7, noon, { imei: '000' })])).rejects.toThrow(/terminal number/);
  });
});
