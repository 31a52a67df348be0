import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createVehicleHooks } from '../../assembly/vehicle-hooks.ts';
import { newImei } from '../../testing/fake-terminals.ts';
import { lastLocationAt, writeLastLocation } from '../../testing/last-location.ts';
import { type Client, type Data, PlatformHarness } from '../../testing/platform-harness.ts';
import { cancelWaitingCommands } from '../commands/use-cases.ts';
import { readLastLocations } from '../last-positions/store.ts';
import type { Vehicle } from './schema.ts';
import { retryVehicleCleanups } from './vehicle-deletion.ts';

// The tests use real servers on a machine that may be busy.
jest.setTimeout(60_000);

let harness: PlatformHarness;
let owner: Client;
let stranger: Client;
beforeAll(async () => {
  harness = await PlatformHarness.open();
  [owner, stranger] = [harness.as(harness.ours.owner), harness.as(harness.theirs.owner)];
});
afterAll(() => harness?.close());
afterEach(() => {
  jest.restoreAllMocks();
});

const newVehicle = async (client: Client, imei: string): Promise<number> => {
  const { status, data } = await client.post('/api/vehicles', { vehicle_no: `L ${imei}`, imei });
  expect(status).toBe(201);
  return data.id;
};
const queue = async (id: number): Promise<Data> => {
  const command = { type: 'raw', params: { message_id: '0x8900', body_hex: '01' } };
  const { status, data } = await owner.post(`/api/vehicles/${id}/commands`, command);
  expect(status).toBe(202);
  return data;
};
const statusOf = async ({ vehicle_id: id, command_id: commandId }: Data): Promise<unknown> =>
  (await owner.get(`/api/vehicles/${String(id)}/commands/${String(commandId)}`)).data['status'];
const takeOut = async (id: number, imei: string | null = null): Promise<void> =>
  expect((await owner.put(`/api/vehicles/${id}`, { imei })).status).toBe(200);

/** Stores the last position of a terminal and its rule state. */
async function seen(imei: string, vehicleId: number): Promise<void> {
  const location = lastLocationAt(imei, 22.5, 114);
  await writeLastLocation(harness.deps, location);
  await harness.deps.redis.set(`rule-state:{telemetry-0}:${imei}`, JSON.stringify({ vehicleId, location }));
  const state = { vehicleId, state: JSON.stringify({ vehicleId, location }) };
  await states().updateOne({ _id: imei }, { $set: state }, { upsert: true });
}
const states = () => harness.deps.database.collection<{ _id: string; vehicleId: number; state: string }>('rule_states');
const isSeen = async (imei: string): Promise<boolean> =>
  (await readLastLocations(harness.deps, [imei])).has(imei) || (await states().findOne({ _id: imei })) !== null;

/** Makes every access to a collection fail from now on. */
function breakCollection(broken: string): void {
  for (const store of [harness.records, harness.deps.database]) {
    const collection = store.collection.bind(store) as (name: string) => never;
    jest.spyOn(store, 'collection').mockImplementation((name: string) => {
      if (name === broken) throw new Error(`${broken} are unavailable`);
      return collection(name);
    });
  }
}
const sweep = () =>
  retryVehicleCleanups(harness.deps, createVehicleHooks(harness.deps), new Date(Date.now() + 3_600_000));
const endings = (): Promise<number> => harness.deps.database.collection('vehicle_endings').countDocuments({});

describe('terminal that leaves its vehicle', () => {
  it('loses its state even if its commands cannot be canceled, and they are canceled later', async () => {
    const imei = newImei();
    const id = await newVehicle(owner, imei);
    const command = await queue(id);
    await seen(imei, id);
    breakCollection('commands');
    await takeOut(id);
    expect(await isSeen(imei)).toBe(false);
    jest.restoreAllMocks();
    expect(await statusOf(command)).toBe('queued');
    await sweep();
    expect(await statusOf(command)).toBe('canceled');
    expect(await endings()).toBe(0);
  });

  it('loses its state later if that failed first, and its commands are canceled nevertheless', async () => {
    const imei = newImei();
    const id = await newVehicle(owner, imei);
    const command = await queue(id);
    await seen(imei, id);
    breakCollection('rule_states');
    await takeOut(id, newImei());
    await sweep();
    jest.restoreAllMocks();
    expect(await statusOf(command)).toBe('canceled');
    expect(await isSeen(imei)).toBe(true);
    expect(await endings()).toBe(1);
    await sweep();
    // After a failed attempt, the job waits for a while.
    expect(await isSeen(imei)).toBe(true);
    await retryVehicleCleanups(harness.deps, createVehicleHooks(harness.deps), new Date(Date.now() + 3 * 3_600_000));
    expect(await isSeen(imei)).toBe(false);
    expect(await endings()).toBe(0);
  });

  it.each([
    ['is taken out', (id: number) => takeOut(id)],
    [
      'is deleted with its vehicle',
      async (id: number) => expect((await owner.delete(`/api/vehicles/${id}`)).status).toBe(200),
    ],
  ])('loses its state if it is in another vehicle that has reported nothing yet: it %s', async (_case, leave) => {
    for (const hasPublished of [false, true]) {
      const imei = newImei();
      const id = await newVehicle(owner, imei);
      await seen(imei, id);
      breakCollection('rule_states');
      await leave(id);
      jest.restoreAllMocks();
      const next = await newVehicle(stranger, imei);
      if (hasPublished) await seen(imei, next);
      await sweep();
      expect([hasPublished, await isSeen(imei)]).toEqual([hasPublished, hasPublished]);
      expect(await endings()).toBe(0);
    }
  });

  it('is left alone if it never left, or is back', async () => {
    const imei = newImei();
    const taken = newImei();
    const id = await newVehicle(owner, imei);
    await newVehicle(stranger, taken);
    await seen(imei, id);
    expect((await owner.put(`/api/vehicles/${id}`, { imei: taken })).status).toBe(409);
    await sweep();
    expect(await isSeen(imei)).toBe(true);
    expect(await endings()).toBe(0);
  });

  it('does not cancel commands that wait for the current terminal', async () => {
    const imei = newImei();
    const id = await newVehicle(owner, imei);
    const former = await harness.records.collection<Vehicle>('vehicles').findOne({ _id: id });
    if (former === null) throw new Error('there is no vehicle');
    const left = await queue(id);
    // Between the change of the vehicle and the cancellation.
    await harness.records.collection<Vehicle>('vehicles').updateOne({ _id: id }, { $set: { imei: newImei() } });
    const own = await queue(id);
    await cancelWaitingCommands(harness.deps, former, id, imei);
    expect([await statusOf(left), await statusOf(own)]).toEqual(['canceled', 'queued']);
    await cancelWaitingCommands(harness.deps, former, id);
    expect(await statusOf(own)).toBe('canceled');
  });
});
