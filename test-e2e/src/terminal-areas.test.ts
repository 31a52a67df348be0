import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { joinSharedHarness, type ProductHarness, uniquePhone } from './testing/harness.ts';
import { PlatformClient } from './testing/platform-client.ts';

jest.setTimeout(300_000);

/** Jobs run about once a minute, one after another. */
const syncMs = 240_000;

let harness: ProductHarness;
let client: PlatformClient;
let terminal: SimulatedTerminal;
const imei = uniquePhone();

beforeAll(async () => {
  harness = await joinSharedHarness();
  ({ client } = await PlatformClient.register(harness, 'areas'));
  await client.requestData('/vehicles', { vehicle_no: 'AREA 1', imei });
  terminal = await harness.startTerminal({ phone: imei, reportIntervalMs: 500 });
}, 240_000);

afterAll(async () => {
  await terminal?.stop();
  await harness?.stop();
}, 90_000);

it('a connected terminal stores the area of a geofence', async () => {
  const { id } = await client.requestData('/geofences', {
    name: 'Yard',
    type: 'polygon',
    coordinates: [
      [22.54, 114.05],
      [22.532, 114.05],
      [22.532, 114.06],
      [22.54, 114.065],
    ],
    push_to_terminal: true,
  });
  let state: unknown;
  const isSynced = async (): Promise<boolean> => {
    ({ terminal_sync: state } = await client.requestData(`/geofences/${Number(id)}`));
    return (state as Record<string, string>)[imei] === 'synced';
  };
  await waitFor(isSynced, 'the terminal has the area', syncMs).catch((error: unknown) => {
    throw new Error(`The state is ${JSON.stringify(state)}.`, { cause: error });
  });
  expect(state).toEqual({ [imei]: 'synced' });
});
