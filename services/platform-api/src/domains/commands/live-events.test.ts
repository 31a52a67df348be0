import type { Outcome } from '@fleet/bus';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { FakeTerminals, generalResponse, newImei } from '../../testing/fake-terminals.ts';
import { LiveEventRecorder } from '../../testing/live-event-recorder.ts';
import { type Client, type Data, PlatformHarness } from '../../testing/platform-harness.ts';

// The tests use real servers; the machine may be busy. Terminals have the default time to respond.
jest.setTimeout(60_000);

let harness: PlatformHarness;
let owner: Client;
let recorder: LiveEventRecorder;
let terminals: FakeTerminals;
beforeAll(async () => {
  harness = await PlatformHarness.open({ COMMAND_POLL_MS: '50' });
  owner = harness.as(harness.ours.owner);
  recorder = new LiveEventRecorder(harness);
  terminals = new FakeTerminals(harness.deps);
});
afterAll(async () => {
  recorder.stop();
  await terminals.close();
  await harness.close();
});

/** Events have no name of the user: viewers of a shared vehicle may not see it. */
function withoutName({ created_by_name: name, ...record }: Data): object {
  expect(name).toEqual(expect.any(String));
  return record;
}

/** Creates a vehicle. Returns the path of its commands and the events published for each command. */
async function newVehicle() {
  const imei = newImei();
  const { data } = await owner.post('/api/vehicles', { vehicle_no: `LIVE ${imei}`, imei });
  const path = `/api/vehicles/${data.id}/commands`;
  const queue = async (type: string, params: object = {}): Promise<Data> => {
    const { status, data: created } = await owner.post(path, { type, params });
    expect(status).toBe(202);
    return created;
  };
  const published = (created: Data) =>
    recorder.of('command', data.id).filter(({ command_id: commandId }) => commandId === created['command_id']);
  const statuses = (created: Data) => published(created).map(({ status }) => status);
  const waitForEvent = (created: Data, status: string) => waitFor(() => statuses(created).at(-1) === status);
  const read = async (created: Data) => (await owner.get(`${path}/${String(created['command_id'])}`)).data;
  return { imei, path, queue, published, statuses, waitForEvent, read };
}

describe('websocket events of a command', () => {
  it('are published when it is queued, sent and acknowledged', async () => {
    const { imei, queue, published, statuses, waitForEvent, read } = await newVehicle();
    let response: (outcome: Outcome) => void = () => undefined;
    terminals.respond = () =>
      new Promise((resolve) => {
        response = resolve;
      });
    const created = await queue('set_parameters', { parameters: [{ id: 1, value: 30 }] });
    await terminals.connect(imei);
    await waitForEvent(created, 'sent');
    response(generalResponse(0));
    await waitForEvent(created, 'acknowledged');
    expect(statuses(created)).toEqual(['queued', 'sent', 'acknowledged']);
    expect(published(created)[0]).toEqual(withoutName(created));
    expect(published(created)[1]).toMatchObject({ imei, serial: 7, message_id: '0x8103', completed_at: null });
    expect(published(created)[2]).toEqual(withoutName(await read(created)));
  });

  it('are published when the terminal refuses it', async () => {
    const { imei, queue, published, waitForEvent, read } = await newVehicle();
    terminals.respond = async () => generalResponse(3);
    const created = await queue('vehicle_control', { doors: 'lock' });
    await terminals.connect(imei);
    await waitForEvent(created, 'failed');
    expect(published(created).at(-1)).toMatchObject({ error: 'refused', result: 'unsupported' });
    expect(published(created).at(-1)).toEqual(withoutName(await read(created)));
  });

  it('are published when it is canceled', async () => {
    const { path, queue, published, statuses, waitForEvent } = await newVehicle();
    const created = await queue('locate');
    const canceled = await owner.delete(`${path}/${String(created['command_id'])}`);
    await waitForEvent(created, 'canceled');
    expect(statuses(created)).toEqual(['queued', 'canceled']);
    expect(published(created)[1]).toEqual(withoutName(canceled.data));
  });
});
