import { randomBytes } from 'node:crypto';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Bus, DurableConsumer, openBus, streamCreatedAt } from '@fleet/bus';
import { createLogger } from '@fleet/service-kit';
import { connectRedis, type Database, openDatabase, type Redis } from '@fleet/storage';
import { hasMongod, MongoReplicaSet, NatsCluster, RedisCluster, ServerProcess, testEnv, waitFor } from '@fleet/testing';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createBackup } from './create-backup.ts';
import type { Installation } from './installation.ts';
import { readManifest } from './manifest.ts';
import { restoreBackup } from './restore-backup.ts';

// Elections of real servers on a machine that may be busy.
jest.setTimeout(240_000);

const log = createLogger('backup-test', 'silent');
const ignore = (): void => undefined;
const cleanups: (() => Promise<void>)[] = [];
let dir: string;
let source: Installation;
let folder: string;

/** Addresses of the servers of an installation. */
interface Servers {
  readonly nats: string;
  readonly redis: string;
  readonly mongodb: string;
  readonly replicas: number;
  readonly remove: () => Promise<unknown>;
}

async function connectTo(servers: Servers): Promise<Installation> {
  const bus: Bus = await openBus(servers.nats, { name: 'backup-test', log });
  const redis: Redis = await connectRedis(servers.redis, { name: 'backup-test', onError: ignore });
  const database: Database = openDatabase(servers.mongodb, { appName: 'backup-test' });
  cleanups.push(async () => {
    await bus.close();
    redis.destroy();
    await database.close();
    await servers.remove();
  });
  return { bus, redis, database, clipsDir: join(dir, randomBytes(6).toString('hex')), replicas: servers.replicas };
}

/** Returns the address of a new database on the server of all unit tests. */
function newDatabaseUrl(): string {
  const url = new URL(testEnv('MONGODB_URL'));
  url.pathname = `/backup_${randomBytes(6).toString('hex')}`;
  return url.href;
}

async function dropDatabase(url: string): Promise<void> {
  const database = openDatabase(url, { appName: 'backup-test' });
  await database.db.dropDatabase();
  await database.close();
}

async function openInstallation(): Promise<Installation> {
  const nats = await (await ServerProcess.nats()).start();
  const redis = await (await ServerProcess.redis()).start();
  const mongodb = newDatabaseUrl();
  return connectTo({
    nats: `nats://127.0.0.1:${nats.port}`,
    redis: `redis://127.0.0.1:${redis.port}`,
    mongodb,
    replicas: 1,
    remove: () => Promise.all([nats.remove(), redis.remove(), dropDatabase(mongodb)]),
  });
}

/** Opens an installation of three NATS servers, a Redis Cluster, and a MongoDB replica set where one runs. */
async function openReplicatedInstallation(): Promise<{ installation: Installation; nats: NatsCluster }> {
  const nats = await NatsCluster.start();
  const redis = await RedisCluster.start();
  const mongodb = hasMongod() ? await MongoReplicaSet.start() : undefined;
  const user = { user: 'backup', password: 'rights-of-the-product' };
  await mongodb?.createUser(user);
  const installation = await connectTo({
    nats: nats.url,
    redis: redis.url,
    mongodb: mongodb?.urlFor(user) ?? newDatabaseUrl(),
    replicas: 3,
    remove: () => Promise.all([nats.remove(), redis.remove(), mongodb?.remove()]),
  });
  return { installation, nats };
}

/** Reads what a durable consumer receives until it has the given number of messages; acknowledges `accepted` of them. */
async function consume({ bus }: Installation, stream: string, count: number, accepted = count): Promise<string[]> {
  const received: string[] = [];
  const consumer = new DurableConsumer(bus, {
    stream,
    durable: `${stream}-reader`,
    subject: `${stream.toLowerCase()}.>`,
    maxInFlight: count,
    retryDelayMs: 500,
    handler: async ({ data }) => {
      received.push(Buffer.from(data).toString());
      if (received.length > accepted) throw new Error('not accepted');
    },
    onError: ignore,
  });
  await waitFor(() => received.length >= count, `${count} messages of ${stream}`, 60_000);
  await consumer.stop();
  return received;
}

