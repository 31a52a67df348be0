import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { healthy, kill, restarted, takeAway } from './testing/faults.ts';
import { countStatuses, Fleet, faultsOf } from './testing/fleet.ts';
import { until } from './testing/until.ts';
import { Viewer } from './testing/viewer.ts';
import { type OwnWorld, startWorld } from './testing/world.ts';

let world: OwnWorld;
let fleet: Fleet;

beforeAll(async () => {
  world = await startWorld({ DEVICE_REPLY_TIMEOUT_MS: '60000', REQUEST_LIMIT_MS: '65000' });
  fleet = await Fleet.start(world, 20);
}, 180_000);

afterAll(() => world.stop(), 60_000);

const watch = (terminal: SimulatedTerminal): Viewer =>
  new Viewer(`${world.product.runtime.base_url}/api/v1/realtime/stream.flv?imei=${terminal.phone}&channel=1`);

const startStream = (terminal: SimulatedTerminal) =>
  world.get(`/realtime/start-stream?imei=${terminal.phone}&channel=1`);

const expectAllWell = async (no: number): Promise<void> => {
  await fleet.areOnline();
  expect(countStatuses(await Promise.all(fleet.call(no)))).toEqual({ 200: 20 });
  await fleet.haveReported();
  const { lost, kept } = await fleet.compareWithJetStream();
  expect(lost).toEqual([]);
  expect(kept).toBeGreaterThan(20);
};

describe('a broker that is killed', () => {
  it('and comes back at once, with commands anywhere on their way: each gets its answer, none is sent twice, no connected device is called absent', async () => {
    for (const first of [1, 21, 41]) {
      const numbers = Array.from({ length: 6 }, (_, index) => first + index);
      fleet.answer('onRelease', first, first + 1);
      const former = world.product.runtime.processes['nats'];
      const held = fleet.call(first, first + 1);
      await fleet.haveReceived(first, first + 1);
      const burst = fleet.call(...numbers.slice(2));
      await until('a command of the burst', () =>
        fleet.terminals.some((terminal) => fleet.frames(terminal, first + 2) > 0),
      );
      kill(world, 'nats');
      fleet.release(first);
      await restarted(world, 'nats', former ?? 0);
      fleet.release(first + 1);
      expect(faultsOf(await Promise.all(held), [200])).toEqual([]);
      // 503: the broker was away for longer than two seconds before the command was sent at all.
      expect(faultsOf(await Promise.all(burst), [200, 503])).toEqual([]);
      await healthy(world);
    }
    await expectAllWell(61);
  }, 240_000);

  it('and stays away: commands in flight wait for it, new ones are 503 at once, and viewers keep their picture', async () => {
    const camera = await world.terminal();
    expect(await startStream(camera)).toMatchObject({ status: 200 });
    const viewer = watch(camera);
    await until('a picture', () => viewer.pictures.length > 0);
    const numbers = [71, 72, 73, 74, 75, 76];
    fleet.answer('onRelease', ...numbers);
    const inFlight = fleet.call(...numbers);
    await fleet.haveReceived(...numbers);

    const outage = await takeAway(world, 'nats');
    await until('/health to say so', async () => (await world.get('/health')).status === 503);
    expect(await world.get('/health')).toMatchObject({
      status: 503,
      body: { healthy: false, components: { message_broker: false, state_store: true, database: true } },
    });
    // What is asked in the first two seconds waits for the rest of them.
    expect(faultsOf(await Promise.all(fleet.call(81)), [503])).toEqual([]);
    const askedAt = performance.now();
    expect(countStatuses(await Promise.all(fleet.call(82)))).toEqual({ 503: 20 });
    expect(performance.now() - askedAt).toBeLessThan(5_000);

    const before = viewer.pictures.length;
    const late = watch(camera);
    await until('pictures without a broker', () => viewer.pictures.length > before + 30 && late.pictures.length > 0);
    expect(viewer.ended).toBeUndefined();
    fleet.release(71, 72, 73); // While nobody can hear it.
    await outage.giveBack();
    fleet.release();
    expect(faultsOf(await Promise.all(inFlight), [200])).toEqual([]);
    for (const terminal of fleet.terminals) expect(fleet.frames(terminal, 81) + fleet.frames(terminal, 82)).toBe(0);
    viewer.leave();
    late.leave();
    await expectAllWell(91);
  }, 240_000);
});
