import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Document, MongoClient } from 'mongodb';
import { ServerProcess } from './server-process.ts';
import { waitFor } from './wait-for.ts';

const setName = 'fleet';
const databaseName = 'fleet';
/** Elections take this long on a machine under load. */
const electionTimeoutMs = 120_000;
const admin = { user: 'admin', password: randomBytes(12).toString('hex') };

/** Whether tests have a MongoDB server; prints why not otherwise. */
export function hasMongod(): boolean {
  if (process.env['MONGOD_BIN']) return true;
  console.log('no MongoDB server runs on this machine, skipped the tests with a replica set');
  return false;
}

interface Credentials {
  readonly user: string;
  readonly password: string;
}

/** Runs a MongoDB replica set of three servers with users, each of which may be killed. */
export class MongoReplicaSet {
  readonly #servers: readonly ServerProcess[];
  readonly #dir: string;
  readonly #killed: ServerProcess[] = [];

  private constructor(servers: readonly ServerProcess[], dir: string) {
    this.#servers = servers;
    this.#dir = dir;
  }

  static async start(): Promise<MongoReplicaSet> {
    const dir = mkdtempSync(join(tmpdir(), 'fleet-mongod-'));
    const keyFile = join(dir, 'key');
    writeFileSync(keyFile, randomBytes(64).toString('base64'), { mode: 0o600 });
    const servers = await Promise.all(
      [1, 2, 3].map(() => ServerProcess.mongod(['--replSet', setName, '--keyFile', keyFile])),
    );
    await Promise.all(servers.map((server) => server.start()));
    const started = new MongoReplicaSet(servers, dir);
    await started.#initiate();
    return started;
  }

  /** Returns the product's setting for a user; the default has all rights. */
  urlFor({ user, password }: Credentials = admin): string {
    const hosts = this.#servers.map(({ port }) => `127.0.0.1:${port}`).join(',');
    const credentials = `${encodeURIComponent(user)}:${encodeURIComponent(password)}`;
    return `mongodb://${credentials}@${hosts}/${databaseName}?replicaSet=${setName}&authSource=admin`;
  }

  /** Creates a user with the rights that the product needs. */
  createUser({ user, password }: Credentials): Promise<Document> {
    const roles = [{ role: 'readWrite', db: databaseName }];
    return this.#runAdmin({ createUser: user, pwd: password, roles });
  }

  dropUser(user: string): Promise<Document> {
    return this.#runAdmin({ dropUser: user });
  }

  /** Kills the primary with SIGKILL. Returns a function that waits until another one is elected. */
  async killPrimary(): Promise<{ readonly waitForElection: () => Promise<void> }> {
    const port = await this.readPrimaryPort();
    const primary = this.#servers.find((server) => server.port === port);
    if (primary === undefined) throw new Error('The replica set has no primary.');
    await primary.kill();
    this.#killed.push(primary);
    return {
      waitForElection: async () => {
        const isElected = async (): Promise<boolean> => ![port, undefined].includes(await this.readPrimaryPort());
        await waitFor(isElected, 'another primary', electionTimeoutMs);
      },
    };
  }

  /** Starts killed servers again, and waits until they are secondaries. */
  async restart(): Promise<void> {
    for (const server of this.#killed.splice(0)) await server.start();
    const isComplete = async (): Promise<boolean> => {
      const hellos = await Promise.all(this.#servers.map(readHello));
      return hellos.every((hello) => hello['isWritablePrimary'] === true || hello['secondary'] === true);
    };
    await waitFor(isComplete, 'all members', electionTimeoutMs);
  }

  /** Returns the port of the server that calls itself the primary; undefined during an election. */
  async readPrimaryPort(): Promise<number | undefined> {
    for (const server of this.#servers) if ((await readHello(server))['isWritablePrimary'] === true) return server.port;
    return undefined;
  }

  /** Stops all servers and deletes their data. */
  async remove(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.remove()));
    rmSync(this.#dir, { recursive: true, force: true });
  }

  async #initiate(): Promise<void> {
    const [first] = this.#servers as [ServerProcess];
    const members = this.#servers.map(({ port }, _id) => ({ _id, host: `127.0.0.1:${port}` }));
    await runOn(first, { replSetInitiate: { _id: setName, members } });
    const readPrimary = async (): Promise<ServerProcess | undefined> => {
      const port = await this.readPrimaryPort();
      return this.#servers.find((server) => server.port === port);
    };
    const primary = await waitFor(readPrimary, 'a primary', electionTimeoutMs);
    // A server without users lets its own machine create the first one.
    await runOn(primary, { createUser: admin.user, pwd: admin.password, roles: ['root'] });
    await this.restart();
  }

  async #runAdmin(command: Document): Promise<Document> {
    const client = new MongoClient(this.urlFor());
    try {
      return await client.db('admin').command(command);
    } finally {
      await client.close();
    }
  }
}

/** Sends a command of the database `admin` to one server, without a user. */
async function runOn({ port }: ServerProcess, command: Document): Promise<Document> {
  const client = new MongoClient(`mongodb://127.0.0.1:${port}/?directConnection=true`, {
    serverSelectionTimeoutMS: 5_000,
  });
  try {
    return await client.db('admin').command(command);
  } finally {
    await client.close();
  }
}

/** Returns what a server says of its role; empty if it does not respond. */
const readHello = (server: ServerProcess): Promise<Document> => runOn(server, { hello: 1 }).catch(() => ({}));
