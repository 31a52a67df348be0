import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { killProcess, stopBackend, waitForRestart } from './testing/faults.ts';
import { countStatuses, Fleet, findFaults, isApiError } from './testing/fleet.ts';
import { type DedicatedHarness, startHarness } from './testing/harness.ts';
import { Viewer } from './testing/viewer.ts';

const concurrentCommands = 40;
/** Sessions and streams have to be published again within about five seconds; a busy machine takes longer. */
const publishTimeoutMs = 20_000;

let harness: DedicatedHarness;
let fleet: Fleet;
let camera: SimulatedTerminal;
let viewer: Viewer;
let services: Record<string, number>;

/** Processes that have to survive the failure of Redis. */
const getServices = (): Record<string, number> => {
  const { redis: _redis, ...others } = harness.product.runtime.processes;
  return others;
};

beforeAll(async () => {
  harness = await startHarness({
    DEVICE_REPLY_TIMEOUT_MS: '30000',
    REQUEST_TIMEOUT_MS: '35000',
    RATE_LIMIT_COMMANDS_BURST: String(concurrentCommands),
    RATE_LIMIT_COMMANDS_PER_MINUTE: '60',
  });
  fleet = await Fleet.start(harness, 20);
  camera = await harness.startTerminal();
  expect(await startStream(camera)).toMatchObject({ status: 200 });
  viewer = watch(camera);
  await waitFor(() => viewer.pictures.length > 0, 'a picture');
  services = getServices();
}, 180_000);

afterAll(() => harness.stop(), 60_000);

const watch = (terminal: SimulatedTerminal): Viewer =>
  new Viewer(`${harness.product.runtime.base_url}/api/v1/realtime/stream.flv?imei=${terminal.phone}&channel=1`);

const startStream = (terminal: SimulatedTerminal, channel = 1) =>
  harness.get(`/realtime/start-stream?imei=${terminal.phone}&channel=${channel}`);

const expectPictures = async (): Promise<void> => {
  const before = viewer.pictures.length;
  await waitFor(() => viewer.pictures.length > before + 15, 'the viewer to get further pictures');
  expect(viewer.ended).toBeUndefined();
};

/**
 * Asserts that everything that Redis held is restored, no process died, and the stream was never started a second time.
 */
const expectStreaming = async (no: number): Promise<void> => {
  const startedAt = performance.now();
  await fleet.waitUntilOnline();
  const isStreaming = async (): Promise<boolean> =>
    (await harness.get(`/health/camera?imei=${camera.phone}&channel=1`)).status === 200;
  await waitFor(isStreaming, 'the stream to be published again');
  expect(performance.now() - startedAt).toBeLessThan(publishTimeoutMs);
  await waitFor(async () => (await harness.get('/health')).status === 200, 'the product to be healthy');
  expect(await startStream(camera)).toMatchObject({ status: 200 });
  expect(camera.receivedFrames(0x9101)).toHaveLength(1);
  await expectPictures();
  expect(countStatuses(await Promise.all(fleet.sendCommands(no)))).toEqual({ 200: 20 });
  expect(getServices()).toEqual(services);
  await fleet.waitUntilAcknowledged();
  expect((await fleet.compareWithJetStream()).lost).toEqual([]);
};

describe('killed Redis', () => {
  it('restarts immediately under load: commands get their replies', async () => {
    fleet.setResponseTiming('onRelease', 1);
    const pendingCalls = fleet.sendCommands(1);
    await fleet.waitUntilReceived(1);
    const burst = fleet.sendCommands(2, 3, 4);
    const previousPids = killProcess(harness, 'redis');
    await waitForRestart(harness, 'redis', previousPids);
    fleet.release();
    expect(findFaults(await Promise.all([...pendingCalls, ...burst]), [200])).toEqual([]);
    await expectStreaming(5);
  }, 180_000);

  it('stays unavailable: video, commands and limits continue, and what needs Redis ends with a documented error', async () => {
    fleet.setResponseTiming('onRelease', 11);
    const pendingCalls = fleet.sendCommands(11);
    await fleet.waitUntilReceived(11);
    const outage = await stopBackend(harness, 'redis');
    const health = await waitFor(async () => {
      const response = await harness.get('/health');
      return response.status === 503 && response;
    }, '/health to report it');
    expect(health.body).toMatchObject({ healthy: false, components: { state_store: false, message_broker: true } });
    await expectPictures();
    fleet.release();
    expect(findFaults(await Promise.all([...pendingCalls, ...fleet.sendCommands(12, 13)]), [200])).toEqual([]);

    // Streams are found in Redis; the interface lists no 503 for stream.flv.
    for (const channel of [1, 2]) {
      const response = await startStream(camera, channel);
      expect(response.status).toBe(503);
      expect(isApiError(response.body, 503)).toBe(true);
    }
    const flv = await harness.get(`/realtime/stream.flv?imei=${camera.phone}&channel=1`);
    expect(flv.status).toBe(500);
    expect(isApiError(flv.body, 500)).toBe(true);
    expect(await harness.get(`/health/device?imei=${camera.phone}`)).toMatchObject({
      status: 503,
      body: { healthy: false },
    });
    // Whether this device exists is unknown: the response is neither false nor delayed forever.
    expect((await harness.get('/wakeup?imei=138000000001')).status).toBe(404);

    const [terminal] = fleet.terminals;
    if (terminal === undefined) throw new Error('no terminal');
    const statuses: number[] = [];
    for (let no = 100; no < 100 + concurrentCommands + 10; no += 1)
      statuses.push((await fleet.sendCommand(terminal, no)).status);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    await outage.restore();
    await expectStreaming(14);
  }, 180_000);

  it('restarts empty: sessions and streams are published again', async () => {
    const outage = await stopBackend(harness, 'redis');
    const folder = join(harness.product.dataDir, 'redis');
    const files = readdirSync(folder);
    expect(files.length).toBeGreaterThan(0);
    for (const file of files) rmSync(join(folder, file), { recursive: true });
    await outage.restore();
    await expectStreaming(21);
  }, 180_000);
});
