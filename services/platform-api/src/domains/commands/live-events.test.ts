import type { Outcome } from '@fleet/bus';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { until } from '../../../../../libs/service-kit/src/testing/server-process.ts';
import { LiveEar } from '../../testing/live-ear.ts';
import { type Client, type Data, PlatformWorld } from '../../testing/platform-world.ts';
import { generally, newImei, Terminals } from '../../testing/terminals.ts';

// Real servers on a machine that may be busy: a terminal has the usual time to answer here.
jest.setTimeout(60_000);

let world: PlatformWorld;
let owner: Client;
let ear: LiveEar;
let terminals: Terminals;
beforeAll(async () => {
  world = await PlatformWorld.open({ COMMAND_POLL_MS: '50' });
  owner = world.as(world.ours.owner);
  ear = new LiveEar(world);
  terminals = new Terminals(world.deps);
});
afterAll(async () => {
  ear.stop();
  await terminals.close();
  await world.close();
});

/** A vehicle, the path of its commands, and what is told of one of them. */
async function newVehicle() {
  const imei = newImei();
  const { data } = await owner.post('/api/vehicles', { vehicle_no: `LIVE ${imei}`, imei });
  const path = `/api/vehicles/${data.id}/commands`;
  const queue = async (type: string, params: object = {}): Promise<Data> => {
    const { status, data: made } = await owner.post(path, { type, params });
    expect(status).toBe(202);
    return made;
  };
  const told = (made: Data) =>
    ear.of('command', data.id).filter(({ command_id: commandId }) => commandId === made['command_id']);
  const statuses = (made: Data) => told(made).map(({ status }) => status);
  const becomesTold = (made: Data, status: string) => until(() => statuses(made).at(-1) === status);
  const read = async (made: Data) => (await owner.get(`${path}/${String(made['command_id'])}`)).data;
  return { imei, path, queue, told, statuses, becomesTold, read };
}

describe('websockets are told of a command', () => {
  it('that is queued, sent and acknowledged', async () => {
    const { imei, queue, told, statuses, becomesTold, read } = await newVehicle();
    let answer: (outcome: Outcome) => void = () => undefined;
    terminals.answer = () =>
      new Promise((resolve) => {
        answer = resolve;
      });
    const made = await queue('set_parameters', { parameters: [{ id: 1, value: 30 }] });
    await terminals.connect(imei);
    await becomesTold(made, 'sent');
    answer(generally(0));
    await becomesTold(made, 'acknowledged');
    expect(statuses(made)).toEqual(['queued', 'sent', 'acknowledged']);
    expect(told(made)[0]).toEqual(made);
    expect(told(made)[1]).toMatchObject({ imei, serial: 7, message_id: '0x8103', completed_at: null });
    expect(told(made)[2]).toEqual(await read(made));
  });

  it('that the terminal refuses', async () => {
    const { imei, queue, told, becomesTold, read } = await newVehicle();
    terminals.answer = async () => generally(3);
    const made = await queue('vehicle_control', { doors: 'lock' });
    await terminals.connect(imei);
    await becomesTold(made, 'failed');
    expect(told(made).at(-1)).toMatchObject({ error: 'refused', result: 'unsupported' });
    expect(told(made).at(-1)).toEqual(await read(made));
  });

  it('that is canceled', async () => {
    const { path, queue, told, statuses, becomesTold } = await newVehicle();
    const made = await queue('locate');
    const canceled = await owner.delete(`${path}/${String(made['command_id'])}`);
    await becomesTold(made, 'canceled');
    expect(statuses(made)).toEqual(['queued', 'canceled']);
    expect(told(made)[1]).toEqual(canceled.data);
  });
});
