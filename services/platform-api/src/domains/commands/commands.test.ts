import { randomBytes } from 'node:crypto';
import { type DeviceCommand, deviceApi, type Outcome, serveUseCase } from '@fleet/bus';
import { AppError } from '@fleet/service-kit';
import { waitFor } from '@fleet/testing';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { FakeTerminals, generalResponse, newImei } from '../../testing/fake-terminals.ts';
import { type ApiResponse, type Client, type Data, PlatformHarness } from '../../testing/platform-harness.ts';
import { CommandWorker } from './command-worker.ts';
import type { Command } from './schema.ts';

jest.setTimeout(60_000);

/** Timeout for a silent terminal: longer than a busy machine needs for a response, or to see a command in flight. */
const replyMs = 4_000;

let harness: PlatformHarness;
let owner: Client;
let terminals: FakeTerminals;
const opened: FakeTerminals[] = [];

beforeAll(async () => {
  harness = await PlatformHarness.open({ COMMAND_POLL_MS: '50', COMMAND_REPLY_TIMEOUT_MS: String(replyMs) });
  owner = harness.as(harness.ours.owner);
});
afterAll(() => harness.close());
beforeEach(() => {
  terminals = new FakeTerminals(harness.deps);
  opened.push(terminals);
});
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close();
});

let serial = 0;
async function vehicle(imei: string | null = newImei()): Promise<{ id: number; imei: string; path: string }> {
  serial += 1;
  const { status, data } = await owner.post('/api/vehicles', { vehicle_no: `CMD ${serial}`, imei });
  expect(status).toBe(201);
  return { id: data.id, imei: imei ?? '', path: `/api/vehicles/${data.id}/commands` };
}

const queue = async (path: string, type: string, params: object = {}, more: object = {}): Promise<Data> => {
  const response = await owner.post(path, { type, params, ...more });
  expect([response.status, response.body]).toEqual([202, expect.anything()]);
  return response.data;
};
const commandPath = (path: string, created: Data): string => `${path}/${String(created['command_id'])}`;
const read = async (path: string, created: Data): Promise<Data> => (await owner.get(commandPath(path, created))).data;
const waitForStatus = (path: string, created: Data, status: string): Promise<unknown> =>
  waitFor(async () => (await read(path, created))['status'] === status);
const noReply = (): Promise<Outcome> => new Promise(() => undefined);
const raise = (): never => {
  throw new Error('the command does not exist');
};
const stored = () => harness.deps.database.collection<Command>('commands');

const beep: DeviceCommand = { kind: 'setParameters', parameters: [{ id: 1, valueHex: '0000001e' }] };
const heartbeat = { parameters: [{ id: 1, value: 30 }] };

