import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { until } from '../../../../../libs/service-kit/src/testing/server-process.ts';
import { type Client, type Data, PlatformWorld } from '../../testing/platform-world.ts';
import { newImei, Terminals } from '../../testing/terminals.ts';
import { CommandWorker } from './worker.ts';

jest.setTimeout(60_000);

let world: PlatformWorld;
let owner: Client;
let terminals: Terminals;
beforeAll(async () => {
  // The service's own worker does not look again before the test has ended.
  world = await PlatformWorld.open({ COMMAND_POLL_MS: '60000' });
  owner = world.as(world.ours.owner);
  terminals = new Terminals(world.deps);
});
afterAll(async () => {
  await terminals.close();
  await world.close();
});

async function locateLater(imei: string): Promise<Data> {
  const { data } = await owner.post('/api/vehicles', { vehicle_no: `W ${imei}`, imei });
  const made = await owner.post(`/api/vehicles/${data.id}/commands`, { type: 'locate' });
  expect(made.status).toBe(202);
  return made.data;
}
const statusOf = async ({ vehicle_id: id, command_id: commandId }: Data): Promise<unknown> =>
  (await owner.get(`/api/vehicles/${String(id)}/commands/${String(commandId)}`)).data['status'];

describe('the worker of the command queue', () => {
  it('comes to every terminal, however many commands wait for those that are away', async () => {
    const [imei, comesLater] = [newImei(), newImei()];
    const first = await locateLater(comesLater);
    const away = [first, await locateLater(newImei()), await locateLater(newImei())];
    const made = await locateLater(imei);
    await terminals.connect(imei);
    const worker = new CommandWorker(world.deps, { pollMs: 20, replyMs: 30_000, leaseMs: 15_000, lookAtOnce: 2 });
    try {
      await until(async () => (await statusOf(made)) === 'acknowledged');
      for (const one of away) expect(await statusOf(one)).toBe('queued');
      await terminals.connect(comesLater);
      await until(async () => (await statusOf(first)) === 'acknowledged');
    } finally {
      await worker.stop();
    }
  });
});
