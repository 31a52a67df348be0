import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { DeviceApiReplica } from './testing/device-api-replica.ts';
import { killProcess, waitForRestart, waitUntilHealthy } from './testing/faults.ts';
import { countStatuses, Fleet, findFaults } from './testing/fleet.ts';
import { type DedicatedHarness, leaseHarness } from './testing/harness.ts';
import { Viewer } from './testing/viewer.ts';

let harness: DedicatedHarness;
let fleet: Fleet;

beforeAll(async () => {
  harness = await leaseHarness();
  fleet = await Fleet.start(harness, 10);
}, 180_000);

afterAll(() => harness.stop(), 60_000);

const query = (terminal: SimulatedTerminal): string => `imei=${terminal.phone}&channel=1`;

const watch = (terminal: SimulatedTerminal): Viewer =>
  new Viewer(`${harness.product.runtime.base_url}/api/v1/realtime/stream.flv?${query(terminal)}`);

const startStream = (terminal: SimulatedTerminal) => harness.get(`/realtime/start-stream?${query(terminal)}`);

describe('a killed device-api', () => {
  it('closes its connections; after its restart it reports the streams that continued, and accepts commands', async () => {
    const camera = await harness.startTerminal();
    expect(await startStream(camera)).toMatchObject({ status: 200 });
    const viewers = [watch(camera), watch(camera)];
    await waitFor(() => viewers.every((viewer) => viewer.pictures.length > 0), 'pictures');
    fleet.setResponseTiming('onRelease', 1, 2);
    const calls = fleet.sendCommands(1, 2);
    await fleet.waitUntilReceived(1, 2);

    const previousPid = killProcess(harness, 'device-api');
    // The proxy in front of it returns 502; without a proxy the connections would be closed.
    expect(findFaults(await Promise.all(calls), [502])).toEqual([]);
    await waitFor(() => viewers.every((viewer) => viewer.ended !== undefined), 'the end of both responses');
    fleet.release(); // Replies whose callers are disconnected.
    await waitForRestart(harness, 'device-api', previousPid);
    await waitUntilHealthy(harness);

    const again = watch(camera);
    await waitFor(() => again.pictures.length > 15, 'video of the continued stream');
    expect(await startStream(camera)).toMatchObject({ status: 200 });
    expect(camera.receivedFrames(0x9101)).toHaveLength(1);
    expect(camera.cameras.records).toHaveLength(1);
    again.leave();
    expect(countStatuses(await Promise.all(fleet.sendCommands(3)))).toEqual({ 200: 10 });
    for (const terminal of fleet.terminals)
      expect(fleet.countFrames(terminal, 1) + fleet.countFrames(terminal, 2)).toBe(2);
  }, 120_000);

  it('releases the channel within seconds if it is killed during a start-stream', async () => {
    const camera = await harness.startTerminal();
    camera.setBehaviour({ kind: 'silent' }, 0x9101);
    const startReply = startStream(camera);
    await camera.waitForCommand(0x9101);
    const previousPid = killProcess(harness, 'device-api');
    expect(await startReply).toMatchObject({ status: 502 });
    await waitForRestart(harness, 'device-api', previousPid);
    await waitUntilHealthy(harness);
    camera.resetBehaviour(0x9101);
    expect(await startStream(camera)).toMatchObject({ status: 200 });
    expect(camera.receivedFrames(0x9101)).toHaveLength(2);
    const viewer = watch(camera);
    await waitFor(() => viewer.pictures.length > 0, 'a picture');
    viewer.leave();
  }, 120_000);
});

describe('a device-api whose standard output is closed', () => {
  it('continues, and ends at SIGTERM', async () => {
    const replica = await DeviceApiReplica.start(harness);
    replica.closeOutput();
    expect(await replica.get('/health')).toMatchObject({ status: 200 });
    await replica.stop('SIGTERM');
  }, 120_000);
});
