import { createConnection } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { healthy, kill, restarted } from './testing/faults.ts';
import { countStatuses, Fleet, faultsOf } from './testing/fleet.ts';
import { until } from './testing/until.ts';
import { type OwnWorld, startWorld } from './testing/world.ts';

let world: OwnWorld;
let fleet: Fleet;

beforeAll(async () => {
  world = await startWorld({ DEVICE_REPLY_TIMEOUT_MS: '20000', REQUEST_LIMIT_MS: '25000' });
  fleet = await Fleet.start(world, 20);
}, 180_000);

afterAll(() => world.stop(), 60_000);

/** True when nobody takes connections on the terminals' port. */
const isClosed = (): Promise<boolean> =>
  new Promise((resolve) => {
    const { host, port } = world.product.runtime.jt808;
    const socket = createConnection({ host, port }, () => {
      socket.destroy();
      resolve(false);
    });
    socket.on('error', () => resolve(true));
  });

const expectAllWell = async (no: number): Promise<void> => {
  await fleet.areOnline();
  await healthy(world);
  expect(countStatuses(await Promise.all(fleet.call(no)))).toEqual({ 200: 20 });
  await fleet.haveReported();
  const { lost, kept } = await fleet.compareWithJetStream();
  expect(lost).toEqual([]);
  expect(kept).toBeGreaterThan(20);
};

describe('a gateway that is killed', () => {
  it('loses no acknowledged report, sends no command twice, and every call ends with the late answer or a stated error', async () => {
    fleet.answer('nextSession', 1);
    fleet.answer('never', 2);
    const [late, never] = [fleet.call(1), fleet.call(2)];
    await fleet.haveReceived(1, 2);
    // The kill meets these anywhere on their way.
    const burst = fleet.call(3, 4, 5);
    await until('a command of the burst', () => fleet.terminals.some((terminal) => fleet.frames(terminal, 3) > 0));
    const former = kill(world, 'jt808-gateway');

    expect(faultsOf(await Promise.all(late), [200])).toEqual([]);
    expect(faultsOf(await Promise.all(never), [504])).toEqual([]);
    expect(faultsOf(await Promise.all(burst), [200, 404, 504])).toEqual([]);
    await restarted(world, 'jt808-gateway', former);
    await expectAllWell(6);
  }, 180_000);

  it('and killed again while terminals come back, is whole in the end', async () => {
    const first = kill(world, 'jt808-gateway');
    await restarted(world, 'jt808-gateway', first);
    await until('a terminal to be back', () => fleet.terminals.some((terminal) => terminal.isOnline), 60_000);
    const calls = fleet.call(7);
    const second = kill(world, 'jt808-gateway');
    expect(faultsOf(await Promise.all(calls), [200, 404, 504])).toEqual([]);
    await restarted(world, 'jt808-gateway', second);
    await expectAllWell(8);
  }, 180_000);
});

describe('a gateway that is told to stop', () => {
  it('waits for the answers of commands in flight, and lets the terminals go without losing a report', async () => {
    fleet.answer('onRelease', 9, 10);
    const calls = fleet.call(9, 10);
    await fleet.haveReceived(9, 10);
    const former = kill(world, 'jt808-gateway', 'SIGTERM');
    await until('the gateway to take no more terminals', isClosed);
    fleet.release();
    expect(countStatuses(await Promise.all(calls))).toEqual({ 200: 40 });
    await restarted(world, 'jt808-gateway', former);
    await expectAllWell(11);
  }, 180_000);
});
