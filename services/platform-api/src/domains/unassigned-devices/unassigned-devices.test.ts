import { publish, sessionChanged } from '@fleet/bus';
import { terminalRegistration } from '@fleet/jt808';
import { waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { deviceDetailHandlers } from '../../event-consumers/device-details.ts';
import {
  type OnlineStatusConsumer,
  startOnlineStatusConsumer,
} from '../../event-consumers/online-status/online-status-consumer.ts';
import { FakeTerminals, newImei } from '../../testing/fake-terminals.ts';
import { lastLocationAt, writeLastLocation } from '../../testing/last-location.ts';
import { type Client, type Data, PlatformHarness } from '../../testing/platform-harness.ts';
import type { Account } from '../accounts/schema.ts';
import type { UnassignedDevice } from './schema.ts';
import { findUnassigned, maxUnassigned, retentionMs, saveUnassigned, trimUnassigned } from './store.ts';
import { recordUnassigned, sweepUnassigned } from './use-cases.ts';

// Uses real servers on a machine that may be busy.
jest.setTimeout(60_000);

let harness: PlatformHarness;
let operator: Client;
let owner: Client;
let onlineStatus: OnlineStatusConsumer;
let terminals: FakeTerminals;
beforeAll(async () => {
  harness = await PlatformHarness.open();
  operator = harness.as(await harness.user('superadmin'));
  owner = harness.as(harness.ours.owner);
  onlineStatus = startOnlineStatusConsumer(harness.deps, {
    pollIntervalMs: 3_600_000,
    firstReportTimeoutMs: 0,
  });
  terminals = new FakeTerminals(harness.deps);
});
afterAll(async () => {
  await onlineStatus?.stop();
  await terminals?.close();
  await harness?.close();
});

const path = '/api/unassigned-devices';
const listed = async (imei: string, query = ''): Promise<Data | undefined> =>
  (await operator.get(`${path}?limit=200${query}`)).items.find((item) => item['imei'] === imei);
const lookUp = (client: Client, imei: string) => client.post(`${path}/lookup`, { imei });
const seen = async (imei: string, seenMs = Date.now()): Promise<string> => {
  await recordUnassigned(harness.deps, imei, seenMs, { edition: '2019' });
  return imei;
};
const stored = (imei: string): Promise<UnassignedDevice | null> => findUnassigned(harness.deps.database, imei);
const claim = (client: Client, imei: string) => client.post('/api/vehicles', { vehicle_no: `C${imei}`, imei });

async function connects(imei: string): Promise<void> {
  await terminals.connect(imei);
  publish(harness.bus, sessionChanged, { imei, isOnline: true, atMs: Date.now() });
}

const registration = { provinceId: 44, cityId: 300, manufacturerId: 'MAKER', terminalModel: 'M1', plateColor: 1 };
const registrations = deviceDetailHandlers.filter(({ definition }) => definition === terminalRegistration);
const registers = async (imei: string, plateNo: string): Promise<void> =>
  registrations[0]?.handle(harness.deps, {
    imei,
    edition: '2013',
    body: { ...registration, terminalId: 'T1', plateNo },
    receivedAtMs: Date.now(),
  });

describe('unassigned terminal', () => {
  it('is listed with the details that it sent once it connects and registers', async () => {
    const imei = newImei();
    await connects(imei);
    await waitFor(async () => (await stored(imei)) !== null);
    await registers(imei, 'KA01AB1234');
    await writeLastLocation(harness.deps, lastLocationAt(imei, 22.5, 114.1));
    expect(await listed(imei)).toEqual({
      id: expect.any(Number),
      imei,
      protocol: 'jt808-2013',
      manufacturer: 'MAKER',
      model: 'M1',
      terminal_id: 'T1',
      plate: 'KA01AB1234',
      first_seen: expect.any(String),
      last_seen: expect.any(String),
      connected: true,
      location: expect.objectContaining({ latitude: 22.5, longitude: 114.1, vehicle_id: null }),
    });
  });

  it('leaves the list when its number is assigned to a vehicle, and is not recorded again', async () => {
    const [created, changed] = [await seen(newImei()), await seen(newImei())];
    expect((await claim(owner, created)).status).toBe(201);
    const { id } = (await owner.post('/api/vehicles', { vehicle_no: `L${changed}` })).data;
    expect((await owner.put(`/api/vehicles/${id}`, { imei: changed })).status).toBe(200);
    for (const imei of [created, changed]) {
      expect(await stored(imei)).toBeNull();
      await seen(imei);
      await registers(imei, 'OTHER');
      expect(await stored(imei)).toBeNull();
    }
  });

  it('has no position from the time when it belonged to a vehicle', async () => {
    const imei = newImei();
    await writeLastLocation(harness.deps, {
      ...lastLocationAt(imei, 22.5, 114.1),
      serverTimestamp: Date.now() - 60_000,
    });
    await seen(imei);
    expect(await listed(imei)).toMatchObject({ location: null, connected: false });
  });

  it('is sorted by when it was first or last seen', async () => {
    const [early, late] = [await seen(newImei(), Date.now() - 60_000), await seen(newImei())];
    await seen(early, Date.now() + 60_000);
    const order = async (sort: string) =>
      (await operator.get(`${path}?limit=200&sort=${sort}`)).items
        .map((item) => item['imei'])
        .filter((imei) => imei === early || imei === late);
    expect(await order('first_seen')).toEqual([early, late]);
    expect(await order('-first_seen')).toEqual([late, early]);
    expect(await order('last_seen')).toEqual([late, early]);
  });
});

describe('access to unassigned terminals', () => {
  it('is limited to the operator if there are several accounts, and includes owners and admins if there is one', async () => {
    const imei = await seen(newImei());
    const admin = harness.as(await harness.user('admin'));
    for (const client of [owner, admin]) expect(await client.get(path)).toMatchObject({ status: 403 });
    const accounts = harness.records.collection<Account>('accounts');
    const others = await accounts.find({ _id: { $ne: harness.ours.accountId }, deletedAt: null }).toArray();
    const setDeleted = async (deletedAt: Date | null): Promise<void> => {
      for (const { _id } of others) await accounts.updateOne({ _id }, { $set: { deletedAt } });
    };
    await setDeleted(new Date());
    try {
      for (const client of [owner, admin])
        expect((await client.get(`${path}?limit=200`)).items.map((item) => item['imei'])).toContain(imei);
    } finally {
      await setDeleted(null);
    }
    expect(await owner.get(path)).toMatchObject({ status: 403 });
  });

  it('by exact number is open to fleet users, except for terminals of vehicles of any account', async () => {
    const imei = await seen(newImei());
    expect((await lookUp(owner, `00${imei}`)).data).toMatchObject({ imei, protocol: 'jt808-2019' });
    for (const other of [imei.slice(0, -1), `${imei}0`, 'x', '.*'])
      expect([other, (await lookUp(owner, other)).status]).toEqual([other, 404]);
    const theirs = newImei();
    expect((await claim(harness.as(harness.theirs.owner), theirs)).status).toBe(201);
    // A race with the assignment could leave such a record.
    await saveUnassigned(harness.records, theirs, new Date(), {});
    expect((await lookUp(owner, theirs)).status).toBe(404);
    await sweepUnassigned(harness.deps);
    expect(await stored(theirs)).toBeNull();
    expect(await stored(imei)).not.toBeNull();
  });
});

describe('stored unassigned terminals', () => {
  it('are removed 30 days after they were last seen, unless they are connected', async () => {
    const [silent, connected] = [newImei(), newImei()];
    const longAgo = new Date(Date.now() - retentionMs - 1_000);
    for (const imei of [silent, connected]) await saveUnassigned(harness.records, imei, longAgo, {});
    await terminals.connect(connected);
    await sweepUnassigned(harness.deps);
    expect([await stored(silent), (await stored(connected))?._id]).toEqual([null, connected]);
  });

  it('have texts cut to 64 characters', async () => {
    const imei = newImei();
    await registers(imei, 'P'.repeat(500));
    expect((await stored(imei))?.plate).toBe('P'.repeat(64));
  });

  it('are limited in number; the cleanup job removes those that were last seen longest ago', async () => {
    const { database } = harness.deps;
    const collection = database.collection<UnassignedDevice>('unassigned_devices');
    const blank = { edition: null, manufacturer: null, model: null, terminalId: null, plate: null };
    const known = await seen(newImei());
    const silentAt = new Date(Date.now() - 3_600_000);
    const count = maxUnassigned - (await collection.countDocuments({}));
    const flood = Array.from({ length: count }, (_, at) => ({
      _id: `F${String(at).padStart(6, '0')}`,
      number: 1_000_000 + at,
      ...blank,
      firstSeen: silentAt,
      lastSeen: silentAt,
    }));
    await collection.insertMany(flood);
    const refused = await seen(newImei());
    expect(await stored(refused)).toBeNull();
    await trimUnassigned(database);
    expect(await collection.countDocuments({})).toBeLessThan(maxUnassigned);
    expect(await stored(known)).not.toBeNull();
    await seen(refused);
    expect(await stored(refused)).not.toBeNull();
  });
});
