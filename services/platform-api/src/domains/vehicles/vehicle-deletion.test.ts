import { randomInt } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createVehicleHooks } from '../../assembly/vehicle-hooks.ts';
import { newImei } from '../../testing/fake-terminals.ts';
import { lastLocationAt, writeLastLocation } from '../../testing/last-location.ts';
import { newMedia } from '../../testing/media-records.ts';
import { type Client, type Data, PlatformHarness } from '../../testing/platform-harness.ts';
import { readLastLocations } from '../last-positions/store.ts';
import { findMedia, insertMedia } from '../media/store.ts';
import { scheduleCleanup } from './pending-cleanups.ts';
import type { Vehicle } from './schema.ts';
import { retryVehicleCleanups } from './vehicle-deletion.ts';

// The tests use real servers on a machine that may be busy.
jest.setTimeout(60_000);

let harness: PlatformHarness;
let owner: Client;
beforeAll(async () => {
  harness = await PlatformHarness.open();
  owner = harness.as(harness.ours.owner);
});
afterAll(() => harness?.close());
afterEach(() => {
  jest.restoreAllMocks();
});

const create = async (body: object, client = owner): Promise<Data> => {
  const { status, data } = await client.post('/api/vehicles', { vehicle_no: `D${randomInt(10 ** 11)}`, ...body });
  expect(status).toBe(201);
  return data;
};

/** Makes every access to files of vehicles fail from now on. */
function breakMedia(): void {
  const collection = harness.records.collection.bind(harness.records);
  jest.spyOn(harness.records, 'collection').mockImplementation((name: string) => {
    if (name === 'media') throw new Error('the files are unavailable');
    return collection(name);
  });
}

const protectedFile = async (id: number, imei: string | null): Promise<number> => {
  const vehicle = { _id: id, accountId: harness.ours.accountId, imei };
  return (await insertMedia(harness.records, newMedia(vehicle, 'nowhere', { protected: true }))).record._id;
};
const isProtected = async (mediaId: number) => (await findMedia(harness.records, mediaId))?.protected;
/** Runs the cleanup job at a later time. */
const sweepIn = (ms: number) =>
  retryVehicleCleanups(harness.deps, createVehicleHooks(harness.deps), new Date(Date.now() + ms));
const endings = (vehicleId: number): Promise<number> =>
  harness.deps.database.collection<{ _id: number }>('vehicle_endings').countDocuments({ _id: vehicleId });

describe('cleanup after the deletion of a vehicle', () => {
  it.each([
    ['with a terminal', newImei()],
    ['without one', null],
  ])('is retried later for a vehicle %s', async (_case, imei) => {
    const { id } = await create({ imei });
    const mediaId = await protectedFile(id, imei);
    breakMedia();
    expect((await owner.delete(`/api/vehicles/${id}`)).status).toBe(200);
    await sweepIn(61_000);
    jest.restoreAllMocks();
    expect(await isProtected(mediaId)).toBe(true);
    expect(await endings(id)).toBe(1);
    // After a failed attempt, the job waits for a while.
    await sweepIn(61_000);
    expect(await isProtected(mediaId)).toBe(true);
    await sweepIn(3_600_000);
    expect(await isProtected(mediaId)).toBe(false);
    expect(await endings(id)).toBe(0);
  });

  it('leaves the terminal alone if it is in another vehicle by then', async () => {
    const imei = newImei();
    const { id } = await create({ imei });
    const mediaId = await protectedFile(id, imei);
    breakMedia();
    await owner.delete(`/api/vehicles/${id}`);
    jest.restoreAllMocks();
    await create({ imei }, harness.as(harness.theirs.owner));
    await writeLastLocation(harness.deps, lastLocationAt(imei, 22.5, 114));
    const requests = harness.deps.database.collection<{ _id: string; accountId: number; vehicleId: number }>(
      'attachment_requests',
    );
    // Data that the first attempt did not remove.
    const { accountId } = harness.ours;
    await requests.insertOne({ _id: `${imei}:1`, accountId, vehicleId: id });
    await requests.insertOne({ _id: `${imei}:2`, accountId, vehicleId: id + 1_000_000 });
    await sweepIn(3_600_000);
    expect(await isProtected(mediaId)).toBe(false);
    const requested = await requests.find({ _id: { $in: [`${imei}:1`, `${imei}:2`] } }).toArray();
    expect(requested.map(({ _id }) => _id)).toEqual([`${imei}:2`]);
    expect((await readLastLocations(harness.deps, [imei])).has(imei)).toBe(true);
  });

  it('is removed from the schedule once all activities have ended', async () => {
    const { id } = await create({ imei: newImei() });
    await owner.delete(`/api/vehicles/${id}`);
    expect(await endings(id)).toBe(0);
  });

  it('changes nothing if the process died before the vehicle was deleted', async () => {
    const { id } = await create({});
    const link = await owner.post('/api/share-links', { vehicle_id: id });
    const stored = await harness.records.collection<Vehicle>('vehicles').findOne({ _id: id });
    if (stored === null) throw new Error('there is no vehicle');
    await scheduleCleanup(harness.deps.database, stored);
    await sweepIn(61_000);
    expect(await endings(id)).toBe(0);
    expect((await owner.get(`/api/vehicles/${id}`)).status).toBe(200);
    expect((await harness.anonymous.get(`/api/public/share-links/${String(link.data['slug'])}`)).status).toBe(200);
  });
});
