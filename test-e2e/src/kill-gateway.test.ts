import { createConnection } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { healthy, kill, restarted } from './testing/faults.ts';
import { type Call, countStatuses, Fleet, faultsOf } from './testing/fleet.ts';
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

  it('costs no command that is sent while it is away: terminals come back within the wait', async () => {
    const former = kill(world, 'jt808-gateway');
    const isAway = async (): Promise<boolean> =>
      (await isClosed()) || world.product.runtime.processes['jt808-gateway'] !== former;
    await until('the gateway to be away', isAway);
    const calls = fleet.call(12);
    expect(countStatuses(await Promise.all(calls))).toEqual({ 200: 20 });
    expect(faultsOf(await Promise.all(calls), [200])).toEqual([]);
    await restarted(world, 'jt808-gateway', former);
    await expectAllWell(13);
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

  it('waits for devices that take seconds, and loses no command that comes meanwhile', async () => {
    fleet.answer('onRelease', 14);
    const late = fleet.call(14);
    await fleet.haveReceived(14);
    const former = kill(world, 'jt808-gateway', 'SIGTERM');
    await until('the gateway to take no more terminals', isClosed);
    const stoppedAt = performance.now();
    const meanwhile: Promise<Call>[] = [];
    await until('five seconds of a stop', () => {
      const terminal = fleet.terminals[meanwhile.length % fleet.terminals.length];
      if (terminal !== undefined && meanwhile.length < 40) meanwhile.push(fleet.callOne(terminal, 15));
      return performance.now() - stoppedAt > 5_000;
    });
    fleet.release();
    meanwhile.push(...fleet.call(16));
    expect(countStatuses(await Promise.all(late))).toEqual({ 200: 20 });
    const others = await Promise.all(meanwhile);
    expect(countStatuses(others)).toEqual({ 200: 60 });
    await restarted(world, 'jt808-gateway', former);
    await expectAllWell(17);
  }, 180_000);

  it('is followed by one that takes the commands of the gap, and a terminal that left by itself is 404 at once', async () => {
    const gone = await world.terminal({ reconnect: false });
    await gone.stop();
    const path = `/realtime/control-stream?imei=${gone.phone}&channel=1&ctrl_instruction=2`;
    await until(
      'the terminal to be gone',
      async () => (await world.get(`/health/device?imei=${gone.phone}`)).status === 503,
    );
    const former = kill(world, 'jt808-gateway', 'SIGTERM');
    await restarted(world, 'jt808-gateway', former);
    const calls = fleet.call(18);
    const startedAt = performance.now();
    expect((await world.get(path)).status).toBe(404);
    // Far from the minute in which one that lost its gateway may come back.
    expect(performance.now() - startedAt).toBeLessThan(20_000);
    expect(countStatuses(await Promise.all(calls))).toEqual({ 200: 20 });
    await expectAllWell(19);
  }, 180_000);
});
