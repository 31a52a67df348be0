import { randomBytes } from 'node:crypto';
import { type Database, openDatabase } from '@fleet/storage';
import { testEnv } from '@fleet/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { loadConfig } from '../../assembly/config.ts';
import { RecordStore } from '../../store/record-store.ts';
import { testPosition } from '../../testing/positions.ts';
import type { LastLocation } from '../last-positions/schema.ts';
import { configOf } from '../preferences/store.ts';
import { accountConfig } from '../preferences/use-cases.ts';
import { readPositions } from './bucket-reader.ts';
import { appendPositions } from './bucket-writer.ts';
import { applyPositionRetention, downsample } from './retention.ts';
import type { NewPoint, Point } from './schema.ts';
import { findVehicleDays } from './vehicle-days.ts';

// Uses a real server on a machine that may be busy.
jest.setTimeout(120_000);

let database: Database;
let records: RecordStore;
beforeAll(() => {
  const url = new URL(testEnv('MONGODB_URL'));
  url.pathname = `/positions_${randomBytes(6).toString('hex')}`;
  database = openDatabase(url.href, { appName: 'test' });
  records = new RecordStore(database);
});
afterAll(async () => {
  await database.db.dropDatabase();
  await database.close();
});

const dayMs = 86_400_000;
const noon = Date.parse('2026-01-31T12:00:00Z');
const config = loadConfig({ MONGODB_URL: 'mongodb://x/y', NATS_URL: 'nats://x', REDIS_URL: 'redis://x' });
const fullDays = async (accountId: number): Promise<number> =>
  (await accountConfig({ records, config }, { accountId })).retention.locations_days;
const sweep = (days: number, turn = { from: 1, isOver: () => false }) =>
  applyPositionRetention({ database, config }, turn, fullDays, noon + days * dayMs);

let vehicleId = 0;
beforeEach(async () => {
  vehicleId = await records.nextId('vehicles');
});

const point = (seconds: number, more: Partial<LastLocation> = {}, imei = '111'): NewPoint => ({
  vehicleId,
  accountId: 1,
  driverId: 3,
  hash: 'aa',
  position: testPosition(imei, { timestamp: noon + seconds * 1_000, slowSinceMs: null, ...more }),
});
const minutes = (count: number, imei?: string) =>
  Array.from({ length: count * 2 }, (_u, i) => point(i * 30, { speed: i }, imei));
async function read(from = noon - dayMs, to = noon + dayMs): Promise<Point[]> {
  const found: Point[] = [];
  for await (const each of readPositions(database, vehicleId, { fromMs: from, toMs: to })) found.push(each);
  return found;
}
const buckets = () => database.collection('position_buckets').countDocuments({ vehicleId });

describe('history of a vehicle', () => {
  it('is complete for 180 days, has one point per five minutes for two years, and is then removed', async () => {
    await appendPositions(database, minutes(30));
    await sweep(180);
    expect(await read()).toHaveLength(60);
    await sweep(182);
    const thin = await read();
    expect(thin.map(({ position }) => (position.timestamp - noon) / 1_000)).toEqual([0, 300, 600, 900, 1200, 1500]);
    expect(thin[1]).toMatchObject({ driverId: 3, position: { speed: 10, imei: '111' } });
    expect(await buckets()).toBe(1);
    await sweep(183);
    expect(await read()).toEqual(thin);
    await sweep(180 + 729);
    expect(await read()).toEqual(thin);
    await sweep(180 + 732);
    expect(await read()).toEqual([]);
    expect(await buckets()).toBe(0);
    expect((await findVehicleDays(database, vehicleId))?.days).toEqual({});
  });

  it('is downsampled per terminal and day, and accepts late points afterwards', async () => {
    await appendPositions(database, [...minutes(10), ...minutes(10, '222'), point(86_400 * 5)]);
    await sweep(183);
    expect(await read()).toHaveLength(4);
    expect(await read(noon, noon + 10 * dayMs)).toHaveLength(5);
    await appendPositions(database, [point(31), point(0)]);
    expect((await read()).map(({ position }) => (position.timestamp - noon) / 1_000)).toEqual([0, 0, 31, 300, 300]);
    await sweep(184);
    expect(await read()).toHaveLength(4);
  });

  it('accepts late points of a day that was downsampled after this process wrote to it', async () => {
    await appendPositions(database, minutes(10), { nowMs: noon + 3_600_000 });
    await sweep(183);
    expect(await read()).toHaveLength(2);
    await appendPositions(database, [point(31)], { nowMs: noon + 183 * dayMs });
    expect((await read()).map(({ position }) => (position.timestamp - noon) / 1_000)).toEqual([0, 31, 300]);
  });

  it('is downsampled in slices, each continuing where the previous one stopped', async () => {
    const isWhole = async (imei: string): Promise<boolean> =>
      Object.entries((await findVehicleDays(database, vehicleId))?.days ?? {}).some(
        ([key, kind]) => key.endsWith(imei) && kind === 'full',
      );
    await appendPositions(database, [...minutes(10), ...minutes(10, '222')]);
    const turn = (from: number) => sweep(183, { from, isOver: () => true });
    expect(await turn(vehicleId)).toBe(vehicleId);
    expect([await isWhole('111'), await isWhole('222')]).toEqual([false, true]);
    // The slice ended with the last change; the next one finds out whether anything is left.
    expect(await turn(vehicleId)).toBe(vehicleId);
    expect(await isWhole('222')).toBe(false);
    expect(await turn(vehicleId)).toBeNull();
    await appendPositions(database, minutes(10));
    expect(await turn(vehicleId + 1)).toBeNull();
    expect(await isWhole('111')).toBe(true);
  });

  it('is complete for as long as the account configures', async () => {
    const scope = { accountId: 77 };
    const { _id } = await configOf(records, scope);
    const json = JSON.stringify({ retention: { locations_days: 300 } });
    await records.collection('global_config').updateOne({ _id }, { $set: { json } as object });
    await appendPositions(
      database,
      minutes(10).map((each) => ({ ...each, ...scope })),
    );
    await sweep(299);
    expect(await read()).toHaveLength(20);
    await sweep(302);
    expect(await read()).toHaveLength(2);
  });
});

it('thinning retains the first point with a fix of each five minutes, or the first point', () => {
  const points = [
    point(0, { gpsValid: false }),
    point(10),
    point(20),
    point(300, { gpsValid: false }),
    point(310, { gpsValid: false }),
  ];
  expect(downsample(points)).toEqual([points[1], points[3]]);
  expect(downsample([])).toEqual([]);
});
