import { randomBytes } from 'node:crypto';
import { createLogger } from '@fleet/service-kit';
import { type Database, Lease, openDatabase } from '@fleet/storage';
import { testEnv, waitFor } from '@fleet/testing';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { vehicleDefaults } from '../domains/vehicles/rules.ts';
import { vehicleCollection } from '../domains/vehicles/store.ts';
import { indexes } from '../store/indexes.ts';
import { type Migration, migrate } from '../store/migrate.ts';
import { RecordStore } from '../store/record-store.ts';
import { migrations } from './migrations.ts';

// Uses real servers, which respond late on a busy machine.
jest.setTimeout(60_000);

const log = createLogger('test', 'silent');
let database: Database;
let replica: Database;

beforeEach(() => {
  const url = new URL(testEnv('MONGODB_URL'));
  url.pathname = `/migrations_${randomBytes(6).toString('hex')}`;
  [database, replica] = [openDatabase(url.href, { appName: 'test' }), openDatabase(url.href, { appName: 'test' })];
});
afterEach(async () => {
  await database.db.dropDatabase();
  await database.close();
  await replica.close();
});

/** Adds a field to all vehicles, as a migration of a later release does. */
const setLaterField = (to: Database) => to.collection('vehicles').updateMany({}, { $set: { addedByLaterRelease: 1 } });

const users = () => database.collection<{ _id: number }>('users');

