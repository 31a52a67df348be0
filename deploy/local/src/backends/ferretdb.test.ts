import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, ServerProcess, testEnv, waitFor } from '@fleet/testing';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Collection, MongoClient } from 'mongodb';
import { probe } from './probe.ts';

interface Entry {
  _id: string;
  n: number;
}

const poolSize = 20;
const testTimeoutMs = 60_000;
const opMsg = 2013;
const times = <T>(count: number, create: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => create(i));

let server: ServerProcess;
let client: MongoClient;
let entries: Collection<Entry>;
let databases = 0;

async function connectClient(options: { maxPoolSize: number }): Promise<MongoClient> {
  return new MongoClient(`mongodb://127.0.0.1:${server.port}/`, options).connect();
}

/** Opens the whole pool, so that the following requests do use this many connections. */
async function openPool(): Promise<void> {
  await Promise.all(times(poolSize * 2, () => client.db('admin').command({ ping: 1 })));
}

beforeAll(async () => {
  server = await (await ServerProcess.mongo()).start();
  client = await connectClient({ maxPoolSize: poolSize });
  await openPool();
}, testTimeoutMs);
afterAll(async () => {
  await client.close();
  await server.remove();
});
beforeEach(() => {
  entries = client.db(`front_${++databases}`).collection<Entry>('entries');
});

describe('concurrent writes of many connections', () => {
  it(
    'return a different value for each of 100 increments',
    async () => {
      await entries.insertOne({ _id: 'counter', n: 0 });
      const results = await Promise.all(
        times(100, () => entries.findOneAndUpdate({ _id: 'counter' }, { $inc: { n: 1 } }, { returnDocument: 'after' })),
      );
      const values = results.map((result) => result?.n ?? 0).toSorted((a, b) => a - b);
      expect(values).toEqual(times(100, (index) => index + 1));
    },
    testTimeoutMs,
  );

  it(
    'let one of 50 win a compare-and-set in every round',
    async () => {
      await entries.insertOne({ _id: 'state', n: 0 });
      for (let n = 0; n < 5; n++) {
        const results = await Promise.all(
          times(50, () => entries.updateOne({ _id: 'state', n }, { $set: { n: n + 1 } })),
        );
        expect(results.filter((result) => result.modifiedCount === 1)).toHaveLength(1);
      }
      expect(await entries.findOne({ _id: 'state' })).toEqual({ _id: 'state', n: 5 });
    },
    testTimeoutMs,
  );

  it(
    'create one document from 50 upserts and count them all',
    async () => {
      const results = await Promise.all(
        times(50, () => entries.updateOne({ _id: 'once' }, { $inc: { n: 1 } }, { upsert: true })),
      );
      expect(results.filter((result) => result.upsertedCount === 1)).toHaveLength(1);
      expect(await entries.find().toArray()).toEqual([{ _id: 'once', n: 50 }]);
    },
    testTimeoutMs,
  );

  it(
    'apply every operation of bulk writes, with concurrent inserts and deletes',
    async () => {
      const increment = (id: string) => ({
        updateOne: { filter: { _id: id }, update: { $inc: { n: 1 } }, upsert: true },
      });
      await Promise.all([
        ...times(20, () => entries.bulkWrite(times(10, (i) => increment(`bulk-${i}`)))),
        ...times(20, (i) => entries.insertMany([{ _id: `gone-${i}`, n: 0 }])),
      ]);
      const deleted = await Promise.all(times(20, (i) => entries.deleteOne({ _id: `gone-${i}` })));
      expect(deleted.every((result) => result.deletedCount === 1)).toBe(true);
      const left = await entries.find().toArray();
      expect(left.toSorted((a, b) => a._id.localeCompare(b._id))).toEqual(
        times(10, (i) => ({ _id: `bulk-${i}`, n: 20 })),
      );
    },
    testTimeoutMs,
  );

  it(
    'do not block reads during a long write',
    async () => {
      const count = 1000;
      await entries.insertMany(times(count, (i) => ({ _id: `entry-${i}`, n: 0 })));
      // Whether a read overlaps with a write depends on the machine; one of many does.
      let hits = 0;
      for (let n = 1; hits === 0 && n <= 50; n++) {
        const state = { ended: false };
        const write = entries.updateMany({}, { $set: { n } }).finally(() => {
          state.ended = true;
        });
        while (!state.ended) {
          const seen = (await entries.findOne({ _id: 'entry-0' }))?.n;
          if (!state.ended && seen === n) hits += 1;
        }
        expect((await write).modifiedCount).toBe(count);
      }
      expect(hits).toBeGreaterThan(0);
    },
    testTimeoutMs,
  );
});

describe('unacknowledged writes', () => {
  it(
    'have no reply, so that the next request of the connection gets its own',
    async () => {
      const single = await connectClient({ maxPoolSize: 1 });
      try {
        const collection = single.db(entries.dbName).collection<Entry>('entries');
        await collection.insertOne({ _id: 'quiet', n: 0 });
        for (let i = 0; i < 10; i++) {
          await collection.updateOne({ _id: 'quiet' }, { $inc: { n: 1 } }, { writeConcern: { w: 0 } });
        }
        expect(await collection.findOne({ _id: 'quiet' })).toEqual({ _id: 'quiet', n: 10 });
      } finally {
        await single.close();
      }
    },
    testTimeoutMs,
  );
});

