import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { killProcess, stopBackend, waitForRestart, waitUntilHealthy } from './testing/faults.ts';
import { countStatuses, Fleet } from './testing/fleet.ts';
import { type DedicatedHarness, leaseHarness } from './testing/harness.ts';

let harness: DedicatedHarness;
let fleet: Fleet;
let services: Record<string, number>;

/** Processes that have to survive the failure of the database. */
const getServices = (): Record<string, number> => {
  const { mongodb: _mongodb, ...others } = harness.product.runtime.processes;
  return others;
};

beforeAll(async () => {
  harness = await leaseHarness();
  fleet = await Fleet.start(harness, 5);
  services = getServices();
}, 180_000);

afterAll(() => harness.stop(), 60_000);

describe('a killed database', () => {
  it('loses no command and restarts by itself', async () => {
    const previousPids = killProcess(harness, 'mongodb');
    expect(countStatuses(await Promise.all(fleet.sendCommands(1)))).toEqual({ 200: 5 });
    await waitForRestart(harness, 'mongodb', previousPids);
    await waitUntilHealthy(harness);
    expect(getServices()).toEqual(services);
  }, 120_000);

  it('that stays unavailable is reported by /health, while terminals report and accept commands', async () => {
    const outage = await stopBackend(harness, 'mongodb');
    const health = await waitFor(async () => {
      const response = await harness.get('/health');
      return response.status === 503 && response;
    }, '/health to report it');
    expect(health.body).toMatchObject({
      healthy: false,
      components: {
        database: false,
        state_store: true,
        message_broker: true,
        jt808_server: true,
        jt1078_server: true,
      },
    });
    expect(countStatuses(await Promise.all(fleet.sendCommands(2, 3)))).toEqual({ 200: 10 });
    await fleet.waitUntilAcknowledged();
    const [terminal] = fleet.terminals;
    expect(await harness.get(`/health/device?imei=${terminal?.phone}`)).toMatchObject({ status: 200 });
    await outage.restore();
    expect(getServices()).toEqual(services);
  }, 120_000);
});
