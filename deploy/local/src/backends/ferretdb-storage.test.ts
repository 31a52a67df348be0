import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { freePort, testEnv, waitFor } from '@fleet/testing';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Collection, type Db, type Document, Long, MongoBulkWriteError, MongoClient } from 'mongodb';
import { probe } from './probe.ts';

const testTimeoutMs = 60_000;
const times = <T>(count: number, create: (index: number) => T): T[] =>
  Array.from({ length: count }, (_unused, i) => create(i));

interface Entry extends Document {
  _id: number;
}

let dir: string;
let port: number;
let server: ChildProcess;
let client: MongoClient;

async function start(): Promise<Db> {
  server = spawn(testEnv('FERRETDB_BIN'), ['-listen', `127.0.0.1:${port}`, '-dir', dir], { stdio: 'ignore' });
  await waitFor(() => probe('mongodb', '127.0.0.1', port));
  client = await new MongoClient(`mongodb://127.0.0.1:${port}/`, { retryWrites: false }).connect();
  return client.db('earlier');
}

async function stop(signal: NodeJS.Signals): Promise<void> {
  const exited = once(server, 'exit');
  server.kill(signal);
  await exited;
  await client.close(true);
}

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'fleet-storage-'));
  port = await freePort();
});
afterEach(async () => {
  if (server.exitCode === null && server.signalCode === null) await stop('SIGKILL');
  rmSync(dir, { recursive: true, force: true });
}, testTimeoutMs);

describe('a SQLite file of an earlier version', () => {
  const earlier = gunzipSync(readFileSync(new URL('fixtures/earlier-version.sqlite.gz', import.meta.url)));

  it(
    'is imported once with its documents and indexes, and is not modified',
    async () => {
      const file = join(dir, 'earlier.sqlite');
      writeFileSync(file, earlier);
      const database = await start();
      const vehicles = database.collection<Entry>('vehicles');
      expect(await vehicles.countDocuments()).toBe(30);
      expect(await vehicles.findOne({ _id: 5 }, { promoteLongs: false })).toMatchObject({
        accountId: 1,
        name: 'Vehicle 4',
        big: Long.fromString('9007199254740993'),
        speed: 2,
        at: new Date(1.7e12 + 4),
        off: null,
        groupIds: [4, 5],
        nested: { x: 4, list: [{ y: 'ü' }] },
        on: true,
      });
      expect((await vehicles.indexes()).map((index) => index.name)).toEqual([
        '_id_',
        'accountId_1__id_-1',
        'clipKey_1',
      ]);
      await expect(vehicles.insertOne({ _id: 100, clipKey: 'key-3' })).rejects.toThrow(/E11000/);
      expect(await database.collection('states').countDocuments()).toBe(2);
      await vehicles.deleteMany({ accountId: 2 });
      await stop('SIGTERM');
      const again = (await start()).collection<Entry>('vehicles');
      expect(await again.countDocuments()).toBe(15);
      expect(readFileSync(file).equals(earlier)).toBe(true);
    },
    testTimeoutMs,
  );
});

describe('kill -9', () => {
  it(
    'loses no acknowledged write, and leaves indexes consistent with the documents',
    async () => {
      const writtenValues = new Map<number, number>();
      const removed = new Set<number>();
      for (let round = 0; round < 3; round++) {
        const entries = (await start()).collection<Entry>('entries');
        await entries.createIndex({ group: 1, value: -1 });
        const before = writtenValues.size;
        const write = async (writer: number): Promise<void> => {
          for (let n = 0; ; n++) {
            const _id = round * 1_000_000 + writer * 10_000 + n;
            await entries.insertOne({ _id, group: n % 3, value: 0 });
            writtenValues.set(_id, 0);
            await entries.bulkWrite([
              { updateOne: { filter: { _id }, update: { $set: { value: 1 } } } },
              { updateOne: { filter: { _id, value: 1 }, update: { $inc: { value: 1 } } } },
            ]);
            writtenValues.set(_id, 2);
            if (n % 5 !== 4) continue;
            await entries.deleteOne({ _id });
            removed.add(_id);
          }
        };
        const outcomes = Promise.allSettled(times(10, write));
        await waitFor(() => Promise.resolve(writtenValues.size > before + 100));
        await stop('SIGKILL');
        await outcomes;
      }
      const entries = (await start()).collection<Entry>('entries');
      const found = new Map((await entries.find().toArray()).map((one) => [one._id, Number(one['value'])]));
      // The process may have been killed between a write and its acknowledgement: a value may be newer, or a document
      // deleted.
      const isLost = ([_id, value]: [number, number]): boolean =>
        found.has(_id) ? (found.get(_id) ?? 0) < value : _id % 5 !== 4;
      expect([...writtenValues].filter(isLost)).toEqual([]);
      expect([...removed].filter((_id) => found.has(_id))).toEqual([]);
      for (const hint of [{ group: 1, value: -1 }, { _id: 1 }]) {
        const indexed = await entries.find({}, { hint }).toArray();
        expect(indexed.map((one) => one._id).toSorted((a, b) => a - b)).toEqual(
          [...found.keys()].toSorted((a, b) => a - b),
        );
      }
    },
    testTimeoutMs,
  );
});

