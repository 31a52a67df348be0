import { randomBytes } from 'node:crypto';
import { type Bus, type DeviceUse, deviceUsed, encodeJson, ensureStreams, headers } from '@fleet/bus';
import { createLogger } from '@fleet/service-kit';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { until } from '../../../../../libs/service-kit/src/testing/server-process.ts';
import { create, type PlatformApi } from '../../service.ts';
import { sweepTurn } from '../../store/sweep-turn.ts';
import { type Client, type Data, PlatformWorld } from '../../testing/platform-world.ts';
import { wayOf } from '../../testing/tenant-data.ts';
import { newImei } from '../../testing/terminals.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { recordVehicle } from '../vehicles/use-cases.ts';
import { serveAudit } from './handlers.ts';
import type { AuditEntry } from './schema.ts';
import { insertTold, sweepEntries, sweepTold } from './store.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

const log = createLogger('audit-test', 'silent');
const running = new AbortController().signal;

describe('what the Device API tells the audit log', () => {
  /** Without the role that reads what was told, until readers are started. */
  let world: PlatformWorld;
  let readers: PlatformApi[] = [];
  beforeAll(async () => {
    world = await PlatformWorld.open({ PLATFORM_ROLES: 'websocket' });
    await ensureStreams(await world.bus.jetstreamManager(), { replicas: 1 });
  });
  afterAll(async () => {
    await Promise.all(readers.map((reader) => reader.stop()));
    await world.close();
  });

  const startReaders = async (): Promise<void> => {
    const config = { ...world.deps.config, PLATFORM_ROLES: 'api', HTTP_PORT: 0 };
    const replica = () => create(config, { log, isSweeping: false });
    readers = await Promise.all([replica(), replica()]);
  };
  const newUse = (imei: string, more: Partial<DeviceUse> = {}): DeviceUse => ({
    id: randomBytes(16).toString('hex'),
    atMs: Date.now() - 3_600_000,
    keyId: 5,
    accountId: world.ours.accountId,
    imei,
    address: '203.0.113.9',
    kind: 'command',
    operation: 'sendControlCommand',
    ...more,
  });
  /** Under a message id of its own each time: JetStream remembers those for an hour alone. */
  const tell = async (...uses: readonly object[]): Promise<void> => {
    for (const use of uses) {
      const head = headers();
      head.set('Nats-Msg-Id', randomBytes(16).toString('hex'));
      await world.bus.js.publish(deviceUsed.subject, encodeJson(use), { headers: head });
    }
  };
  const untilRead = (): Promise<void> =>
    until(async () => {
      const { streams } = await world.bus.jetstreamManager();
      return (await streams.info('AUDIT')).state.messages === 0;
    });
  const entries = () => world.records.collection<AuditEntry>('audit_log');
  const entriesOf = (imei: string) =>
    entries()
      .find({ 'detail.imei': imei } as object)
      .sort({ createdAt: 1 })
      .toArray();

  /** Had the terminal for a day. */
  async function newVehicle(imei: string, hadForMs = 86_400_000): Promise<number> {
    const vehicle = { accountId: world.ours.accountId, ownerUserId: 1, vehicleNo: `USED ${imei}`, imei };
    const { record } = await recordVehicle(world.records, vehicle);
    const terminalSinceMs = Date.now() - hadForMs;
    await world.records.collection<Vehicle>('vehicles').updateOne({ _id: record._id }, { $set: { terminalSinceMs } });
    return record._id;
  }

  describe('by replicas that start behind the first of it', () => {
    const imei = newImei();
    let vehicleId: number;
    let command: DeviceUse;
    beforeAll(async () => {
      vehicleId = await newVehicle(imei);
      command = newUse(imei, { command: 4 });
      const watched = { kind: 'view', operation: 'watchRealtimeStream', channel: 2, seconds: 30 } as const;
      const view = newUse(imei, { ...watched, accountId: world.theirs.accountId, atMs: command.atMs + 1 });
      const deletion = newUse(imei, { kind: 'deletion', operation: 'deleteUpload', atMs: command.atMs + 2 });
      await tell(command, { nonsense: true }, view, deletion);
      await startReaders();
    });

    it('is on record as of when it was done, once for all replicas', async () => {
      await untilRead();
      const by = { userId: null, keyId: 5, ip: '203.0.113.9' };
      const { accountId } = world.ours;
      const target = { type: 'vehicles', id: vehicleId };
      const shown = { imei, operation: 'sendControlCommand', command: 4 };
      // To another account the vehicle is nobody's.
      const stranger = { accountId: world.theirs.accountId, target: { type: 'devices', id: imei } };
      expect(await entriesOf(imei)).toMatchObject([
        { ...by, accountId, target, action: 'devices.command', detail: shown, createdAt: new Date(command.atMs) },
        { ...by, ...stranger, action: 'video.view', detail: { channel_id: 2, seconds: 30 } },
        { ...by, accountId, target, action: 'videos.delete' },
      ]);
    });

    it('is of the device where that has come into its vehicle since', async () => {
      const late = newImei();
      await newVehicle(late, 60_000);
      await tell(newUse(late));
      await untilRead();
      expect(await entriesOf(late)).toMatchObject([{ target: { type: 'devices', id: late } }]);
    });

    it('adds no entry when it is told again, at the same time or later', async () => {
      const imei = newImei();
      const uses = Array.from({ length: 20 }, (_, command) => newUse(imei, { command }));
      await tell(...uses.flatMap((use) => [use, use, use]));
      await untilRead();
      await tell(...uses);
      await untilRead();
      const commands = (await entriesOf(imei)).map(({ detail }) => Number(detail['command']));
      expect(commands.toSorted((a, b) => a - b)).toEqual(uses.map((_use, at) => at));
    });

    it('is completed where a process has died between the id and the entry', async () => {
      const imei = newImei();
      const use = newUse(imei);
      const recordId = await world.records.nextId('audit_log');
      const told = world.deps.database.collection<{ _id: string }>('audit_told');
      await told.insertOne({ _id: use.id, recordId, takenAt: new Date() } as { _id: string });
      await tell(use, use);
      await untilRead();
      expect(await entriesOf(imei)).toMatchObject([{ _id: recordId, action: 'devices.command' }]);
    });

    it('has nothing personal where the account has been erased since', async () => {
      const imei = newImei();
      const { accountId } = await world.tenant('Erased');
      await world.records
        .collection('accounts')
        .updateOne({ _id: accountId }, { $set: { deletedAt: new Date(), erasedAt: new Date() } });
      await tell(newUse(imei, { accountId }));
      await untilRead();
      expect(await entries().find({ accountId }).toArray()).toMatchObject([
        { action: 'devices.command', ip: null, detail: {} },
      ]);
    });
  });

  it('has its stream made when the broker is back, though that has no answers at once', async () => {
    let [asked, unanswered] = [0, 0];
    let comeBack: () => void = () => undefined;
    const bus: Bus = {
      ...world.bus,
      onReconnect: (listener) => {
        comeBack = listener;
        return () => undefined;
      },
      jetstreamManager: async () => {
        asked += 1;
        if (unanswered === 0) return world.bus.jetstreamManager();
        unanswered -= 1;
        throw new Error('no leader yet');
      },
    };
    const reader = serveAudit({ ...world.deps, bus });
    // For its stream, and for its place there.
    await until(() => asked >= 2);
    unanswered = 2;
    comeBack();
    await until(() => unanswered === 0);
    await reader.stop();
    expect(unanswered).toBe(0);
  });

  it('is forgotten as told once JetStream can not have it any more; the entry stays', async () => {
    const imei = newImei();
    const fields = { userId: null, keyId: 5, action: 'devices.command', target: null, detail: { imei }, ip: null };
    const told = { id: randomBytes(16).toString('hex'), accountId: world.ours.accountId, at: new Date() };
    await insertTold(world.records, told, fields);
    const isKnown = async (): Promise<boolean> =>
      (await world.deps.database.collection<{ _id: string }>('audit_told').findOne({ _id: told.id })) !== null;
    const { database } = world.deps;
    expect(await sweepTold(database, sweepTurn(1, running), Date.now() + 7 * 86_400_000)).toBeNull();
    expect(await isKnown()).toBe(true);
    expect(await sweepTold(database, sweepTurn(1, running), Date.now() + 9 * 86_400_000)).toBeNull();
    expect(await isKnown()).toBe(false);
    expect(await entriesOf(imei)).toHaveLength(1);
  });

  it('is kept for a year', async () => {
    const imei = newImei();
    const fields = { userId: null, keyId: 5, action: 'devices.command', target: null, detail: { imei }, ip: null };
    const { accountId } = world.ours;
    for (const days of [364, 366]) {
      const told = { id: randomBytes(16).toString('hex'), accountId, at: new Date(Date.now() - days * 86_400_000) };
      await insertTold(world.records, told, { ...fields, detail: { imei, days } });
    }
    expect(await sweepEntries(world.records, sweepTurn(1, running))).toBeNull();
    expect((await entriesOf(imei)).map(({ detail }) => detail['days'])).toEqual([364]);
  });
});

