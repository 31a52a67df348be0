import { hasMongod, MongoReplicaSet, waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { type Database, isDatabaseUnavailable, openDatabase } from './mongo.ts';

// Three real servers and their elections on a machine that may be busy.
jest.setTimeout(300_000);

interface Counter {
  readonly _id: number;
  readonly value: number;
}

const former = { user: 'fleet', password: 'p@ss/word:1' };
const next = { user: 'fleet-2', password: 'another' };
const writers = 10;

/** Increments one counter until the signal; returns the acknowledged and the failed increments. */
async function writeUntil(database: Database, _id: number, signal: AbortSignal) {
  const counters = database.collection<Counter>('counters');
  const errors: unknown[] = [];
  let acknowledged = 0;
  while (!signal.aborted) {
    try {
      await counters.updateOne({ _id }, { $inc: { value: 1 } }, { upsert: true });
      acknowledged += 1;
    } catch (error) {
      errors.push(error);
    }
  }
  return { _id, acknowledged, errors };
}

(hasMongod() ? describe : describe.skip)('a MongoDB replica set', () => {
  let servers: MongoReplicaSet;
  beforeAll(async () => {
    servers = await MongoReplicaSet.start();
    await servers.createUser(former);
  });
  afterAll(() => servers?.remove());

  it('loses no acknowledged write with its primary, and applies a repeated write once', async () => {
    const database = openDatabase(servers.urlFor(former), { appName: 'storage-test' });
    const end = new AbortController();
    const writing = Promise.all(Array.from({ length: writers }, (_, id) => writeUntil(database, id, end.signal)));
    const counters = database.collection<Counter>('counters');
    const readSum = async (): Promise<number> =>
      (await counters.find({}).toArray()).reduce((sum, { value }) => sum + value, 0);
    try {
      await waitFor(async () => (await readSum()) > writers * 10);
      const { waitForElection } = await servers.killPrimary();
      await waitForElection();
      const sum = await waitFor(() => readSum().catch(() => 0));
      await waitFor(async () => (await readSum()) > sum + writers * 10, 'more writes');
      end.abort();
      const results = await writing;
      const stored = new Map((await counters.find({}).toArray()).map(({ _id, value }) => [_id, value]));
      for (const { _id, acknowledged, errors } of results) {
        expect(errors.filter((error) => !isDatabaseUnavailable(error))).toEqual([]);
        // A write without an answer may have been applied.
        expect(stored.get(_id)).toBeGreaterThanOrEqual(acknowledged);
        expect(stored.get(_id)).toBeLessThanOrEqual(acknowledged + errors.length);
      }
      await servers.restart();
    } finally {
      end.abort();
      await database.close();
    }
  });

  it('accepts two users while credentials are rotated, and refuses the former one afterwards', async () => {
    await servers.createUser(next);
    const databases = [former, next].map((user) => openDatabase(servers.urlFor(user), { appName: 'storage-test' }));
    const [before, after] = databases as [Database, Database];
    try {
      await before.collection<{ _id: string }>('rotated').insertOne({ _id: 'before' });
      await after.collection<{ _id: string }>('rotated').insertOne({ _id: 'after' });
      expect(await before.collection('rotated').countDocuments()).toBe(2);
      await servers.dropUser(former.user);
      await after.collection<{ _id: string }>('rotated').insertOne({ _id: 'later' });
      const late = openDatabase(servers.urlFor(former), { appName: 'storage-test' });
      databases.push(late);
      expect(await late.ping(10_000)).toBe(false);
      // Connections of a dropped user end with it.
      await expect(before.collection('rotated').countDocuments()).rejects.toThrow(/auth|not authorized/i);
    } finally {
      await Promise.all(databases.map((database) => database.close()));
    }
  });
});