async function fillStreams({ bus }: Installation): Promise<void> {
  const manager = await bus.jetstreamManager();
  await manager.streams.add({ name: 'LOG', subjects: ['log.>'] });
  await manager.streams.add({ name: 'QUEUE', subjects: ['queue.>'], retention: 'workqueue' as never });
  for (const name of ['log', 'queue'])
    for (let index = 1; index <= 5; index += 1) await bus.js.publish(`${name}.a`, `${name} ${index}`);
  await consume(source, 'LOG', 3);
  await consume(source, 'QUEUE', 3);
}

async function fillDatabase({ database }: Installation): Promise<void> {
  const records = database.collection('records');
  await records.createIndex({ name: 1, at: -1 });
  await records.createIndex({ code: 1 }, { unique: true });
  const more = {
    text: 'Größe 车',
    at: new Date(5),
    data: Buffer.from([1, 2]),
    list: [1, 2.5, null],
    nested: { deep: true },
  };
  await records.insertMany(
    Array.from({ length: 1_200 }, (_, code) => ({ _id: code as never, code, name: `n${code}`, ...more })),
  );
  await database.collection<{ _id: string; seq: number }>('telemetry_places').insertOne({ _id: '0', seq: 3 });
}

function fillFiles(clipsDir: string): void {
  mkdirSync(join(clipsDir, 'media/1'), { recursive: true });
  writeFileSync(join(clipsDir, '.pod-id'), 'upload-ftp');
  writeFileSync(join(clipsDir, '.pod-lock'), 'held');
  writeFileSync(join(clipsDir, 'media/1/picture.gz'), randomBytes(300_000));
  utimesSync(join(clipsDir, 'media/1/picture.gz'), 1_000, 2_000);
}

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'fleet-backup-'));
  source = await openInstallation();
  await fillStreams(source);
  await fillDatabase(source);
  fillFiles(String(source.clipsDir));
  await source.redis.set('device:1', '{}');
  folder = join(dir, 'backup');
  await createBackup(source, folder, ignore);
});

afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
  rmSync(dir, { recursive: true, force: true });
});

const options = { isReplacing: false, isWithoutFiles: false };

