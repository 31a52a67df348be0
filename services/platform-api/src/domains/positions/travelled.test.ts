import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { newImei } from '../../testing/fake-terminals.ts';
import { type Client, PlatformHarness } from '../../testing/platform-harness.ts';
import { testPosition } from '../../testing/positions.ts';
import { findVehicleByImei } from '../vehicles/store.ts';

jest.setTimeout(60_000);
let harness: PlatformHarness;
let owner: Client;
beforeAll(async () => {
  harness = await PlatformHarness.open();
  owner = harness.as(harness.ours.owner);
});
afterAll(() => harness.close());

/** Sets the distance since the terminal was last assigned to its vehicle. */
const hasCome = async (imei: string, vehicleId: number, travelledKm: number): Promise<unknown> => {
  const terminalSinceMs = (await findVehicleByImei(harness.deps.records, imei))?.terminalSinceMs;
  const location = testPosition(imei);
  const state = { stream: 's', seq: 1, vehicleId, terminalSinceMs, location, recent: [], travelledKm, rules: {} };
  return harness.deps.redis.set(`rule-state:{telemetry-0}:${imei}`, JSON.stringify(state));
};
const response = async (id: number): Promise<unknown> => (await owner.get(`/api/vehicles/${id}`)).data['odometer_km'];

it("a vehicle's odometer is the value set by the user plus the distance since then", async () => {
  const [first, second] = [newImei(), newImei()];
  const { id } = (await owner.post('/api/vehicles', { vehicle_no: 'ODO 1', imei: first, odometer_km: 1_000 })).data;
  expect(await response(id)).toBe(1_000);
  await hasCome(first, id, 12.34);
  expect(await response(id)).toBe(1_012.3);
  const list = await owner.get(`/api/vehicles?imei=${first}`);
  expect(list.items).toMatchObject([{ odometer_km: 1_012.3 }]);

  expect((await owner.put(`/api/vehicles/${id}`, { odometer_km: 500 })).data).toMatchObject({ odometer_km: 500 });
  await hasCome(first, id, 22.34);
  expect(await response(id)).toBe(510);
  expect((await owner.put(`/api/vehicles/${id}`, { name: 'Odo' })).data).toMatchObject({ odometer_km: 510 });

  // Another terminal starts its own count. Its distance in another vehicle does not count.
  await hasCome(second, id + 1_000, 99);
  expect((await owner.put(`/api/vehicles/${id}`, { imei: second })).data).toMatchObject({ odometer_km: 510 });
  expect(await response(id)).toBe(510);
  await hasCome(second, id, 3);
  expect(await response(id)).toBe(513);
  // The state of the first terminal was deleted when it was removed, so its count starts again.
  expect((await owner.put(`/api/vehicles/${id}`, { imei: first })).data).toMatchObject({ odometer_km: 513 });
  await hasCome(first, id, 1);
  expect(await response(id)).toBe(514);
  const kept = (await harness.deps.redis.get(`rule-state:{telemetry-0}:${first}`)) ?? '';
  expect((await owner.put(`/api/vehicles/${id}`, { imei: null })).data).toMatchObject({ odometer_km: 514 });
  // A report in flight may write the previous state again after the removal.
  await harness.deps.redis.set(`rule-state:{telemetry-0}:${first}`, kept);
  expect((await owner.put(`/api/vehicles/${id}`, { imei: first })).data).toMatchObject({ odometer_km: 514 });
  expect(await response(id)).toBe(514);
});
