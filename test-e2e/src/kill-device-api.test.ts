import type { SimulatedTerminal } from '@fleet/terminal-simulator';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { healthy, kill, restarted } from './testing/faults.ts';
import { countStatuses, Fleet, faultsOf } from './testing/fleet.ts';
import { until } from './testing/until.ts';
import { Viewer } from './testing/viewer.ts';
import { borrowWorld, type OwnWorld } from './testing/world.ts';

let world: OwnWorld;
let fleet: Fleet;

beforeAll(async () => {
  world = await borrowWorld();
  fleet = await Fleet.start(world, 10);
}, 180_000);

afterAll(() => world.stop(), 60_000);

const query = (terminal: SimulatedTerminal): string => `imei=${terminal.phone}&channel=1`;

const watch = (terminal: SimulatedTerminal): Viewer =>
  new Viewer(`${world.product.runtime.base_url}/api/v1/realtime/stream.flv?${query(terminal)}`);

const startStream = (terminal: SimulatedTerminal) => world.get(`/realtime/start-stream?${query(terminal)}`);

describe('a device-api that is killed', () => {
  it('ends its connections; back by itself it shows the streams that have gone on, and takes commands', async () => {
    const camera = await world.terminal();
    expect(await startStream(camera)).toMatchObject({ status: 200 });
    const viewers = [watch(camera), watch(camera)];
    await until('pictures', () => viewers.every((viewer) => viewer.pictures.length > 0));
    fleet.answer('onRelease', 1, 2);
    const calls = fleet.call(1, 2);
    await fleet.haveReceived(1, 2);

    const former = kill(world, 'device-api');
    // The proxy in front of it says 502; without one the connections would just end.
    expect(faultsOf(await Promise.all(calls), [502])).toEqual([]);
    await until('the end of both responses', () => viewers.every((viewer) => viewer.ended !== undefined));
    fleet.release(); // Answers that nobody waits for any more.
    await restarted(world, 'device-api', former);
    await healthy(world);

    const again = watch(camera);
    await until('pictures of the stream that has gone on', () => again.pictures.length > 15);
    expect(await startStream(camera)).toMatchObject({ status: 200 });
    expect(camera.received(0x9101)).toHaveLength(1);
    expect(camera.cameras.records).toHaveLength(1);
    again.leave();
    expect(countStatuses(await Promise.all(fleet.call(3)))).toEqual({ 200: 10 });
    for (const terminal of fleet.terminals) expect(fleet.frames(terminal, 1) + fleet.frames(terminal, 2)).toBe(2);
  }, 120_000);

  it('while it asks a camera to stream leaves the channel free within seconds', async () => {
    const camera = await world.terminal();
    camera.behave({ kind: 'silent' }, 0x9101);
    const asked = startStream(camera);
    await camera.waitForCommand(0x9101);
    const former = kill(world, 'device-api');
    expect(await asked).toMatchObject({ status: 502 });
    await restarted(world, 'device-api', former);
    await healthy(world);
    camera.behaveWell(0x9101);
    expect(await startStream(camera)).toMatchObject({ status: 200 });
    expect(camera.received(0x9101)).toHaveLength(2);
    const viewer = watch(camera);
    await until('a picture', () => viewer.pictures.length > 0);
    viewer.leave();
  }, 120_000);
});
