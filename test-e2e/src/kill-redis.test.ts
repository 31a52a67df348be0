import { readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { kill, restarted, takeAway } from './testing/faults.ts';
import { countStatuses, Fleet, faultsOf, isApiError } from './testing/fleet.ts';
import { until } from './testing/until.ts';
import { Viewer } from './testing/viewer.ts';
import { type OwnWorld, startWorld } from './testing/world.ts';

const commandsAtOnce = 40;
/** Sessions and streams have to be announced again within about five seconds; a busy machine takes longer. */
const announceLimitMs = 20_000;

let world: OwnWorld;
let fleet: Fleet;
let camera: SimulatedTerminal;
let viewer: Viewer;
let services: Record<string, number>;

/** Processes that must not be touched by what happens to Redis. */
const servicesNow = (): Record<string, number> => {
  const { redis: _redis, ...others } = world.product.runtime.processes;
  return others;
};

beforeAll(async () => {
  world = await startWorld({
    DEVICE_REPLY_TIMEOUT_MS: '30000',
    REQUEST_LIMIT_MS: '35000',
    RATE_LIMIT_COMMANDS_BURST: String(commandsAtOnce),
    RATE_LIMIT_COMMANDS_PER_MINUTE: '60',
  });
  fleet = await Fleet.start(world, 20);
  camera = await world.terminal();
  expect(await startStream(camera)).toMatchObject({ status: 200 });
  viewer = watch(camera);
  await until('a picture', () => viewer.pictures.length > 0);
  services = servicesNow();
}, 180_000);

afterAll(() => world.stop(), 60_000);

const watch = (terminal: SimulatedTerminal): Viewer =>
  new Viewer(`${world.product.runtime.base_url}/api/v1/realtime/stream.flv?imei=${terminal.phone}&channel=1`);

const startStream = (terminal: SimulatedTerminal, channel = 1) =>
  world.get(`/realtime/start-stream?imei=${terminal.phone}&channel=${channel}`);

const expectPictures = async (): Promise<void> => {
  const before = viewer.pictures.length;
  await until('the viewer to get further pictures', () => viewer.pictures.length > before + 15);
  expect(viewer.ended).toBeUndefined();
};

/** Everything that Redis held is there again, nothing has died, and the stream was never started a second time. */
const expectAllWell = async (no: number): Promise<void> => {
  const startedAt = performance.now();
  await fleet.areOnline();
  const isStreaming = async (): Promise<boolean> =>
    (await world.get(`/health/camera?imei=${camera.phone}&channel=1`)).status === 200;
  await until('the stream to be announced again', isStreaming);
  expect(performance.now() - startedAt).toBeLessThan(announceLimitMs);
  await until('the product to be healthy', async () => (await world.get('/health')).status === 200);
  expect(await startStream(camera)).toMatchObject({ status: 200 });
  expect(camera.received(0x9101)).toHaveLength(1);
  await expectPictures();
  expect(countStatuses(await Promise.all(fleet.call(no)))).toEqual({ 200: 20 });
  expect(servicesNow()).toEqual(services);
  await fleet.haveReported();
  expect((await fleet.compareWithJetStream()).lost).toEqual([]);
};

describe('Redis, when it', () => {
  it('is killed under load and comes back at once: commands get their answers', async () => {
    fleet.answer('onRelease', 1);
    const held = fleet.call(1);
    await fleet.haveReceived(1);
    const burst = fleet.call(2, 3, 4);
    const former = kill(world, 'redis');
    await restarted(world, 'redis', former);
    fleet.release();
    expect(faultsOf(await Promise.all([...held, ...burst]), [200])).toEqual([]);
    await expectAllWell(5);
  }, 180_000);

  it('stays away: pictures and commands go on, limits too, and what needs it ends with a stated error', async () => {
    fleet.answer('onRelease', 11);
    const held = fleet.call(11);
    await fleet.haveReceived(11);
    const outage = await takeAway(world, 'redis');
    const health = await until('/health to say so', async () => {
      const answer = await world.get('/health');
      return answer.status === 503 && answer;
    });
    expect(health.body).toMatchObject({ healthy: false, components: { state_store: false, message_broker: true } });
    await expectPictures();
    fleet.release();
    expect(faultsOf(await Promise.all([...held, ...fleet.call(12, 13)]), [200])).toEqual([]);

    // Streams are found by what Redis holds; the interface lists no 503 for stream.flv.
    for (const channel of [1, 2]) {
      const answer = await startStream(camera, channel);
      expect(answer.status).toBe(503);
      expect(isApiError(answer.body, 503)).toBe(true);
    }
    const flv = await world.get(`/realtime/stream.flv?imei=${camera.phone}&channel=1`);
    expect(flv.status).toBe(500);
    expect(isApiError(flv.body, 500)).toBe(true);
    expect(await world.get(`/health/device?imei=${camera.phone}`)).toMatchObject({
      status: 503,
      body: { healthy: false },
    });
    // Nobody knows such a device: still no false answer, and no wait for ever.
    expect((await world.get('/wakeup?imei=138000000001')).status).toBe(404);

    const [terminal] = fleet.terminals;
    if (terminal === undefined) throw new Error('no terminal');
    const statuses: number[] = [];
    for (let no = 100; no < 100 + commandsAtOnce + 10; no += 1)
      statuses.push((await fleet.callOne(terminal, no)).status);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    await outage.giveBack();
    await expectAllWell(14);
  }, 180_000);

  it('is killed and comes back empty: sessions and streams are announced again', async () => {
    const outage = await takeAway(world, 'redis');
    const folder = join(world.product.dataDir, 'redis');
    const files = readdirSync(folder);
    expect(files.length).toBeGreaterThan(0);
    for (const file of files) rmSync(join(folder, file), { recursive: true });
    await outage.giveBack();
    await expectAllWell(21);
  }, 180_000);
});
