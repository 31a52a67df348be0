import { randomBytes } from 'node:crypto';
import { ServerProcess, testEnv, waitFor } from '@fleet/testing';
import { describe, expect, it, jest } from '@jest/globals';
import { MongoServerError } from 'mongodb';
import { isDatabaseUnavailable, isDuplicateKey, openDatabase, writeInBulk } from './mongo.ts';
import { connectRedis, pingRedis } from './redis.ts';

// Real servers on a machine that may be busy.
jest.setTimeout(60_000);

describe('the database', () => {
  it('uses the database of the URL, replies to a ping, and identifies duplicate keys', async () => {
    const url = new URL(testEnv('MONGODB_URL'));
    url.pathname = `/storage_${randomBytes(6).toString('hex')}`;
    const database = openDatabase(url.href, { appName: 'storage-test' });
    try {
      expect(database.db.databaseName).toBe(url.pathname.slice(1));
      const things = database.collection<{ _id: string }>('things');
      await things.insertOne({ _id: 'a' });
      const refusal: unknown = await things.insertOne({ _id: 'a' }).catch((error: unknown) => error);
      expect([isDuplicateKey(refusal), isDuplicateKey(new Error('other'))]).toEqual([true, false]);
      expect(await database.ping()).toBe(true);
    } finally {
      await database.db.dropDatabase();
      await database.close();
    }
    expect(await database.ping()).toBe(false);
  });

  it.each([91, 189, 10_107, 11_600, 11_602, 13_435, 13_436])(
    'is unavailable if its server replies with %i: it is shutting down or not the primary',
    (code) => {
      expect(isDatabaseUnavailable(new MongoServerError({ message: 'not now', code }))).toBe(true);
    },
  );

  it('is available if it rejects a command', () => {
    expect(isDatabaseUnavailable(new MongoServerError({ message: 'E11000', code: 11_000 }))).toBe(false);
    expect(isDatabaseUnavailable(Object.assign(new Error('of another kind'), { code: 91 }))).toBe(false);
  });

  it('accepts more concurrent writes than the embedded server has connections', async () => {
    const url = new URL(testEnv('MONGODB_URL'));
    url.pathname = `/storage_${randomBytes(6).toString('hex')}`;
    const database = openDatabase(url.href, { appName: 'storage-test' });
    try {
      const things = database.collection<{ _id: number; value: number }>('things');
      const operations = Array.from({ length: 250 }, (_unused, _id) => ({
        updateOne: { filter: { _id }, update: { $set: { value: _id } }, upsert: true },
      }));
      await writeInBulk(things, operations);
      await writeInBulk(things, operations);
      expect(await things.countDocuments()).toBe(250);
    } finally {
      await database.db.dropDatabase();
      await database.close();
    }
  });

  it.each([
    ['', true],
    ['?retryWrites=true', true],
    ['?retryWrites=false', false],
  ])('follows the URL in whether writes are retried: %j', async (query, isRetried) => {
    const url = new URL(testEnv('MONGODB_URL'));
    url.pathname = `/storage_${randomBytes(6).toString('hex')}`;
    url.search = query;
    const database = openDatabase(url.href, { appName: 'storage-test' });
    try {
      expect(database.db.client.options.retryWrites).toBe(isRetried);
      // A server without a replica set receives no transaction numbers, which FerretDB does not know.
      const things = database.collection<{ _id: string; value?: number }>('things');
      await things.insertOne({ _id: 'a' });
      const changed = await things.findOneAndUpdate({ _id: 'a' }, { $inc: { value: 1 } }, { returnDocument: 'after' });
      expect(changed).toMatchObject({ value: 1 });
    } finally {
      await database.db.dropDatabase();
      await database.close();
    }
  });

  it('takes user, password and their database from the URL, also with special characters', async () => {
    const url =
      'mongodb://fleet-2:p%40ss%2Fword%3A1@db-0.example:27017,db-1.example:27017/fleet?authSource=admin&replicaSet=rs';
    const database = openDatabase(url, { appName: 'storage-test' });
    expect(database.db.client.options).toMatchObject({
      credentials: { username: 'fleet-2', password: 'p@ss/word:1', source: 'admin' },
      hosts: [{ host: 'db-0.example' }, { host: 'db-1.example' }],
      replicaSet: 'rs',
    });
    await database.close();
  });

  it('may start after its clients, stop and return', async () => {
    const server = await ServerProcess.mongo();
    const database = openDatabase(`mongodb://127.0.0.1:${server.port}/late`, { appName: 'storage-test' });
    const things = database.collection<{ _id: string }>('things');
    try {
      const startedAt = performance.now();
      expect(await database.ping(300)).toBe(false);
      expect(performance.now() - startedAt).toBeLessThan(5_000);
      await expect(things.findOne({ _id: 'a' })).rejects.toThrow(/ECONNREFUSED|closed/);
      await server.start();
      await waitFor(() => database.ping());
      await things.insertOne({ _id: 'a' });
      await server.kill();
      expect(await database.ping(500)).toBe(false);
      await server.start();
      await waitFor(() => database.ping());
      expect(await things.findOne({ _id: 'a' })).toEqual({ _id: 'a' });
    } finally {
      await database.close();
      await server.remove();
    }
  });

  it('closes immediately while its server is unavailable', async () => {
    const server = await ServerProcess.mongo();
    const database = openDatabase(`mongodb://127.0.0.1:${server.port}/never`, { appName: 'storage-test' });
    const startedAt = performance.now();
    await database.close();
    // A client that waited for the server would wait forever.
    expect(performance.now() - startedAt).toBeLessThan(30_000);
    await server.remove();
  });
});

describe('Redis', () => {
  it('fails commands immediately during an outage and works again afterwards', async () => {
    const server = await (await ServerProcess.redis()).start();
    const faults: unknown[] = [];
    const redis = await connectRedis(`redis://127.0.0.1:${server.port}`, {
      name: 'storage-test',
      onError: (error) => faults.push(error),
    });
    try {
      expect(await pingRedis(redis)).toBe(true);
      await server.kill();
      await waitFor(() => !redis.isReady);
      const tookMs: number[] = [];
      for (let i = 0; i < 5; i += 1) {
        const startedAt = performance.now();
        await expect(redis.get('a')).rejects.toThrow(/offline|closed/i);
        expect(await pingRedis(redis)).toBe(false);
        tookMs.push(performance.now() - startedAt);
      }
      // The best of five: a busy machine may pause any one of them.
      expect(Math.min(...tookMs)).toBeLessThan(1_000);
      await waitFor(() => faults.length > 0);
      await server.start();
      await waitFor(() => pingRedis(redis));
      await redis.set('a', '1');
      expect(await redis.get('a')).toBe('1');
    } finally {
      redis.destroy();
      await server.remove();
    }
  });

  it('waits for the first connection at start', async () => {
    const server = await ServerProcess.redis();
    const opening = connectRedis(`redis://127.0.0.1:${server.port}`, {
      name: 'storage-test',
      onError: () => undefined,
    });
    await server.start();
    const redis = await opening;
    expect(await pingRedis(redis)).toBe(true);
    redis.destroy();
    await server.remove();
  });
});
