import { randomBytes } from 'node:crypto';
import { type Database, openDatabase } from '@fleet/storage';
import { testEnv } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { withMethod } from '../testing/with-method.ts';
import { type AccountRecord, AccountRepository, substringFilter } from './account-repository.ts';
import { RecordStore } from './record-store.ts';

jest.setTimeout(30_000);

interface Driver extends AccountRecord {
  readonly name: string;
  readonly licenseNumber: string | null;
  readonly imei: string | null;
}

let database: Database;
let drivers: AccountRepository<Driver>;
const ours = { accountId: 1 };
const theirs = { accountId: 2 };
const driver = (name: string, more: Partial<Driver> = {}) => ({ name, licenseNumber: null, imei: null, ...more });

beforeAll(() => {
  const url = new URL(testEnv('MONGODB_URL'));
  url.pathname = `/account_records_${randomBytes(6).toString('hex')}`;
  database = openDatabase(url.href, { appName: 'account-records-test' });
  drivers = new AccountRepository(new RecordStore(database), 'drivers', {
    unique: { licenseNumber: 'account', imei: 'system' },
  });
});
afterAll(async () => {
  await database.db.dropDatabase();
  await database.close();
});

describe('AccountRepository', () => {
  it('does not read, change or remove records of another account', async () => {
    const created = await drivers.insert(ours, driver('Ann'));
    expect(created).toMatchObject({ accountId: 1, version: 1, name: 'Ann' });
    expect(await drivers.find(ours, created._id)).toEqual(created);
    expect(await drivers.find(theirs, created._id)).toBeNull();
    expect(await drivers.findMany(theirs, [created._id])).toEqual([]);
    expect(await drivers.findOne(theirs, { name: 'Ann', accountId: 1 })).toBeNull();
    expect(await drivers.update(theirs, created._id, { name: 'Eve' })).toBeNull();
    expect(await drivers.updateMany(theirs, { accountId: 1 }, { $set: { name: 'Eve' } })).toBe(0);
    expect(await drivers.remove(theirs, created._id)).toBeNull();
    expect(await drivers.find(ours, created._id)).toEqual(created);
  });

  it('reads single shared records of other accounts, and does not change them', async () => {
    const scope = { accountId: 11 };
    const own = await drivers.insert(scope, driver('Own'));
    const shared = await drivers.insert({ accountId: 12 }, driver('Shared'));
    const hidden = await drivers.insert({ accountId: 12 }, driver('Hidden'));
    const seen = { ...scope, sharedIds: [shared._id] };
    expect(await drivers.find(seen, shared._id)).toMatchObject({ name: 'Shared' });
    expect(await drivers.find(seen, hidden._id)).toBeNull();
    expect(await drivers.project(seen, ['name'], { name: { $ne: 'x' } })).toEqual(
      expect.arrayContaining([
        { _id: own._id, name: 'Own' },
        { _id: shared._id, name: 'Shared' },
      ]),
    );
    expect((await drivers.list(seen, {})).total).toBe(2);
    expect(await drivers.count(seen, { name: 'Shared' })).toBe(1);
    expect(await drivers.update(seen, shared._id, { name: 'Eve' })).toBeNull();
    expect(await drivers.remove(seen, shared._id)).toBeNull();
  });

  it('pages in a stable order, with the id breaking ties', async () => {
    const scope = { accountId: 3 };
    for (const name of ['c', 'a', 'b', 'a']) await drivers.insert(scope, driver(name));
    const paging = (page: number) => ({ limit: 3, offset: (page - 1) * 3, page });
    const sorting = { field: 'name', direction: 1 } as const;
    const first = await drivers.list(scope, { sorting, paging: paging(1) });
    const second = await drivers.list(scope, { sorting, paging: paging(2) });
    expect([...first.items, ...second.items].map(({ name }) => name)).toEqual(['a', 'a', 'b', 'c']);
    expect(first.items[0]?._id).toBeLessThan(first.items[1]?._id ?? 0);
    expect(first.total).toBe(4);
    const newest = await drivers.list(scope, { paging: paging(1) });
    expect(newest.items.map(({ name }) => name)).toEqual(['a', 'b', 'a']);
  });

  it('searches for text and escapes patterns', async () => {
    const scope = { accountId: 4 };
    for (const name of ['Smith (B+E)', 'smythe', 'Jones']) await drivers.insert(scope, driver(name));
    const search = async (text: string) =>
      (await drivers.list(scope, { where: substringFilter(text, ['name', 'licenseNumber']) })).items.map(
        ({ name }) => name,
      );
    expect(await search('(b+e')).toEqual(['Smith (B+E)']);
    expect(await search('SM')).toHaveLength(2);
    expect(await search('.*')).toEqual([]);
  });

  it('counts versions: returns 412 for an old one in If-Match, without it the last write wins', async () => {
    const { _id } = await drivers.insert(ours, driver('Ben'));
    expect(await drivers.update(ours, _id, { name: 'Benjamin' }, 1)).toMatchObject({ version: 2, name: 'Benjamin' });
    await expect(drivers.update(ours, _id, { name: 'Ben' }, 1)).rejects.toMatchObject({ code: 'version_mismatch' });
    expect(await drivers.update(ours, _id, { name: 'B' })).toMatchObject({ version: 3 });
    const race = await Promise.allSettled([1, 2, 3].map((n) => drivers.update(ours, _id, { name: `B${n}` }, 3)));
    expect(race.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  });

  it('removes only the version in If-Match, and returns 412 for another one', async () => {
    const { _id } = await drivers.insert(ours, driver('Bob', { imei: 'bob' }));
    await drivers.update(ours, _id, { name: 'Rob' });
    const removal = drivers.remove(ours, _id, { expectedVersion: 1 });
    await expect(removal).rejects.toMatchObject({ code: 'version_mismatch', headers: { ETag: '"2"' } });
    await expect(drivers.insert(ours, driver('Bill', { imei: 'bob' }))).rejects.toMatchObject({ code: 'duplicate' });
    expect(await drivers.remove(ours, _id, { where: { name: 'Bob' }, expectedVersion: 2 })).toBeNull();
    expect(await drivers.remove(theirs, _id, { expectedVersion: 1 })).toBeNull();
    const race = await Promise.allSettled([
      drivers.update(ours, _id, { name: 'Robert' }, 2),
      drivers.remove(ours, _id, { expectedVersion: 2 }),
    ]);
    const [changed, removed] = race.map((each) => each.status === 'fulfilled' && each.value !== null);
    expect(changed).toBe(!removed);
    expect(await drivers.remove(ours, 999_999, { expectedVersion: 1 })).toBeNull();
  });

  it('returns 412 instead of null for a version that appears just after the removal failed', async () => {
    const records = new RecordStore(database);
    const raced = new AccountRepository<Driver>(records, 'drivers');
    const { _id } = await raced.insert(ours, driver('Ivy'));
    const collection = records.collection.bind(records);
    jest.spyOn(records, 'collection').mockImplementation((name: string) => {
      const real = collection(name);
      const findOneAndDelete = async (...given: Parameters<typeof real.findOneAndDelete>) => {
        const removed = await real.findOneAndDelete(...given);
        await drivers.update(ours, _id, { name: 'Ivy L' });
        return removed;
      };
      return withMethod(real, 'findOneAndDelete', findOneAndDelete);
    });
    const removal = raced.remove(ours, _id, { expectedVersion: 2 });
    await expect(removal).rejects.toMatchObject({ code: 'version_mismatch', headers: { ETag: '"2"' } });
    expect(await drivers.find(ours, _id)).toMatchObject({ name: 'Ivy L' });
  });

  it('keeps values unique within the account or the system, and releases them with a change or the record', async () => {
    const first = await drivers.insert(ours, driver('Cid', { licenseNumber: 'L1', imei: '1' }));
    const duplicate = { code: 'duplicate', details: [{ path: '/license_number', message: 'is taken' }] };
    await expect(drivers.insert(ours, driver('Dan', { licenseNumber: 'L1' }))).rejects.toMatchObject(duplicate);
    const second = await drivers.insert(theirs, driver('Dan', { licenseNumber: 'L1', imei: '2' }));
    await expect(drivers.insert(theirs, driver('Eli', { imei: '1' }))).rejects.toMatchObject({ code: 'duplicate' });
    await expect(drivers.update(theirs, second._id, { imei: '1' })).rejects.toMatchObject({ code: 'duplicate' });
    await drivers.update(ours, first._id, { licenseNumber: 'L2', imei: '1' });
    await drivers.insert(ours, driver('Fay', { licenseNumber: 'L1' }));
    await drivers.update(ours, first._id, { imei: null });
    await drivers.update(theirs, second._id, { imei: '1' });
    await drivers.remove(theirs, second._id);
    await drivers.insert(ours, driver('Gil', { imei: '1' }));
    await drivers.insert(ours, driver('Hal'));
  });

  it('creates one of several concurrent records with one value, and takes over a value after a crash', async () => {
    const created = await Promise.allSettled(
      Array.from({ length: 10 }, (_unused, i) => drivers.insert(ours, driver(`racer ${i}`, { imei: 'race' }))),
    );
    expect(created.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await database
      .collection<{ _id: string; recordId: number; takenAt: Date }>('unique_values')
      .insertOne({ _id: 'drivers.imei:left', recordId: 999_999, takenAt: new Date(Date.now() - 60_000) });
    expect(await drivers.insert(ours, driver('Ida', { imei: 'left' }))).toMatchObject({ imei: 'left' });
  });
});