describe('migrate', () => {
  it('fills in fields that records of the previous release lack, and creates the indexes', async () => {
    await users().insertOne({ _id: 1, email: 'a@b', role: 'owner', accountId: 1 } as never);
    await users().insertOne({ _id: 2, email: 'c@d', role: 'viewer', disabled: true, language: 'de' } as never);
    await migrate(database, log, migrations);
    expect(await users().findOne({ _id: 1 })).toMatchObject({
      email: 'a@b',
      disabled: false,
      totp: null,
      language: 'en',
    });
    expect(await users().findOne({ _id: 2 })).toMatchObject({ disabled: true, language: 'de' });
    const created = await database.collection('audit_log').indexes();
    expect(created.map(({ key }) => Object.keys(key))).toContainEqual([
      'accountId',
      '_id',
      'action',
      'userId',
      'createdAt',
    ]);
    await migrate(database, log, migrations);
  });

  it('replaces the indexes of a previous release', async () => {
    const drivers = database.collection('drivers');
    await drivers.createIndex({ accountId: 1, _id: -1 });
    await migrate(database, log, migrations);
    const names = (await drivers.indexes()).map(({ name }) => name);
    expect(names).toContain('accountId_1__id_-1_status_1');
    expect(names).not.toContain('accountId_1__id_-1');
  });

  it('completes the vehicles of the first release and reserves their numbers', async () => {
    const old = {
      accountId: 1,
      ownerUserId: 1,
      vehicleNo: 'AB12',
      imei: '4711',
      cameraUtcOffset: '+05:30',
      version: 1,
    };
    await database.collection<{ _id: number }>('vehicles').insertOne({ _id: 7, ...old });
    await migrate(database, log, migrations);
    const vehicles = vehicleCollection(new RecordStore(database));
    expect(await vehicles.find({ accountId: 1 }, 7)).toMatchObject({
      ...vehicleDefaults,
      ...old,
      name: 'AB12',
      recordedImei: '4711',
    });
    const again = { ...vehicleDefaults, ownerUserId: 1, vehicleNo: 'AB12' };
    await expect(vehicles.insert({ accountId: 1 }, again)).rejects.toMatchObject({ code: 'duplicate' });
  });

  it('changes no field that a document already has, so that both releases may write during a roll-out', async () => {
    const written = { addedByLaterRelease: 1, status: 'suspended', timezone: 'Asia/Tokyo', name: 'Kept', version: 3 };
    const media = { previewDueAt: new Date(5), preview: { bytes: 1 }, previewAttempts: 2 };
    const user = { totp: { isConfirmed: true }, disabled: true, language: 'zh', phoneVerifiedAt: new Date(1) };
    const account = { dealerAccountId: 4, city: 'Lyon', country: 'FR', deletedAt: new Date(2), isEnded: true };
    const documents = {
      accounts: { ...written, ...account, erasedAt: new Date(3) },
      users: { ...written, ...user, phoneNumber: '+1', canViewVideo: false, lastLoginAt: new Date(4) },
      api_keys: { ...written, userId: 1, canMintTokens: true, sealedDashboardKey: 'sealed' },
      vehicles: { ...written, accountId: 1, vehicleNo: 'AB12', imei: '4711' },
      media: { ...written, ...media },
    };
    for (const [collection, document] of Object.entries(documents))
      await database.collection<{ _id: number }>(collection).insertOne({ _id: 7, ...document });
    await migrate(database, log, migrations);
    for (const [collection, document] of Object.entries(documents)) {
      const stored = await database.collection<{ _id: number }>(collection).find().toArray();
      expect(stored).toEqual([{ _id: 7, ...document }]);
    }
  });

  it('accepts a database that a later release has migrated', async () => {
    const later = { id: 1_000, name: 'of the next release', up: setLaterField };
    await migrate(database, log, [...migrations, later]);
    expect(await migrate(replica, log, migrations)).toMatchObject({ applied: 1_000 });
    const vehicles = vehicleCollection(new RecordStore(replica));
    const created = await vehicles.insert({ accountId: 1 }, { ...vehicleDefaults, ownerUserId: 1, vehicleNo: 'AB12' });
    await setLaterField(database);
    await vehicles.update({ accountId: 1 }, created._id, { name: 'Changed by the former release' });
    expect(await vehicles.find({ accountId: 1 }, created._id)).toMatchObject({
      name: 'Changed by the former release',
      addedByLaterRelease: 1,
    });
  });

  it('runs each migration once and in order, by one of several concurrent replicas', async () => {
    const ran: string[] = [];
    let concurrent = 0;
    const list: Migration[] = [2, 1, 3].map((id) => ({
      id,
      name: `no ${id}`,
      up: async (to) => {
        concurrent += 1;
        ran.push(`${id} (${concurrent})`);
        await to.ping();
        concurrent -= 1;
      },
    }));
    await Promise.all([database, replica, database].map((each) => migrate(each, log, list)));
    expect(ran).toEqual(['1 (1)', '2 (1)', '3 (1)']);
    await migrate(replica, log, [...list, { id: 4, name: 'no 4', up: async () => ran.push('4') }]);
    expect(ran).toHaveLength(4);
  });

  it('does not record a failed migration, and runs it again', async () => {
    let times = 0;
    const list: Migration[] = [
      {
        id: 1,
        name: 'fails first',
        up: async () => {
          times += 1;
          if (times === 1) throw new Error('not yet');
        },
      },
    ];
    await expect(migrate(database, log, list)).rejects.toThrow('not yet');
    await migrate(replica, log, list);
    expect(times).toBe(2);
  });

  it('takes over the expired lease of a crashed replica, and waits for a held lease', async () => {
    const leases = database.collection<{ _id: string }>('leases');
    await leases.insertOne({ _id: 'migrations', holder: 'dead', expiresAt: new Date(Date.now() - 1) } as never);
    await migrate(database, log, migrations);
    const held = await Lease.acquire(database, 'migrations');
    let isDone = false;
    const list = [...migrations, { id: 1_000, name: 'of the next release', up: async () => undefined }];
    const waiting = migrate(replica, log, list).then(() => (isDone = true));
    await waitFor(async () => (await leases.countDocuments()) === 1);
    expect(isDone).toBe(false);
    held.assertHeld();
    await held.release();
    await waiting;
    const stopped = new AbortController();
    const other = await Lease.acquire(database, 'migrations');
    const later = [...list, { id: 1_001, name: 'of the release after', up: async () => undefined }];
    const abandoned = migrate(replica, log, later, { signal: stopped.signal });
    stopped.abort();
    await expect(abandoned).rejects.toThrow(/abort/i);
    await other.release();
  });

  it('waits for no lease if no migration is missing', async () => {
    await migrate(database, log, migrations);
    const held = await Lease.acquire(database, 'migrations');
    const newest = Math.max(...migrations.map(({ id }) => id));
    expect(await migrate(replica, log, migrations)).toEqual({ applied: newest, required: newest });
    await held.release();
  });

  it('creates indexes only after their list has changed', async () => {
    const listIndexKeys = async (collection: string): Promise<object[]> =>
      (await database.collection(collection).indexes()).map(({ key }) => key);
    const list: Migration[] = [];
    const first = [{ collection: 'things', keys: { accountId: 1, _id: -1 } }] as const;
    await migrate(database, log, list, { indexes: first });
    expect(await listIndexKeys('things')).toEqual([{ _id: 1 }, { accountId: 1, _id: -1 }]);
    await database.collection('things').dropIndexes();
    await migrate(database, log, list, { indexes: first });
    expect(await listIndexKeys('things')).toEqual([{ _id: 1 }]);
    await migrate(replica, log, list, { indexes: [...first, { collection: 'things', keys: { createdAt: 1 } }] });
    expect(await listIndexKeys('things')).toEqual([{ _id: 1 }, { accountId: 1, _id: -1 }, { createdAt: 1 }]);
  });

  it('creates the other indexes if the server refuses one, and retries that one at the next start', async () => {
    const refused = { collection: 'things', keys: { place: 'no such kind' as never } };
    const required = [refused, { collection: 'things', keys: { createdAt: 1 } }] as const;
    await migrate(database, log, [], { indexes: required });
    const created = await database.collection('things').indexes();
    expect(created.map(({ key }) => key)).toEqual([{ _id: 1 }, { createdAt: 1 }]);
    expect(await database.collection('migrations').countDocuments()).toBe(0);
  });

  it('has unique ids and names, and no duplicate indexes', () => {
    expect(new Set(migrations.map(({ id }) => id)).size).toBe(migrations.length);
    expect(new Set(indexes.map((index) => JSON.stringify(index))).size).toBe(indexes.length);
  });
});
