import { randomBytes } from 'node:crypto';
import { type Bus, type DeviceAccessEvent, deviceAccessed, encodeJson, ensureStreams, headers } from '@fleet/bus';
import { createLogger } from '@fleet/service-kit';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { create, type PlatformApi } from '../../assembly/service.ts';
import { startDeviceAccessConsumer } from '../../event-consumers/device-access.ts';
import { createJobSlice } from '../../jobs/job-slice.ts';
import { newImei } from '../../testing/fake-terminals.ts';
import { type Client, type Data, PlatformHarness } from '../../testing/platform-harness.ts';
import { wayOf } from '../../testing/tenant-data.ts';
import type { Vehicle } from '../vehicles/schema.ts';
import { ensureVehicle } from '../vehicles/use-cases.ts';
import { purgeDedupe, purgeEntries } from './retention.ts';
import type { AuditEntry } from './schema.ts';
import { insertOnce } from './store.ts';

// The tests use real servers; the machine may be busy.
jest.setTimeout(60_000);

const log = createLogger('audit-test', 'silent');
const running = new AbortController().signal;

describe('audit log of Device API use', () => {
  /** Runs without the role that consumes the events, until the readers are started. */
  let harness: PlatformHarness;
  let readers: PlatformApi[] = [];
  beforeAll(async () => {
    harness = await PlatformHarness.open({ PLATFORM_ROLES: 'websocket' });
    await ensureStreams(await harness.bus.jetstreamManager(), { replicas: 1 });
  });
  afterAll(async () => {
    await Promise.all(readers.map((reader) => reader.stop()));
    await harness.close();
  });

  const startReaders = async (): Promise<void> => {
    const config = { ...harness.deps.config, PLATFORM_ROLES: 'api', HTTP_PORT: 0 };
    const replica = () => create(config, { log, runsJobs: false });
    readers = await Promise.all([replica(), replica()]);
  };
  const createAccess = (imei: string, more: Partial<DeviceAccessEvent> = {}): DeviceAccessEvent => ({
    id: randomBytes(16).toString('hex'),
    atMs: Date.now() - 3_600_000,
    keyId: 5,
    accountId: harness.ours.accountId,
    imei,
    address: '203.0.113.9',
    kind: 'command',
    operation: 'sendControlCommand',
    ...more,
  });
  /** Publishes each event with its own message id, because JetStream deduplicates by message id for only an hour. */
  const publishAccesses = async (...uses: readonly object[]): Promise<void> => {
    for (const use of uses) {
      const head = headers();
      head.set('Nats-Msg-Id', randomBytes(16).toString('hex'));
      await harness.bus.js.publish(deviceAccessed.subject, encodeJson(use), { headers: head });
    }
  };
  const waitUntilRead = (): Promise<boolean> =>
    waitFor(async () => {
      const { streams } = await harness.bus.jetstreamManager();
      return (await streams.info('AUDIT')).state.messages === 0;
    });
  const entries = () => harness.records.collection<AuditEntry>('audit_log');
  const findEntries = (imei: string) =>
    entries()
      .find({ 'detail.imei': imei } as object)
      .sort({ createdAt: 1 })
      .toArray();

  /** Creates a vehicle that has had the terminal for a day by default. */
  async function newVehicle(imei: string, hadForMs = 86_400_000): Promise<number> {
    const vehicle = { accountId: harness.ours.accountId, ownerUserId: 1, vehicleNo: `USED ${imei}`, imei };
    const { record } = await ensureVehicle(harness.records, vehicle);
    const terminalSinceMs = Date.now() - hadForMs;
    await harness.records.collection<Vehicle>('vehicles').updateOne({ _id: record._id }, { $set: { terminalSinceMs } });
    return record._id;
  }

  describe('with replicas that start after the first event', () => {
    const imei = newImei();
    let vehicleId: number;
    let command: DeviceAccessEvent;
    beforeAll(async () => {
      vehicleId = await newVehicle(imei);
      command = createAccess(imei, { command: 4 });
      const watched = { kind: 'view', operation: 'watchRealtimeStream', channel: 2, seconds: 30 } as const;
      const view = createAccess(imei, { ...watched, accountId: harness.theirs.accountId, atMs: command.atMs + 1 });
      const deletion = createAccess(imei, { kind: 'deletion', operation: 'deleteUpload', atMs: command.atMs + 2 });
      await publishAccesses(command, { nonsense: true }, view, deletion);
      await startReaders();
    });

    it('records each use once for all replicas, with the time of the use', async () => {
      await waitUntilRead();
      const by = { userId: null, keyId: 5, ip: '203.0.113.9' };
      const { accountId } = harness.ours;
      const target = { type: 'vehicles', id: vehicleId };
      const response = { imei, operation: 'sendControlCommand', command: 4 };
      // The vehicle does not belong to the other account.
      const stranger = { accountId: harness.theirs.accountId, target: { type: 'devices', id: imei } };
      expect(await findEntries(imei)).toMatchObject([
        { ...by, accountId, target, action: 'devices.command', detail: response, createdAt: new Date(command.atMs) },
        { ...by, ...stranger, action: 'video.view', detail: { channel_id: 2, seconds: 30 } },
        { ...by, accountId, target, action: 'videos.delete' },
      ]);
    });

    it('records the device as target if it was assigned to its vehicle after the use', async () => {
      const lateImei = newImei();
      await newVehicle(lateImei, 60_000);
      await publishAccesses(createAccess(lateImei));
      await waitUntilRead();
      expect(await findEntries(lateImei)).toMatchObject([{ target: { type: 'devices', id: lateImei } }]);
    });

    it('adds no entry for a redelivered event, concurrent or later', async () => {
      const imei = newImei();
      const uses = Array.from({ length: 20 }, (_, command) => createAccess(imei, { command }));
      await publishAccesses(...uses.flatMap((use) => [use, use, use]));
      await waitUntilRead();
      await publishAccesses(...uses);
      await waitUntilRead();
      const commands = (await findEntries(imei)).map(({ detail }) => Number(detail['command']));
      expect(commands.toSorted((a, b) => a - b)).toEqual(uses.map((_use, at) => at));
    });

    it('completes the entry if a process died between reserving the id and writing', async () => {
      const imei = newImei();
      const use = createAccess(imei);
      const recordId = await harness.records.nextId('audit_log');
      const published = harness.deps.database.collection<{ _id: string }>('audit_told');
      await published.insertOne({ _id: use.id, recordId, takenAt: new Date() } as { _id: string });
      await publishAccesses(use, use);
      await waitUntilRead();
      expect(await findEntries(imei)).toMatchObject([{ _id: recordId, action: 'devices.command' }]);
    });

    it('stores no personal data if the account has been erased since', async () => {
      const imei = newImei();
      const { accountId } = await harness.tenant('Erased');
      await harness.records
        .collection('accounts')
        .updateOne({ _id: accountId }, { $set: { deletedAt: new Date(), erasedAt: new Date() } });
      await publishAccesses(createAccess(imei, { accountId }));
      await waitUntilRead();
      expect(await entries().find({ accountId }).toArray()).toMatchObject([
        { action: 'devices.command', ip: null, detail: {} },
      ]);
    });
  });

  it('creates its stream after a reconnect, even if JetStream responds late', async () => {
    let [requested, withoutResponse] = [0, 0];
    let restoreBroker: () => void = () => undefined;
    const bus: Bus = {
      ...harness.bus,
      onReconnect: (listener) => {
        restoreBroker = listener;
        return () => undefined;
      },
      jetstreamManager: async () => {
        requested += 1;
        if (withoutResponse === 0) return harness.bus.jetstreamManager();
        withoutResponse -= 1;
        throw new Error('no leader yet');
      },
    };
    const reader = startDeviceAccessConsumer({ ...harness.deps, bus });
    // One request for the stream, one for the durable consumer.
    await waitFor(() => requested >= 2);
    withoutResponse = 2;
    restoreBroker();
    await waitFor(() => withoutResponse === 0);
    await reader.stop();
    expect(withoutResponse).toBe(0);
  });

  it('purges the dedupe record once JetStream cannot redeliver the event, but not the entry', async () => {
    const imei = newImei();
    const fields = { userId: null, keyId: 5, action: 'devices.command', target: null, detail: { imei }, ip: null };
    const published = { id: randomBytes(16).toString('hex'), accountId: harness.ours.accountId, at: new Date() };
    await insertOnce(harness.records, published, fields);
    const isKnown = async (): Promise<boolean> =>
      (await harness.deps.database.collection<{ _id: string }>('audit_told').findOne({ _id: published.id })) !== null;
    const { database } = harness.deps;
    expect(await purgeDedupe(database, createJobSlice(1, running), Date.now() + 7 * 86_400_000)).toBeNull();
    expect(await isKnown()).toBe(true);
    expect(await purgeDedupe(database, createJobSlice(1, running), Date.now() + 9 * 86_400_000)).toBeNull();
    expect(await isKnown()).toBe(false);
    expect(await findEntries(imei)).toHaveLength(1);
  });

  it('purges entries older than a year', async () => {
    const imei = newImei();
    const fields = { userId: null, keyId: 5, action: 'devices.command', target: null, detail: { imei }, ip: null };
    const { accountId } = harness.ours;
    for (const days of [364, 366]) {
      const published = {
        id: randomBytes(16).toString('hex'),
        accountId,
        at: new Date(Date.now() - days * 86_400_000),
      };
      await insertOnce(harness.records, published, { ...fields, detail: { imei, days } });
    }
    expect(await purgeEntries(harness.records, createJobSlice(1, running))).toBeNull();
    expect((await findEntries(imei)).map(({ detail }) => detail['days'])).toEqual([364]);
  });
});