function message(opcode: number, body: Buffer, lengthBytes = 16 + body.length): Buffer {
  const header = Buffer.alloc(16);
  header.writeInt32LE(lengthBytes, 0);
  header.writeInt32LE(opcode, 12);
  return Buffer.concat([header, body]);
}

const noFlags = Buffer.alloc(4);

describe('a client that violates the protocol', () => {
  it.each([
    ['another protocol', Buffer.from('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')],
    ['a length below the header', message(opMsg, Buffer.alloc(0), 5)],
    ['a negative length', message(opMsg, Buffer.alloc(0), -1)],
    ['a length above the bound', message(opMsg, Buffer.alloc(0), 48_000_001)],
    ['an unknown opcode', message(9999, Buffer.alloc(8))],
    ['a legacy insert', message(2002, Buffer.alloc(8))],
    ['no flags', message(opMsg, Buffer.alloc(0))],
    ['no sections', message(opMsg, noFlags)],
    ['a section of an unknown kind', message(opMsg, Buffer.concat([noFlags, Buffer.alloc(40, 0xff)]))],
    ['a sequence longer than the message', message(opMsg, Buffer.from('0000000001ffffff7f6100000000', 'hex'))],
    ['a truncated body', message(opMsg, Buffer.from('0000000000ff0000001075706461746500', 'hex'))],
  ])('is disconnected without affecting others: %s', async (_case, bytes) => {
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => socket.destroy()); // A reset is as good as an end.
    socket.resume();
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.write(bytes);
    await closed;
    const result = await entries.findOneAndUpdate(
      { _id: 'others' },
      { $inc: { n: 1 } },
      { upsert: true, returnDocument: 'after' },
    );
    expect(result?.n).toBe(1);
  });

  it('does not block other clients when it stops in the middle of a message', async () => {
    const socket = connect(server.port, '127.0.0.1');
    await once(socket, 'connect');
    socket.write(message(opMsg, Buffer.from('0000000000', 'hex'), 1000));
    await entries.insertOne({ _id: 'meanwhile', n: 1 });
    socket.destroy();
    await entries.insertOne({ _id: 'afterwards', n: 1 });
    expect(await entries.countDocuments()).toBe(2);
  });

  it(
    'does not block other clients when it disconnects in the middle of its writes',
    async () => {
      const leaving = await connectClient({ maxPoolSize: poolSize });
      const collection = leaving.db(entries.dbName).collection<Entry>('entries');
      const writes = times(100, (i) => collection.insertOne({ _id: `left-${i}`, n: 0 }));
      const outcomes = Promise.allSettled(writes);
      await Promise.race(writes);
      await leaving.close(true);
      await outcomes;
      expect((await entries.insertOne({ _id: 'afterwards', n: 1 })).acknowledged).toBe(true);
    },
    testTimeoutMs,
  );
});

describe('SIGTERM', () => {
  it(
    'ends the server despite connected clients, and all acknowledged writes survive',
    async () => {
      const dir = mkdtempSync(join(tmpdir(), 'fleet-ferretdb-'));
      const port = await freePort();
      const args = ['-listen', `127.0.0.1:${port}`, '-dir', dir];
      const start = () => spawn(testEnv('FERRETDB_BIN'), args, { stdio: 'ignore' });
      const first = start();
      const children = [first];
      const isReady = () => probe('mongodb', '127.0.0.1', port);
      const clients: MongoClient[] = [];
      const openEntries = async (): Promise<Collection<Entry>> => {
        const own = await new MongoClient(`mongodb://127.0.0.1:${port}/`).connect();
        clients.push(own);
        return own.db('stop').collection<Entry>('entries');
      };
      try {
        await waitFor(isReady);
        const before = await openEntries();
        const writes = times(100, (i) => before.insertOne({ _id: `entry-${i}`, n: 0 }));
        const outcomes = Promise.allSettled(writes);
        await Promise.race(writes);
        const exited = once(first, 'exit');
        first.kill('SIGTERM');
        expect(await exited).toEqual([0, null]);
        await clients[0]?.close(true);
        const acknowledged = (await outcomes).flatMap((outcome) =>
          outcome.status === 'fulfilled' ? [outcome.value.insertedId] : [],
        );
        expect(acknowledged).not.toHaveLength(0);
        children.push(start());
        await waitFor(isReady);
        const after = await openEntries();
        expect(await after.countDocuments({ _id: { $in: acknowledged } })).toBe(acknowledged.length);
      } finally {
        await Promise.all(clients.map((own) => own.close(true)));
        const running = children.filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null);
        const ends = running.map((child) => once(child, 'exit'));
        for (const child of running) child.kill('SIGKILL');
        await Promise.all(ends);
        rmSync(dir, { recursive: true, force: true });
      }
    },
    testTimeoutMs,
  );
});