describe('the audit log of changes by users', () => {
  let world: PlatformWorld;
  let owner: Client;
  beforeAll(async () => {
    world = await PlatformWorld.open();
    owner = world.as(world.ours.owner);
  });
  afterAll(() => world.close());

  const entriesAfter = async (id: number): Promise<Data[]> =>
    (await owner.get('/api/audit-log?sort=id&limit=200')).items.filter((entry) => entry.id > id);
  const newestId = async (): Promise<number> => (await owner.get('/api/audit-log?limit=1')).items[0]?.id ?? 0;

  const circle = { type: 'circle', coordinates: [[22.5, 114]], radius_m: 100 };
  it.each([
    ['drivers', 'drivers', { name: 'Ann Secret', phone_number: '+14155550123' }, { fields: ['name', 'phone_number'] }],
    ['geofences', 'geofences', { name: 'Yard', ...circle }, { name: 'Yard' }],
    ['routes', 'routes', { name: 'Tour', ...wayOf }, { name: 'Tour' }],
    ['vehicle-groups', 'vehicle_groups', { name: 'North' }, { name: 'North' }],
  ])('has one entry for each change of %s, with the names of what changed', async (path, type, body, created) => {
    const before = await newestId();
    const { id } = (await owner.post(`/api/${path}`, body)).data;
    const change = { name: 'Other', description: 'Secret' };
    const fields = path === 'drivers' ? { name: 'Other' } : change;
    expect((await owner.put(`/api/${path}/${id}`, fields)).status).toBe(200);
    expect((await owner.delete(`/api/${path}/${id}`)).status).toBe(200);
    const by = { user_id: world.ours.owner.id, target: { type, id } };
    const entries = await entriesAfter(before);
    expect(entries).toMatchObject([
      { ...by, action: `${path}.create`, detail: created },
      { ...by, action: `${path}.update`, detail: { fields: Object.keys(fields) } },
      { ...by, action: `${path}.delete` },
    ]);
    expect(JSON.stringify(entries)).not.toMatch(/Secret|5550123/);
  });

  it('has an entry for each change of preferences, by the user who changed them', async () => {
    const viewer = await world.user('viewer');
    const vehicle = (await owner.post('/api/vehicles', { vehicle_no: `P${newImei()}` })).data;
    const before = await newestId();
    expect((await world.as(viewer).put('/api/user-preferences/me', { language: 'es' })).status).toBe(200);
    const path = `/api/notifications/update-preferences/${vehicle.id}`;
    expect((await owner.post(path, { notification_types: ['sos'] })).status).toBe(200);
    expect(await entriesAfter(before)).toMatchObject([
      { user_id: viewer.id, action: 'user_preferences.update', detail: { parts: ['language'] } },
      { user_id: world.ours.owner.id, action: 'notification_preferences.update', target: { id: vehicle.id } },
    ]);
  });

  it('has no entry for a change that is refused', async () => {
    const before = await newestId();
    const { id } = (await owner.post('/api/vehicle-groups', { name: 'Refused' })).data;
    expect((await owner.put(`/api/vehicle-groups/${id}`, { name: 'Late' }, { 'if-match': '"99"' })).status).toBe(412);
    expect((await owner.put('/api/drivers/999999', { name: 'Nobody' })).status).toBe(404);
    expect(await entriesAfter(before)).toMatchObject([{ action: 'vehicle-groups.create' }]);
  });
});