describe('command queue over HTTP', () => {
  it('queues, returns and cancels a command for a disconnected terminal', async () => {
    const { id, imei, path } = await vehicle();
    const before = Date.now();
    const response = await owner.post(path, { type: 'text', params: { text: 'Hello' }, ttl_seconds: 60, priority: 9 });
    expect(response.status).toBe(202);
    const created = response.data;
    expect(response.headers.get('location')).toBe(commandPath(path, created));
    expect(created).toMatchObject({
      command_id: expect.stringMatching(/^[0-9a-f]{24}$/),
      vehicle_id: id,
      imei,
      type: 'text',
      params: { text: 'Hello' },
      priority: 9,
      status: 'queued',
      attempts: 0,
      max_attempts: 1,
      message_id: null,
      serial: null,
      result: null,
      error: null,
      created_by: harness.ours.owner.id,
      created_by_name: expect.any(String),
      sent_at: null,
      completed_at: null,
    });
    const expiresMs = Date.parse(String(created['expires_at']));
    expect(expiresMs).toBeGreaterThanOrEqual(before + 60_000);
    expect(expiresMs).toBeLessThanOrEqual(Date.now() + 60_000);
    const other = await queue(path, 'locate');
    expect((await owner.get(path)).items.map(({ id: one }) => one)).toEqual([other.id, created.id]);
    expect((await owner.get(`${path}?type=text&sort=id`)).items.map(({ id: one }) => one)).toEqual([created.id]);
    expect((await owner.get(`${path}?status=sent`)).items).toEqual([]);
    const canceled = await owner.delete(commandPath(path, created));
    expect([canceled.status, canceled.data['status']]).toEqual([200, 'canceled']);
    expect((await owner.delete(commandPath(path, created))).status).toBe(404);
    expect((await owner.get(`${path}?status=canceled`)).items).toHaveLength(1);
    const log = await owner.get('/api/audit-log?action=commands.create');
    expect(log.items[0]).toMatchObject({ user_id: harness.ours.owner.id, detail: { vehicle_id: id } });
  });

  it.each<[string, unknown]>([
    ['no type', {}],
    ['an unknown type', { type: 'explode' }],
    ['parameters of another type', { type: 'text', params: { command: 4 } }],
    ['parameters that are not an object', { type: 'locate', params: 'x' }],
    ['a time to live that is too short', { type: 'locate', ttl_seconds: 59 }],
    ['a time to live that is too long', { type: 'locate', ttl_seconds: 2_592_001 }],
    ['a priority out of range', { type: 'locate', priority: 10 }],
  ])('rejects %s', async (_what, body) => {
    const { path } = await vehicle();
    const response: ApiResponse = await owner.post(path, body);
    expect(response.status).toBe(400);
    expect(response.body).toMatchObject({ code: 'validation_failed' });
  });

  it('allows commands from managers upwards, and critical ones only from owners and admins', async () => {
    const { path } = await vehicle();
    const [manager, admin] = [harness.as(await harness.user('manager')), harness.as(await harness.user('admin'))];
    const critical = { type: 'control', params: { command: 5 } };
    expect((await manager.post(path, { type: 'control', params: { command: 4 } })).status).toBe(202);
    expect((await manager.post(path, critical)).status).toBe(403);
    expect((await manager.post(path, { type: 'raw', params: { message_id: '0x8900' } })).status).toBe(403);
    expect((await admin.post(path, critical)).status).toBe(202);
    for (const role of ['viewer', 'driver'] as const) {
      const client = harness.as(await harness.user(role));
      expect((await client.get(path)).status).toBe(403);
      expect((await client.post(path, critical)).status).toBe(403);
    }
    expect((await harness.anonymous.get(path)).status).toBe(401);
  });

  it('is not visible to another account', async () => {
    const { path } = await vehicle();
    const created = await queue(path, 'locate');
    const stranger = harness.as(harness.theirs.owner);
    for (const response of [
      await stranger.get(path),
      await stranger.post(path, { type: 'locate' }),
      await stranger.get(commandPath(path, created)),
      await stranger.delete(commandPath(path, created)),
    ])
      expect([response.status, response.body]).toEqual([404, expect.objectContaining({ code: 'vehicle_not_found' })]);
    const other = await vehicle();
    expect((await owner.get(commandPath(other.path, created))).status).toBe(404);
    expect((await owner.get(`${path}/nothing`)).status).toBe(404);
    expect(await read(path, created)).toMatchObject({ status: 'queued' });
  });

  it('responds 409 without a terminal, and creates one command per Idempotency-Key', async () => {
    const none = await vehicle(null);
    expect((await owner.post(none.path, { type: 'locate' })).status).toBe(409);
    const { path } = await vehicle();
    const key = { 'idempotency-key': randomBytes(4).toString('hex') };
    const [first, again] = [
      await owner.post(path, { type: 'locate' }, key),
      await owner.post(path, { type: 'locate' }, key),
    ];
    expect(again.data.id).toBe(first.data.id);
    expect((await owner.get(path)).items).toHaveLength(1);
  });
});

