import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { FakeTerminals, newImei } from '../../testing/fake-terminals.ts';
import { type Client, type Data, PlatformHarness } from '../../testing/platform-harness.ts';
import type { Command } from './schema.ts';

jest.setTimeout(60_000);

let harness: PlatformHarness;
let owner: Client;
let stranger: Client;
let terminals: FakeTerminals;
beforeAll(async () => {
  harness = await PlatformHarness.open({ COMMAND_POLL_MS: '50' });
  [owner, stranger] = [harness.as(harness.ours.owner), harness.as(harness.theirs.owner)];
  terminals = new FakeTerminals(harness.deps);
});
afterAll(async () => {
  await terminals.close();
  await harness.close();
});

const newVehicle = async (client: Client, imei: string): Promise<number> => {
  const { status, data } = await client.post('/api/vehicles', { vehicle_no: `T ${imei}`, imei });
  expect(status).toBe(201);
  return data.id;
};
const queue = async (client: Client, id: number, type: string, params: object = {}): Promise<Data> => {
  const { status, data } = await client.post(`/api/vehicles/${id}/commands`, { type, params });
  expect(status).toBe(202);
  return data;
};
const readStatus = async (client: Client, { vehicle_id: id, command_id: commandId }: Data): Promise<unknown> =>
  (await client.get(`/api/vehicles/${String(id)}/commands/${String(commandId)}`)).data['status'];
const stored = () => harness.deps.database.collection<Command>('commands');

describe('terminal that has left its vehicle', () => {
  it('does not receive commands that waited for it there, in any later vehicle', async () => {
    const imei = newImei();
    const id = await newVehicle(owner, imei);
    const waiting = await queue(owner, id, 'raw', { message_id: '0x8900', body_hex: '01' });
    const queued = [await queue(owner, id, 'locate'), await queue(owner, id, 'raw', { message_id: '0x8900' })] as const;
    // A replica that dies while sending leaves such commands: it is unknown whether the terminal has received them.
    const flight = { startedAt: new Date(), notBefore: new Date(Date.now() + 3_600_000) };
    const { startedAt, notBefore } = flight;
    await stored().updateOne({ _id: queued[0].id }, { $set: { notBefore, flight: { name: 'a', startedAt } } });
    const sent = { status: 'sent', notBefore, flight: { name: 'b', startedAt } } as const;
    await stored().updateOne({ _id: queued[1].id }, { $set: sent });

    expect((await owner.put(`/api/vehicles/${id}`, { imei: null })).status).toBe(200);
    expect(await readStatus(owner, waiting)).toBe('canceled');
    // A command that the cancellation missed.
    await stored().updateOne({ _id: waiting.id }, { $set: { status: 'queued', completedAt: null } });
    const theirs = await newVehicle(stranger, imei);
    const own = await queue(stranger, theirs, 'raw', { message_id: '0x8900', body_hex: '02' });
    await stored().updateMany({ vehicleId: id }, { $set: { notBefore: null } });
    await terminals.connect(imei);
    await waitFor(async () => (await readStatus(stranger, own)) === 'acknowledged');
    await waitFor(async () => (await readStatus(owner, waiting)) === 'canceled');
    await waitFor(async () => (await readStatus(owner, queued[0])) === 'canceled');
    await waitFor(async () => (await readStatus(owner, queued[1])) === 'failed');
    expect(terminals.seen.map(({ command }) => command)).toMatchObject([{ kind: 'raw', bodyHex: '02' }]);
  });
});
