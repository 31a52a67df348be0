import { randomBytes } from 'node:crypto';
import { deviceApi, type Outcome, serveUseCase } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { FakeTerminals, generalResponse, newImei } from '../../testing/fake-terminals.ts';
import { type Client, type Data, PlatformHarness } from '../../testing/platform-harness.ts';
import { CommandWorker, type WorkerTimings } from './command-worker.ts';
import type { Command } from './schema.ts';
import { CommandQueue } from './store.ts';

jest.setTimeout(60_000);

let harness: PlatformHarness;
let owner: Client;
let terminals: FakeTerminals;
const opened: FakeTerminals[] = [];
beforeAll(async () => {
  // The service's own worker does not poll again during a test.
  harness = await PlatformHarness.open({ COMMAND_POLL_MS: '60000' });
  owner = harness.as(harness.ours.owner);
});
beforeEach(async () => {
  await stored().deleteMany({});
  terminals = new FakeTerminals(harness.deps);
  opened.push(terminals);
});
afterAll(async () => {
  for (const one of opened) await one.close();
  await harness.close();
});

const times: WorkerTimings = {
  pollIntervalMs: 20,
  replyTimeoutMs: 30_000,
  leaseTtlMs: 15_000,
  pageSize: 100,
  concurrency: 100,
};
async function withWorker(more: Partial<WorkerTimings>, work: () => Promise<void>): Promise<void> {
  const worker = new CommandWorker(harness.deps, { ...times, ...more });
  try {
    await work();
  } finally {
    await worker.stop();
  }
}

/**
 * Queues commands. Waits until the service's own worker, which receives their events, has found the terminal
 * disconnected and released the lease.
 */
async function queueAndConnect(imei: string, bodies: readonly object[] = [{ type: 'locate' }]): Promise<Data[]> {
  const { data } = await owner.post('/api/vehicles', { vehicle_no: `W ${imei}`, imei });
  const all: Data[] = [];
  const take = jest.spyOn(CommandQueue.prototype, 'acquireLease');
  try {
    for (const body of bodies) {
      const created = await owner.post(`/api/vehicles/${data.id}/commands`, body);
      expect(created.status).toBe(202);
      all.push(created.data);
    }
    // The worker acquires the lease when it receives the events, and releases it when it is done.
    await harness.bus.nc.flush();
    expect(take).toHaveBeenCalled();
    await Promise.all(take.mock.results.map(({ value }) => value));
  } finally {
    take.mockRestore();
  }
  const leases = harness.deps.database.collection<{ _id: string }>('command_queue_leases');
  await waitFor(async () => (await leases.findOne({ _id: imei })) === null);
  return all;
}
async function oneLater(imei: string, body?: object): Promise<Data> {
  const [created] = await queueAndConnect(imei, body === undefined ? undefined : [body]);
  if (created === undefined) throw new Error('no command was created');
  return created;
}
const stored = () => harness.deps.database.collection<Command>('commands');
const readStored = async ({ id }: Data): Promise<Command> => {
  const found = await stored().findOne({ _id: id });
  if (found === null) throw new Error('the command is not stored');
  return found;
};
const readStatus = async ({ vehicle_id: id, command_id: commandId }: Data): Promise<unknown> =>
  (await owner.get(`/api/vehicles/${String(id)}/commands/${String(commandId)}`)).data['status'];

