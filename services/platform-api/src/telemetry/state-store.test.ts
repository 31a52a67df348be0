import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { readLastLocations } from '../domains/last-positions/store.ts';
import { readStatesOfRedis } from '../domains/vehicle-states/queries.ts';
import type { VehicleState } from '../domains/vehicle-states/vehicle-state.ts';
import { findVehicleByImei } from '../domains/vehicles/store.ts';
import { newImei } from '../testing/fake-terminals.ts';
import { lastLocationAt } from '../testing/last-location.ts';
import { type Client, PlatformHarness } from '../testing/platform-harness.ts';
import { OffsetStore, type PartitionOffset } from './offset-store.ts';

jest.setTimeout(60_000);

let harness: PlatformHarness;
let owner: Client;
beforeAll(async () => {
  harness = await PlatformHarness.open();
  owner = harness.as(harness.ours.owner);
});
afterAll(async () => {
  await harness.deps.redis.del(`telemetry-place:{telemetry-${partition}}`);
  await harness.close();
});

/** Used by no other test. */
const partition = Number(newImei());
let offset: PartitionOffset | null = null;

/** Writes the state of a terminal in a vehicle, as a replica does. */
async function write(imei: string, { _id: vehicleId, terminalSinceMs }: Whose): Promise<void> {
  const next = { stream: 's', seq: (offset?.seq ?? 0) + 1 };
  const location = lastLocationAt(imei, 22.5, 114.1);
  const rest = { recent: [], travelledKm: 0, odometer: undefined, rules: {} };
  const state: VehicleState = { ...next, ...rest, vehicleId, terminalSinceMs, location };
  await new OffsetStore(harness.deps, partition).writeApplied(offset, next, new Map([[imei, state]]));
  offset = next;
}
type Whose = Pick<VehicleState, 'terminalSinceMs'> & { readonly _id: number };

async function newVehicle(imei: string): Promise<Whose> {
  const made = await owner.post('/api/vehicles', { vehicle_no: `S${newImei()}`, imei });
  expect(made.status).toBe(201);
  return vehicleOf(imei);
}
async function vehicleOf(imei: string): Promise<Whose> {
  const found = await findVehicleByImei(harness.deps.records, imei);
  if (found === null) throw new Error(`no vehicle has ${imei}`);
  return found;
}
async function isKnown(imei: string): Promise<boolean> {
  const [states, locations] = await Promise.all([
    readStatesOfRedis(harness.deps, [imei]),
    readLastLocations(harness.deps, [imei]),
  ]);
  expect(locations.size).toBe(states.size);
  return states.size > 0;
}

describe('state of a terminal that left its vehicle', () => {
  it.each([
    ['was removed from the vehicle', (id: number) => owner.put(`/api/vehicles/${id}`, { imei: null })],
    ['was deleted with its vehicle', (id: number) => owner.delete(`/api/vehicles/${id}`)],
  ])('is not restored by reports in flight after the terminal %s', async (_case, leave) => {
    const imei = newImei();
    const first = await newVehicle(imei);
    await write(imei, first);
    expect(await isKnown(imei)).toBe(true);
    expect((await leave(first._id)).status).toBeLessThan(300);
    expect(await isKnown(imei)).toBe(false);
    await write(imei, first);
    expect(await isKnown(imei)).toBe(false);
    const next = await newVehicle(imei);
    await write(imei, first);
    expect(await isKnown(imei)).toBe(false);
    await write(imei, next);
    expect(await isKnown(imei)).toBe(true);
  });

  it('starts again in the same vehicle', async () => {
    const imei = newImei();
    const first = await newVehicle(imei);
    await owner.put(`/api/vehicles/${first._id}`, { imei: null });
    await owner.put(`/api/vehicles/${first._id}`, { imei });
    await write(imei, first);
    expect(await isKnown(imei)).toBe(false);
    await write(imei, await vehicleOf(imei));
    expect(await isKnown(imei)).toBe(true);
  });
});
