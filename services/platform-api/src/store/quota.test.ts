import { randomBytes } from 'node:crypto';
import { type Database, Lease, openDatabase } from '@fleet/storage';
import { testEnv } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type AccountRecord, AccountRepository } from './account-repository.ts';
import { insertWithinQuota } from './quota.ts';
import { RecordStore } from './record-store.ts';

jest.setTimeout(60_000);

interface Thing extends AccountRecord {
  readonly name: string;
}

/** Two replicas: two connections, and so two local queues. */
let replicas: Database[];
const scope = { accountId: 1 };
const things = (database: Database) => new AccountRepository<Thing>(new RecordStore(database), 'things');
const limit = { name: 'things of account 1', limit: 10, message: 'Ten things.' };

beforeAll(() => {
  const url = new URL(testEnv('MONGODB_URL'));
  url.pathname = `/limits_${randomBytes(6).toString('hex')}`;
  replicas = [1, 2].map((no) => openDatabase(url.href, { appName: `limits-test-${no}` }));
});
afterAll(async () => {
  await replicas[0]?.db.dropDatabase();
  for (const database of replicas) await database.close();
});

const create = (database: Database): Promise<Thing> =>
  insertWithinQuota(
    database,
    limit,
    () => things(database).count(scope),
    () => things(database).insert(scope, { name: 'x' }),
  );

const outcomes = async (makers: readonly Promise<unknown>[]): Promise<string[]> =>
  (await Promise.allSettled(makers)).map((one) =>
    one.status === 'fulfilled' ? 'created' : String((one.reason as { code?: unknown }).code),
  );

describe('insertWithinQuota', () => {
  it('admits exactly as many concurrent inserts on several replicas as the quota allows', async () => {
    const [database] = replicas;
    if (database === undefined) throw new Error('no database');
    for (let no = 0; no < limit.limit - 1; no += 1) await create(database);
    const twenty = await outcomes(Array.from({ length: 20 }, (_unused, no) => create(replicas[no % 2] ?? database)));
    expect(twenty.filter((outcome) => outcome === 'created')).toHaveLength(1);
    expect(twenty.filter((outcome) => outcome === 'limit_reached')).toHaveLength(19);
    expect(await things(database).count(scope)).toBe(limit.limit);
    const [first] = await things(database).all(scope);
    await things(database).remove(scope, first?._id ?? 0);
    expect((await outcomes([create(database), create(database), create(database)])).toSorted()).toEqual([
      'created',
      'limit_reached',
      'limit_reached',
    ]);
  });

  it('releases the lock after a failed insert', async () => {
    const [database] = replicas;
    if (database === undefined) throw new Error('no database');
    const fails = insertWithinQuota(
      database,
      { ...limit, name: 'fails' },
      async () => 0,
      async () => {
        throw new Error('away');
      },
    );
    const next = insertWithinQuota(
      database,
      { ...limit, name: 'fails' },
      async () => 0,
      async () => 'created',
    );
    await expect(fails).rejects.toThrow('away');
    expect(await next).toBe('created');
    const lease = await Lease.acquire(database, 'limit: fails', { signal: AbortSignal.timeout(5_000) });
    await lease.release();
  });
});