describe('command queue', () => {
  it('sends commands once the terminal connects, one at a time, by priority and then in order', async () => {
    const { imei, path } = await vehicle();
    let concurrent = 0;
    let most = 0;
    terminals.respond = async () => {
      concurrent += 1;
      most = Math.max(most, concurrent);
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
      concurrent -= 1;
      return generalResponse(0);
    };
    const created = [
      await queue(path, 'set_parameters', heartbeat),
      await queue(path, 'vehicle_control', { doors: 'lock' }, { priority: 1 }),
      await queue(path, 'raw', { message_id: '0x8900', body_hex: '41' }, { priority: 9 }),
      await queue(path, 'set_parameters', { parameters: [{ id: 2, value_hex: '0A' }] }),
    ];
    expect(terminals.seen).toEqual([]);
    await terminals.connect(imei);
    for (const one of created) await waitForStatus(path, one, 'acknowledged');
    expect(terminals.seen.map(({ command }) => command)).toEqual([
      { kind: 'raw', messageId: 0x8900, bodyHex: '41' },
      beep,
      { kind: 'setParameters', parameters: [{ id: 2, valueHex: '0A' }] },
      { kind: 'controlDoors', isLocked: true },
    ]);
    expect(most).toBe(1);
    const [, , first = raise()] = created;
    expect(await read(path, first)).toMatchObject({
      attempts: 1,
      message_id: '0x8103',
      serial: 7,
      result: 'success',
      sent_at: expect.any(String),
      completed_at: expect.any(String),
    });
    expect((await owner.delete(commandPath(path, first))).status).toBe(409);
  });

  it('returns the response of the terminal, and fails a command that the terminal refuses', async () => {
    const { imei, path } = await vehicle();
    const bodyBase64 = Buffer.from('00070100000001040000003c', 'hex').toString('base64');
    const message = { id: 0x0104, edition: '2013', bodyBase64 } as const;
    terminals.respond = async ({ kind }) =>
      kind === 'queryParameters'
        ? { kind: 'answered', answer: { commandMessageId: 0x8106, commandSerialNo: 9, result: null, message } }
        : generalResponse(3);
    await terminals.connect(imei);
    const requested = await queue(path, 'query_parameters', { ids: [1] });
    const refused = await queue(path, 'vehicle_control', { doors: 'unlock' });
    await waitForStatus(path, requested, 'acknowledged');
    expect((await read(path, requested))['answer']).toMatchObject({
      message_id: '0x0104',
      params: [expect.anything()],
    });
    await waitForStatus(path, refused, 'failed');
    expect(await read(path, refused)).toMatchObject({ error: 'refused', result: 'unsupported' });
  });

  it('marks a command as sent and not cancelable once the socket accepts it, then fails it without a response and continues', async () => {
    const { imei, path } = await vehicle();
    terminals.respond = ({ kind }) => (kind === 'setParameters' ? Promise.resolve(generalResponse(0)) : noReply());
    const [doors, where] = [await queue(path, 'vehicle_control', { doors: 'lock' }), await queue(path, 'locate')];
    const last = await queue(path, 'set_parameters', heartbeat);
    await terminals.connect(imei);
    await waitForStatus(path, doors, 'sent');
    expect((await owner.delete(commandPath(path, doors))).status).toBe(409);
    await waitForStatus(path, doors, 'failed');
    expect(await read(path, doors)).toMatchObject({ error: 'unanswered', attempts: 1, serial: 7 });
    await waitForStatus(path, last, 'acknowledged');
    expect(await read(path, where)).toMatchObject({ status: 'queued', attempts: 1, max_attempts: 10 });
    await stored().updateOne({ _id: where.id }, { $set: { notBefore: null } });
    terminals.respond = async () => generalResponse(0);
    await waitForStatus(path, where, 'acknowledged');
    expect(await read(path, where)).toMatchObject({ attempts: 2 });
  });

  it('calls the use cases of device-api, and waits while device-api is unavailable', async () => {
    const { imei, path } = await vehicle();
    await terminals.connect(imei);
    const created = await queue(path, 'text', { text: 'Hello', text_type: 'Service' });
    await waitFor(async () => ((await stored().findOne({ _id: created.id }))?.notBefore ?? null) !== null);
    expect(await read(path, created)).toMatchObject({ status: 'queued', attempts: 0 });
    const seen: unknown[] = [];
    const requesters: unknown[] = [];
    const options = { queue: 'device-api', onError: () => undefined };
    const served = [
      serveUseCase(harness.bus, deviceApi.sendText, options, async (body, { command }) => {
        seen.push({ ...body, isRepeated: command?.isRetry });
        return { responseId: '0x8300', result: 'success' as const };
      }),
      serveUseCase(harness.bus, deviceApi.requestUpload, options, async ({ requestedBy }) => {
        requesters.push(requestedBy);
        throw new AppError('camera_busy', 'The camera is uploading.');
      }),
      serveUseCase(harness.bus, deviceApi.sendControlCommand, options, async () => {
        throw new AppError('validation_failed', 'Command 4 takes no parameters.');
      }),
    ];
    await harness.bus.nc.flush();
    await stored().updateOne({ _id: created.id }, { $set: { notBefore: null } });
    await waitForStatus(path, created, 'acknowledged');
    expect(seen).toEqual([{ imei, text: 'Hello', textType: 'Service', options: null, isRepeated: false }]);
    const clip = { channel: 1, start_time: '2026-08-01T10:00:00+08:00', end_time: '2026-08-01T11:00:00+08:00' };
    const upload = await queue(path, 'upload', clip);
    const control = await queue(path, 'control', { command: 4, parameters: 'x' });
    await waitForStatus(path, control, 'failed');
    expect(await read(path, control)).toMatchObject({
      error: 'invalid',
      error_message: 'Command 4 takes no parameters.',
    });
    expect(await read(path, upload)).toMatchObject({ status: 'queued', attempts: 0 });
    expect(requesters[0]).toEqual(upload['created_by']);
    for (const one of served) await one.stop();
  });

  it('resumes an attempt of a dead replica under its name, and gives up one that is too old', async () => {
    const { imei, path } = await vehicle();
    const name = randomBytes(16).toString('hex');
    const young = await queue(path, 'raw', { message_id: '0x8900' });
    await stored().updateOne({ _id: young.id }, { $set: { notBefore: new Date(Date.now() + 3_600_000) } });
    await terminals.connect(imei);
    const interrupted = { status: 'sent', notBefore: null, flight: { name, startedAt: new Date() } } as const;
    await stored().updateOne({ _id: young.id }, { $set: interrupted });
    await waitForStatus(path, young, 'acknowledged');
    expect(terminals.seen).toMatchObject([{ commandId: name, isRetry: true }]);
    const unavailable = await vehicle();
    const [old, locate] = [
      await queue(unavailable.path, 'raw', { message_id: '0x8900' }),
      await queue(unavailable.path, 'locate'),
    ];
    const startedAt = new Date(Date.now() - 180_000);
    await stored().updateOne({ _id: old.id }, { $set: { status: 'sent', flight: { name: 'a', startedAt } } });
    await waitForStatus(unavailable.path, old, 'failed');
    expect(await read(unavailable.path, old)).toMatchObject({ error: 'unanswered' });
    await stored().updateOne({ _id: locate.id }, { $set: { status: 'sent', flight: { name: 'b', startedAt } } });
    await waitFor(async () => ((await stored().findOne({ _id: locate.id }))?.flight ?? null) === null);
    expect(await read(unavailable.path, locate)).toMatchObject({ status: 'queued', attempts: 1 });
    expect(terminals.seen).toHaveLength(1);
  });

  it('sends each command once while several replicas process the queue', async () => {
    const times = { pollIntervalMs: 20, replyTimeoutMs: 30_000, leaseTtlMs: 30_000, pageSize: 100, concurrency: 100 };
    const others = [0, 1].map(() => new CommandWorker(harness.deps, times));
    const { imei, path } = await vehicle();
    const created = [];
    for (let i = 0; i < 5; i += 1) created.push(await queue(path, 'raw', { message_id: '0x8900', body_hex: `0${i}` }));
    await terminals.connect(imei);
    for (const one of created) await waitForStatus(path, one, 'acknowledged');
    expect(terminals.seen).toHaveLength(5);
    for (const one of others) await one.stop();
  });

  it('expires a command whose time to live ends before the terminal connects', async () => {
    const { path } = await vehicle();
    const created = await queue(path, 'locate');
    await stored().updateOne({ _id: created.id }, { $set: { expiresAt: new Date(Date.now() - 1) } });
    await waitForStatus(path, created, 'expired');
    expect((await owner.delete(commandPath(path, created))).status).toBe(409);
  });
});