describe('CommandWorker', () => {
  it('reaches every terminal, no matter how many commands wait for disconnected ones', async () => {
    const [imei, connectsLater] = [newImei(), newImei()];
    const first = await oneLater(connectsLater);
    const unavailable = [first, await oneLater(newImei()), await oneLater(newImei())];
    const created = await oneLater(imei);
    await terminals.connect(imei);
    await withWorker({ pageSize: 2 }, async () => {
      await waitFor(async () => (await readStatus(created)) === 'acknowledged');
      for (const one of unavailable) expect(await readStatus(one)).toBe('queued');
      await terminals.connect(connectsLater);
      await waitFor(async () => (await readStatus(first)) === 'acknowledged');
    });
  });

  it('serves queues round-robin if more queues wait than it processes concurrently', async () => {
    const [silent, responding] = [newImei(), newImei()];
    terminals.respond = (_command, { imei }) =>
      imei === silent ? new Promise<Outcome>(() => undefined) : Promise.resolve(generalResponse(0));
    await queueAndConnect(silent, [{ type: 'query_attributes' }, { type: 'locate' }]);
    const created = await oneLater(responding);
    await terminals.connect(silent);
    await terminals.connect(responding);
    await withWorker({ concurrency: 1, replyTimeoutMs: 4_000 }, async () => {
      await waitFor(() => terminals.seen.length >= 3);
      expect(await readStatus(created)).toBe('acknowledged');
    });
    expect(terminals.seen.slice(0, 3).map(({ imei }) => imei)).toEqual([silent, responding, silent]);
  });

  it('preserves the round-robin order over several pages of waiting commands', async () => {
    const [silent, responding] = [newImei(), newImei()];
    terminals.respond = (_command, { imei }) =>
      imei === silent ? new Promise<Outcome>(() => undefined) : Promise.resolve(generalResponse(0));
    await queueAndConnect(silent, [{ type: 'query_attributes' }, { type: 'locate' }]);
    const created = await oneLater(responding);
    await oneLater(newImei());
    await terminals.connect(silent);
    await terminals.connect(responding);
    await withWorker({ concurrency: 1, replyTimeoutMs: 4_000, pageSize: 3 }, async () => {
      await waitFor(() => terminals.seen.length >= 2);
      await waitFor(async () => (await readStatus(created)) === 'acknowledged');
    });
    expect(terminals.seen.slice(0, 2).map(({ imei }) => imei)).toEqual([silent, responding]);
  });

  it('preserves the order while the device is busy or disconnected', async () => {
    const imei = newImei();
    terminals.unsent.push({ kind: 'busy', detail: 'Too many commands are in flight.' }, { kind: 'notConnected' });
    const rawCommand = (body_hex: string) => ({ type: 'raw', params: { message_id: '0x8900', body_hex } });
    const created = await queueAndConnect(imei, [rawCommand('01'), rawCommand('02')]);
    await terminals.connect(imei);
    await withWorker({}, async () => {
      for (const one of created) await waitFor(async () => (await readStatus(one)) === 'acknowledged');
    });
    const bodies = terminals.seen.map(({ command }) => (command.kind === 'raw' ? command.bodyHex : command.kind));
    expect(bodies).toEqual(['01', '01', '01', '02']);
  });

  it('releases a queue after the command in flight once another replica owns the lease', async () => {
    const imei = newImei();
    let response: (outcome: Outcome) => void = () => undefined;
    terminals.respond = () =>
      new Promise((resolve) => {
        response = resolve;
      });
    const raw = { type: 'raw', params: { message_id: '0x8900' } };
    const [first, second] = await queueAndConnect(imei, [raw, raw]);
    await terminals.connect(imei);
    const [take, release] = [
      jest.spyOn(CommandQueue.prototype, 'acquireLease'),
      jest.spyOn(CommandQueue.prototype, 'releaseLease'),
    ];
    try {
      await withWorker({ leaseTtlMs: 600 }, async () => {
        await waitFor(() => terminals.seen.length === 1);
        const other = { holder: 'another replica', expiresAt: new Date(Date.now() + 3_600_000) };
        await harness.deps.database
          .collection<{ _id: string }>('command_queue_leases')
          .updateOne({ _id: imei }, { $set: other });
        await waitFor(async () => (await Promise.all(take.mock.results.map(({ value }) => value))).includes(false));
        release.mockClear();
        response(generalResponse(0));
        await waitFor(() => release.mock.calls.some(([released]) => released === imei));
      });
    } finally {
      take.mockRestore();
      release.mockRestore();
    }
    expect(first && (await readStatus(first))).toBe('acknowledged');
    expect(second && (await readStored(second)).flight).toBe(null);
    expect(terminals.seen).toHaveLength(1);
  });
});

describe('command in flight when its replica died', () => {
  const options = { queue: 'device-api', onError: () => undefined };
  const text = { type: 'text', params: { text: 'Hello' } };

  /** Stores a command as a dead replica leaves it: its socket had accepted the bytes. */
  async function createInterrupted(body: object): Promise<{ made: Data; name: string }> {
    const imei = newImei();
    const created = await oneLater(imei, body);
    await terminals.connect(imei);
    const name = randomBytes(16).toString('hex');
    const flight = { name, startedAt: new Date() };
    await stored().updateOne({ _id: created.id }, { $set: { status: 'sent', sentAt: new Date(), flight } });
    return { made: created, name };
  }

  it('retains its name while device-api is unavailable, so it is never sent under another one', async () => {
    const { made: created, name } = await createInterrupted(text);
    const names: unknown[] = [];
    await withWorker({}, async () => {
      await waitFor(async () => (await readStored(created)).notBefore !== null);
      expect(await readStored(created)).toMatchObject({ status: 'sent', flight: { name } });
      const served = serveUseCase(harness.bus, deviceApi.sendText, options, async (_body, { command }) => {
        names.push(command);
        return { responseId: '0x8300', result: 'success' as const };
      });
      await harness.bus.nc.flush();
      await waitFor(async () => (await readStatus(created)) === 'acknowledged');
      await served.stop();
    });
    expect(names).toEqual([{ id: name, isRetry: true }]);
  });

  it('retains its name if device-api fails before it sends the command', async () => {
    const start = new Date('2026-08-01T10:00:00Z').toISOString();
    const end = new Date('2026-08-01T11:00:00Z').toISOString();
    const { made: created, name } = await createInterrupted({
      type: 'upload',
      params: { channel: 1, start_time: start, end_time: end },
    });
    const served = serveUseCase(harness.bus, deviceApi.requestUpload, options, async () => {
      throw new AppError('camera_busy', 'The camera is uploading.');
    });
    await harness.bus.nc.flush();
    await withWorker({}, async () => {
      await waitFor(async () => (await readStored(created)).notBefore !== null);
    });
    await served.stop();
    expect(await readStored(created)).toMatchObject({ status: 'sent', flight: { name } });
  });
});
