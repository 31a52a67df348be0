import { createConnection } from 'node:net';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { killProcess, waitForRestart, waitUntilHealthy } from './testing/faults.ts';
import { type CommandCall, countStatuses, Fleet, findFaults } from './testing/fleet.ts';
import { type DedicatedHarness, startHarness } from './testing/harness.ts';

let harness: DedicatedHarness;
let fleet: Fleet;

beforeAll(async () => {
  harness = await startHarness({ DEVICE_REPLY_TIMEOUT_MS: '20000', REQUEST_TIMEOUT_MS: '25000' });
  fleet = await Fleet.start(harness, 20);
}, 180_000);

afterAll(() => harness.stop(), 60_000);

/** Returns true when no process accepts connections on the terminal port. */
const isClosed = (): Promise<boolean> =>
  new Promise((resolve) => {
    const { host, port } = harness.product.runtime.jt808;
    const socket = createConnection({ host, port }, () => {
      socket.destroy();
      resolve(false);
    });
    socket.on('error', () => resolve(true));
  });

const expectNoLoss = async (no: number): Promise<void> => {
  await fleet.waitUntilOnline();
  await waitUntilHealthy(harness);
  expect(countStatuses(await Promise.all(fleet.sendCommands(no)))).toEqual({ 200: 20 });
  await fleet.waitUntilAcknowledged();
  const { lost, storedCount } = await fleet.compareWithJetStream();
  expect(lost).toEqual([]);
  expect(storedCount).toBeGreaterThan(20);
};

describe('a killed gateway', () => {
  it('loses no acknowledged report, sends no command twice, and every call ends with the late reply or a documented error', async () => {
    fleet.setResponseTiming('nextSession', 1);
    fleet.setResponseTiming('never', 2);
    const [late, never] = [fleet.sendCommands(1), fleet.sendCommands(2)];
    await fleet.waitUntilReceived(1, 2);
    // The kill hits these commands at various stages.
    const burst = fleet.sendCommands(3, 4, 5);
    await waitFor(
      () => fleet.terminals.some((terminal) => fleet.countFrames(terminal, 3) > 0),
      'a command of the burst',
    );
    const previousPid = killProcess(harness, 'jt808-gateway');

    expect(findFaults(await Promise.all(late), [200])).toEqual([]);
    expect(findFaults(await Promise.all(never), [504])).toEqual([]);
    expect(findFaults(await Promise.all(burst), [200, 404, 504])).toEqual([]);
    await waitForRestart(harness, 'jt808-gateway', previousPid);
    await expectNoLoss(6);
  }, 180_000);

  it('loses no command that is sent while it is unavailable: terminals reconnect within the wait', async () => {
    const previousPid = killProcess(harness, 'jt808-gateway');
    const isUnavailable = async (): Promise<boolean> =>
      (await isClosed()) || harness.product.runtime.processes['jt808-gateway'] !== previousPid;
    await waitFor(isUnavailable, 'the gateway to be unavailable');
    const calls = fleet.sendCommands(12);
    expect(countStatuses(await Promise.all(calls))).toEqual({ 200: 20 });
    expect(findFaults(await Promise.all(calls), [200])).toEqual([]);
    await waitForRestart(harness, 'jt808-gateway', previousPid);
    await expectNoLoss(13);
  }, 180_000);

  it('recovers completely if it is killed again while terminals reconnect', async () => {
    const first = killProcess(harness, 'jt808-gateway');
    await waitForRestart(harness, 'jt808-gateway', first);
    await waitFor(() => fleet.terminals.some((terminal) => terminal.isOnline), 'a terminal to reconnect', 60_000);
    const calls = fleet.sendCommands(7);
    const second = killProcess(harness, 'jt808-gateway');
    expect(findFaults(await Promise.all(calls), [200, 404, 504])).toEqual([]);
    await waitForRestart(harness, 'jt808-gateway', second);
    await expectNoLoss(8);
  }, 180_000);
});

describe('a gateway that receives SIGTERM', () => {
  it('waits for the replies to commands in flight and disconnects the terminals without losing a report', async () => {
    fleet.setResponseTiming('onRelease', 9, 10);
    const calls = fleet.sendCommands(9, 10);
    await fleet.waitUntilReceived(9, 10);
    const previousPid = killProcess(harness, 'jt808-gateway', 'SIGTERM');
    await waitFor(isClosed, 'the gateway to stop accepting terminals');
    fleet.release();
    expect(countStatuses(await Promise.all(calls))).toEqual({ 200: 40 });
    await waitForRestart(harness, 'jt808-gateway', previousPid);
    await expectNoLoss(11);
  }, 180_000);

  it('waits for devices that take seconds, and loses no command that arrives during the shutdown', async () => {
    fleet.setResponseTiming('onRelease', 14);
    const late = fleet.sendCommands(14);
    await fleet.waitUntilReceived(14);
    const previousPid = killProcess(harness, 'jt808-gateway', 'SIGTERM');
    await waitFor(isClosed, 'the gateway to stop accepting terminals');
    const stoppedAt = performance.now();
    const concurrentCalls: Promise<CommandCall>[] = [];
    await waitFor(() => {
      const terminal = fleet.terminals[concurrentCalls.length % fleet.terminals.length];
      if (terminal !== undefined && concurrentCalls.length < 40) concurrentCalls.push(fleet.sendCommand(terminal, 15));
      return performance.now() - stoppedAt > 5_000;
    }, 'five seconds of a stop');
    fleet.release();
    concurrentCalls.push(...fleet.sendCommands(16));
    expect(countStatuses(await Promise.all(late))).toEqual({ 200: 20 });
    const others = await Promise.all(concurrentCalls);
    expect(countStatuses(others)).toEqual({ 200: 60 });
    await waitForRestart(harness, 'jt808-gateway', previousPid);
    await expectNoLoss(17);
  }, 180_000);

  it('is replaced by one that handles the commands of the gap; a terminal that disconnected by itself is 404 immediately', async () => {
    const disconnected = await harness.startTerminal({ reconnect: false });
    await disconnected.stop();
    const path = `/realtime/control-stream?imei=${disconnected.phone}&channel=1&ctrl_instruction=2`;
    await waitFor(
      async () => (await harness.get(`/health/device?imei=${disconnected.phone}`)).status === 503,
      'the terminal to be disconnected',
    );
    const previousPid = killProcess(harness, 'jt808-gateway', 'SIGTERM');
    await waitForRestart(harness, 'jt808-gateway', previousPid);
    const calls = fleet.sendCommands(18);
    const startedAt = performance.now();
    expect((await harness.get(path)).status).toBe(404);
    // Well below the minute during which a terminal that lost its gateway may reconnect.
    expect(performance.now() - startedAt).toBeLessThan(20_000);
    expect(countStatuses(await Promise.all(calls))).toEqual({ 200: 20 });
    await expectNoLoss(19);
  }, 180_000);
});