describe('indexes', () => {
  let entries: Collection<Entry>;
  beforeEach(async () => {
    entries = (await start()).collection<Entry>('entries');
  });

  it('return a document once if several values of an array match, in the order of the next field', async () => {
    await entries.createIndex({ tags: 1, at: -1 });
    await entries.insertMany(times(9, (i) => ({ _id: i, tags: [i % 3, 'x', 'y'], at: i })));
    const filter = { tags: { $in: [0, 1, 'x', 'y'] } };
    const found = await entries.find(filter).sort({ at: -1 }).hint({ tags: 1, at: -1 }).toArray();
    expect(found.map((one) => one._id)).toEqual([8, 7, 6, 5, 4, 3, 2, 1, 0]);
    expect(await entries.countDocuments(filter)).toBe(9);
  });

  it('merge the ranges of two lists into one sorted result', async () => {
    await entries.createIndex({ a: 1, b: 1, c: 1 });
    await entries.insertMany(times(18, (i) => ({ _id: i, a: i % 2, b: i % 3, c: -i })));
    const filter = { a: { $in: [0, 1] }, b: { $in: [0, 2] } };
    for (const sort of [{ c: 1 }, { b: 1, c: 1 }, { a: -1, b: -1, c: -1 }] as const) {
      const find = (hint: Document) => entries.find(filter).sort(sort).hint(hint).toArray();
      expect(await find({ a: 1, b: 1, c: 1 })).toEqual(await find({ $natural: 1 }));
    }
  });

  it('reject a second document with a unique value, on insert and on update', async () => {
    await entries.createIndex({ key: 1 }, { unique: true });
    await entries.insertMany(times(3, (i) => ({ _id: i, key: i })));
    await expect(entries.insertOne({ _id: 9, key: 2 })).rejects.toThrow(/E11000/);
    await expect(entries.updateOne({ _id: 0 }, { $set: { key: 1 } })).rejects.toThrow(/E11000/);
    const outcome = await entries
      .bulkWrite(
        [
          { updateOne: { filter: { _id: 0 }, update: { $set: { key: 1 } } } },
          { updateOne: { filter: { _id: 2 }, update: { $set: { key: 7 } } } },
        ],
        { ordered: false },
      )
      .catch((error: unknown) => error);
    expect(outcome).toBeInstanceOf(MongoBulkWriteError);
    expect((await entries.find().sort({ _id: 1 }).toArray()).map((one) => Number(one['key']))).toEqual([0, 1, 7]);
  });

  it('are created alongside several existing ones', async () => {
    const keys = [{ a: 1 }, { b: 1 }, { c: 1 }, { d: 1 }] as const;
    await entries.createIndexes(keys.slice(1, 3).map((key) => ({ key })));
    await entries.createIndexes(keys.map((key) => ({ key })));
    const names = (await entries.indexes()).map((one) => one.name);
    expect(new Set(names)).toEqual(new Set(['_id_', 'a_1', 'b_1', 'c_1', 'd_1']));
  });

  it('are named in the plan of a query, as is a sort without an index', async () => {
    await entries.createIndex({ a: 1, b: -1 });
    await entries.insertMany(times(3, (i) => ({ _id: i, a: 1, b: i })));
    const explainPlan = async (sort: Record<string, 1 | -1>): Promise<unknown> =>
      (await entries.find({ a: 1 }).sort(sort).explain('queryPlanner'))['queryPlanner'].winningPlan;
    expect(await explainPlan({ b: 1 })).toMatchObject({
      stage: 'FETCH',
      inputStage: { stage: 'IXSCAN', indexName: 'a_1_b_-1', keyPattern: { a: 1, b: -1 } },
    });
    expect(await explainPlan({ c: 1 })).toMatchObject({
      stage: 'SORT',
      inputStage: { inputStage: { stage: 'IXSCAN' } },
    });
    expect((await entries.find({ b: 1 }).explain('queryPlanner'))['queryPlanner'].winningPlan).toMatchObject({
      stage: 'COLLSCAN',
    });
  });

  it('return all of a large result batch by batch while documents change', async () => {
    const text = 'x'.repeat(10_000);
    for (let i = 0; i < 2_500; i += 500) await entries.insertMany(times(500, (n) => ({ _id: i + n, text })));
    const seen: number[] = [];
    for await (const one of entries.find({}, { batchSize: 300 }).sort({ _id: 1 })) {
      if (seen.length === 0) await entries.deleteMany({ _id: { $gte: 1_000 } });
      seen.push(one._id);
    }
    expect(seen).toEqual(times(2_500, (i) => i));
    expect(await entries.countDocuments()).toBe(1_000);
  });
});