describe('a backup', () => {
  it('lists what it contains, and only its owner can read it', async () => {
    const { mongodb, jetstream, files } = await readManifest(folder);
    expect(mongodb.map(({ name, documents }) => [name, documents])).toEqual([
      ['telemetry_places', 1],
      ['records', 1_200],
    ]);
    expect(jetstream.map(({ name, messages }) => [name, messages])).toEqual([
      ['QUEUE', 2],
      ['LOG', 5],
    ]);
    expect(files).toMatchObject({ count: 2 });
    expect(statSync(join(folder, 'manifest.json')).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  it('refuses a folder that is not empty', async () => {
    await expect(createBackup(source, folder, ignore)).rejects.toThrow('is not empty: name a new folder with --to');
  });
});

describe('a restore into an empty installation', () => {
  let target: Installation;
  beforeAll(async () => {
    target = await openInstallation();
    await restoreBackup(target, folder, options, ignore);
  });

  it('returns every document with its types, and every index', async () => {
    const read = ({ database }: Installation) =>
      database.db
        .collection('records')
        .find({}, { sort: { _id: 1 }, promoteValues: false })
        .toArray();
    expect(await read(target)).toEqual(await read(source));
    const indexes = ({ database }: Installation) => database.db.collection('records').indexes();
    expect(await indexes(target)).toEqual(await indexes(source));
  });

  it('keeps the creation time of streams, by which offsets are valid', async () => {
    expect(await streamCreatedAt(target.bus, 'LOG')).toBe(await streamCreatedAt(source.bus, 'LOG'));
    expect(await streamCreatedAt(target.bus, 'LOG')).not.toBeNull();
  });

  it('lets consumers continue after the last acknowledged message', async () => {
    // A message that the stopped consumer had already fetched is redelivered after later ones.
    expect((await consume(target, 'LOG', 2)).toSorted()).toEqual(['log 4', 'log 5']);
    expect((await consume(target, 'QUEUE', 2)).toSorted()).toEqual(['queue 4', 'queue 5']);
  });

  it('returns files with their times, without the lock of a process', () => {
    const clipsDir = String(target.clipsDir);
    expect(readdirSync(clipsDir).toSorted()).toEqual(['.pod-id', 'media']);
    const path = 'media/1/picture.gz';
    expect(readFileSync(join(clipsDir, path)).equals(readFileSync(join(String(source.clipsDir), path)))).toBe(true);
    expect(statSync(join(clipsDir, path)).mtimeMs).toBe(2_000_000);
  });

  it('is refused a second time, and replaces the data on request', async () => {
    await target.database.db.collection('records').deleteOne({});
    await target.redis.set('device:2', '{}');
    await expect(restoreBackup(target, folder, options, ignore)).rejects.toThrow(
      /The installation is not empty \(MongoDB has documents, JetStream has LOG, QUEUE, Redis has keys, .* has files\)/,
    );
    expect(await target.database.db.collection('records').countDocuments()).toBe(1_199);
    await restoreBackup(target, folder, { ...options, isReplacing: true }, ignore);
    expect(await target.database.db.collection('records').countDocuments()).toBe(1_200);
    expect(await target.redis.dbSize()).toBe(0);
  });
});

describe('an installation of replicated servers', () => {
  let replicated: Installation;
  let nats: NatsCluster;
  beforeAll(async () => {
    ({ installation: replicated, nats } = await openReplicatedInstallation());
    await restoreBackup(replicated, folder, options, ignore);
  }, 240_000);

  it('is restored, with three replicas of each stream', async () => {
    const manager = await replicated.bus.jetstreamManager();
    for (const name of ['LOG', 'QUEUE']) expect((await manager.streams.info(name)).config.num_replicas).toBe(3);
    expect(await replicated.database.db.collection('records').countDocuments()).toBe(1_200);
    await replicated.redis.set('device:1', '{}');
    await expect(restoreBackup(replicated, folder, options, ignore)).rejects.toThrow(
      'MongoDB has documents, JetStream has LOG, QUEUE, Redis has keys',
    );
    await restoreBackup(replicated, folder, { ...options, isReplacing: true }, ignore);
    expect(await streamCreatedAt(replicated.bus, 'LOG')).toBe(await streamCreatedAt(source.bus, 'LOG'));
    expect(await replicated.redis.exists('device:1')).toBe(0);
  });

  it('is backed up while one of the NATS servers is lost, and a single server continues from it', async () => {
    const copy = join(dir, 'copy');
    await nats.kill(0);
    await createBackup(replicated, copy, ignore);
    const { mongodb, jetstream, files } = await readManifest(copy);
    const original = await readManifest(folder);
    expect({
      mongodb: mongodb.length,
      jetstream: jetstream.map(({ messages }) => messages),
      files: files?.count,
    }).toEqual({
      mongodb: original.mongodb.length,
      jetstream: original.jetstream.map(({ messages }) => messages),
      files: original.files?.count,
    });
    const single = await openInstallation();
    await restoreBackup(single, copy, options, ignore);
    expect((await consume(single, 'LOG', 2)).toSorted()).toEqual(['log 4', 'log 5']);
    expect((await consume(single, 'QUEUE', 2)).toSorted()).toEqual(['queue 4', 'queue 5']);
    expect(await streamCreatedAt(single.bus, 'LOG')).toBe(await streamCreatedAt(source.bus, 'LOG'));
  });
});

describe('a restore of a damaged backup', () => {
  it.each(['mongodb/records.bson.gz', 'jetstream/LOG.snapshot', 'files/media/1/picture.gz'])(
    'changes nothing and names the damaged file %s',
    async (file) => {
      const path = join(folder, file);
      const content = readFileSync(path);
      const damaged = Buffer.from(content);
      damaged[100] = (damaged[100] ?? 0) ^ 1;
      writeFileSync(path, damaged);
      const restore = restoreBackup(source, folder, { ...options, isReplacing: true }, ignore);
      await expect(restore).rejects.toThrow(`${path} is damaged or missing: restore another backup`);
      writeFileSync(path, content);
      expect(await source.database.db.collection('records').countDocuments()).toBe(1_200);
    },
  );

  it('refuses a folder without a manifest, which is an interrupted backup', async () => {
    const empty = mkdtempSync(join(dir, 'empty-'));
    await expect(restoreBackup(source, empty, options, ignore)).rejects.toThrow('the folder is no backup');
  });
});
