import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { killProcess, stopBackend, waitForRestart, waitUntilHealthy } from './testing/faults.ts';
import { countStatuses, Fleet, findFaults } from './testing/fleet.ts';
import { type DedicatedHarness, startHarness } from './testing/harness.ts';
import { Viewer } from './testing/viewer.ts';

let harness: DedicatedHarness;
let fleet: Fleet;

beforeAll(async () => {
  harness = await startHarness({ DEVICE_REPLY_TIMEOUT_MS: '60000', REQUEST_TIMEOUT_MS: '65000' });
  fleet = await Fleet.start(harness, 20);
}, 180_000);

afterAll(() => harness.stop(), 60_000);

const watch = (terminal: SimulatedTerminal): Viewer =>
  new Viewer(`${harness.product.runtime.base_url}/api/v1/realtime/stream.flv?imei=${terminal.phone}&channel=1`);

const startStream = (terminal: SimulatedTerminal) =>
  harness.get(`/realtime/start-stream?imei=${terminal.phone}&channel=1`);

const expectNoLoss = async (no: number): Promise<void> => {
  await fleet.waitUntilOnline();
  expect(countStatuses(await Promise.all(fleet.sendCommands(no)))).toEqual({ 200: 20 });
  await fleet.waitUntilAcknowledged();
  const { lost, storedCount } = await fleet.compareWithJetStream();
  expect(lost).toEqual([]);
  expect(storedCount).toBeGreaterThan(20);
};

describe('a killed broker', () => {
  it('that restarts immediately loses no command in flight: each gets its reply once, and no connected device is reported as disconnected', async () => {
    for (const first of [1, 21, 41]) {
      const numbers = Array.from({ length: 6 }, (_, index) => first + index);
      fleet.setResponseTiming('onRelease', first, first + 1);
      const previousPid = harness.product.runtime.processes['nats'];
      const pendingCalls = fleet.sendCommands(first, first + 1);
      await fleet.waitUntilReceived(first, first + 1);
      const burst = fleet.sendCommands(...numbers.slice(2));
      await waitFor(
        () => fleet.terminals.some((terminal) => fleet.countFrames(terminal, first + 2) > 0),
        'a command of the burst',
      );
      killProcess(harness, 'nats');
      fleet.release(first);
      await waitForRestart(harness, 'nats', previousPid ?? 0);
      fleet.release(first + 1);
      expect(findFaults(await Promise.all(pendingCalls), [200])).toEqual([]);
      // 503: the broker was unavailable for more than two seconds before the command was sent.
      expect(findFaults(await Promise.all(burst), [200, 503])).toEqual([]);
      await waitUntilHealthy(harness);
    }
    await expectNoLoss(61);
  }, 240_000);

  it('that stays unavailable lets commands in flight wait, returns 503 for new ones and does not interrupt viewers', async () => {
    const camera = await harness.startTerminal();
    expect(await startStream(camera)).toMatchObject({ status: 200 });
    const viewer = watch(camera);
    await waitFor(() => viewer.pictures.length > 0, 'a picture');
    const numbers = [71, 72, 73, 74, 75, 76];
    fleet.setResponseTiming('onRelease', ...numbers);
    const inFlight = fleet.sendCommands(...numbers);
    await fleet.waitUntilReceived(...numbers);

    const outage = await stopBackend(harness, 'nats');
    await waitFor(async () => (await harness.get('/health')).status === 503, '/health to report it');
    expect(await harness.get('/health')).toMatchObject({
      status: 503,
      body: { healthy: false, components: { message_broker: false, state_store: true, database: true } },
    });
    // Requests of the first two seconds wait for the remainder of this time.
    expect(findFaults(await Promise.all(fleet.sendCommands(81)), [503])).toEqual([]);
    const requestedAt = performance.now();
    expect(countStatuses(await Promise.all(fleet.sendCommands(82)))).toEqual({ 503: 20 });
    expect(performance.now() - requestedAt).toBeLessThan(5_000);

    const before = viewer.pictures.length;
    const late = watch(camera);
    await waitFor(() => viewer.pictures.length > before + 30 && late.pictures.length > 0, 'video without a broker');
    expect(viewer.ended).toBeUndefined();
    fleet.release(71, 72, 73); // Sent while no consumer can receive it.
    await outage.restore();
    fleet.release();
    expect(findFaults(await Promise.all(inFlight), [200])).toEqual([]);
    for (const terminal of fleet.terminals)
      expect(fleet.countFrames(terminal, 81) + fleet.countFrames(terminal, 82)).toBe(0);
    viewer.leave();
    late.leave();
    await expectNoLoss(91);
  }, 240_000);
});