describe('audit log of changes by users', () => {
  let harness: PlatformHarness;
  let owner: Client;
  beforeAll(async () => {
    harness = await PlatformHarness.open();
    owner = harness.as(harness.ours.owner);
  });
  afterAll(() => harness.close());

  const entriesAfter = async (id: number): Promise<Data[]> =>
    (await owner.get('/api/audit-log?sort=id&limit=200')).items.filter((entry) => entry.id > id);
  const newestId = async (): Promise<number> => (await owner.get('/api/audit-log?limit=1')).items[0]?.id ?? 0;

  const circle = { type: 'circle', coordinates: [[22.5, 114]], radius_m: 100 };
  it.each([
    ['drivers', 'drivers', { name: 'Ann Secret', phone_number: '+14155550123' }, { fields: ['name', 'phone_number'] }],
    ['geofences', 'geofences', { name: 'Yard', ...circle }, { name: 'Yard' }],
    ['routes', 'routes', { name: 'Tour', ...wayOf }, { name: 'Tour' }],
    ['vehicle-groups', 'vehicle_groups', { name: 'North' }, { name: 'North' }],
  ])('has one entry per change of %s, with the names of the changed fields', async (path, type, body, created) => {
    const before = await newestId();
    const { id } = (await owner.post(`/api/${path}`, body)).data;
    const change = { name: 'Other', description: 'Secret' };
    const fields = path === 'drivers' ? { name: 'Other' } : change;
    expect((await owner.put(`/api/${path}/${id}`, fields)).status).toBe(200);
    expect((await owner.delete(`/api/${path}/${id}`)).status).toBe(200);
    const by = { user_id: harness.ours.owner.id, target: { type, id } };
    const entries = await entriesAfter(before);
    expect(entries).toMatchObject([
      { ...by, action: `${path}.create`, detail: created },
      { ...by, action: `${path}.update`, detail: { fields: Object.keys(fields) } },
      { ...by, action: `${path}.delete` },
    ]);
    expect(JSON.stringify(entries)).not.toMatch(/Secret|5550123/);
  });

  it('has one entry per change of preferences, with the user who changed them', async () => {
    const viewer = await harness.user('viewer');
    const vehicle = (await owner.post('/api/vehicles', { vehicle_no: `P${newImei()}` })).data;
    const before = await newestId();
    expect((await harness.as(viewer).put('/api/user-preferences/me', { language: 'es' })).status).toBe(200);
    const path = `/api/notifications/update-preferences/${vehicle.id}`;
    expect((await owner.post(path, { notification_types: ['sos'] })).status).toBe(200);
    expect(await entriesAfter(before)).toMatchObject([
      { user_id: viewer.id, action: 'user_preferences.update', detail: { parts: ['language'] } },
      { user_id: harness.ours.owner.id, action: 'notification_preferences.update', target: { id: vehicle.id } },
    ]);
  });

  it('names the user of each entry until the user is deleted', async () => {
    const [first, second] = await Promise.all([
      harness.user('viewer', harness.ours, { name: 'Ann Thomas' }),
      harness.user('viewer', harness.ours, { name: 'Ravi Menon' }),
    ]);
    const before = await newestId();
    for (const [user, language] of [
      [first, 'es'],
      [second, 'zh'],
      [first, 'en'],
    ] as const)
      expect((await harness.as(user).put('/api/user-preferences/me', { language })).status).toBe(200);
    const names = async () => {
      const entries = await entriesAfter(before);
      return entries
        .filter(({ action }) => action === 'user_preferences.update')
        .map(({ user_id, user_name }) => [user_id, user_name]);
    };
    expect(await names()).toEqual([
      [first.id, 'Ann Thomas'],
      [second.id, 'Ravi Menon'],
      [first.id, 'Ann Thomas'],
    ]);
    expect((await owner.delete(`/api/users/${first.id}`)).status).toBe(200);
    expect(await names()).toEqual([
      [first.id, null],
      [second.id, 'Ravi Menon'],
      [first.id, null],
    ]);
  });

  it('has no entry for a rejected change', async () => {
    const before = await newestId();
    const { id } = (await owner.post('/api/vehicle-groups', { name: 'Refused' })).data;
    expect((await owner.put(`/api/vehicle-groups/${id}`, { name: 'Late' }, { 'if-match': '"99"' })).status).toBe(412);
    expect((await owner.put('/api/drivers/999999', { name: 'Nobody' })).status).toBe(404);
    expect(await entriesAfter(before)).toMatchObject([{ action: 'vehicle-groups.create' }]);
  });
});
