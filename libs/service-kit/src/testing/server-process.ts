import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Returns an environment variable that `npm test` sets. */
export function testEnv(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`${name} is not set: run the tests with npm test`);
  return value;
}

/** Waits until a condition is true; the test's own time-out ends it otherwise. */
export async function waitFor(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise((resolve) => setTimeout(resolve, 10));
}

/** Each worker of a test run has its own ports, so that no other worker uses a port between a kill and a restart. */
const portsPerWorker = 1_700;
const firstPort = 20_000 + ((Number(process.env['JEST_WORKER_ID'] ?? 1) - 1) % 4) * portsPerWorker;
const issuedPorts = new Set<number>();

/**
 * Returns an unused port, each only once. It lies below the range of outgoing connections, so that none uses it while a
 * test's server is down, and outside the product's own ports.
 */
export async function freePort(): Promise<number> {
  if (issuedPorts.size > portsPerWorker / 2) issuedPorts.clear();
  for (;;) {
    const port = firstPort + Math.floor(Math.random() * portsPerWorker);
    if (issuedPorts.has(port) || !(await isFree(port))) continue;
    issuedPorts.add(port);
    return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  });
}

/** Credentials of a test's S3-compatible server. */
export const s3Keys = { accessKeyId: 'test-access', secretAccessKey: 'test-secret' } as const;

/** A backend process of one test, which may be killed and restarted; its data directory is deleted with it. */
export class ServerProcess {
  readonly port: number;
  readonly #bin: string;
  readonly #args: readonly string[];
  readonly #dir: string;
  #child: ChildProcess | undefined;

  private constructor(bin: string, port: number, dir: string, args: readonly string[]) {
    this.port = port;
    this.#bin = bin;
    this.#dir = dir;
    this.#args = args;
  }

  /** A NATS server with JetStream. */
  static nats(more: readonly string[] = []): Promise<ServerProcess> {
    const args = (port: number, dir: string) => ['-a', '127.0.0.1', '-p', String(port), '-js', '-sd', dir, ...more];
    return ServerProcess.#create('NATS_SERVER_BIN', args);
  }

  /** A Redis server without persistence. */
  static redis = (): Promise<ServerProcess> =>
    ServerProcess.#create('REDIS_SERVER_BIN', (port, dir) => [
      '--bind',
      '127.0.0.1',
      '--port',
      String(port),
      '--save',
      '',
      '--appendonly',
      'no',
      '--dir',
      dir,
    ]);

  /** A MongoDB-compatible server. */
  static mongo = (): Promise<ServerProcess> =>
    ServerProcess.#create('FERRETDB_BIN', (port, dir) => ['-listen', `127.0.0.1:${port}`, '-dir', dir]);

  /** An S3-compatible server without a bucket; its keys are `s3Keys`. */
  static s3 = (): Promise<ServerProcess> =>
    ServerProcess.#create('S3_SERVER_BIN', (port, dir) => {
      const [data, meta] = [join(dir, 'data'), join(dir, 'meta')];
      for (const folder of [data, meta]) mkdirSync(folder);
      const { accessKeyId, secretAccessKey } = s3Keys;
      const server = ['--port', `127.0.0.1:${port}`, '--access', accessKeyId, '--secret', secretAccessKey, '--quiet'];
      return [...server, 'posix', '--sidecar', meta, data];
    });

  static async #create(
    variable: string,
    args: (port: number, dir: string) => readonly string[],
  ): Promise<ServerProcess> {
    const bin = testEnv(variable);
    const port = await freePort();
    const dir = mkdtempSync(join(tmpdir(), 'fleet-test-'));
    return new ServerProcess(bin, port, dir, args(port, dir));
  }

  /** Starts the server and waits until its port accepts connections. */
  async start(): Promise<this> {
    const child = spawn(this.#bin, this.#args, { stdio: 'ignore' });
    this.#child = child;
    await waitFor(async () => {
      if (child.exitCode !== null) throw new Error(`${this.#bin} ended with exit code ${child.exitCode}`);
      return acceptsConnections(this.port);
    });
    return this;
  }

  /** Kills the server; its data remains. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  /** Stops the server and deletes its data. */
  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.#dir, { recursive: true, force: true });
  }
}

function acceptsConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const done = (isAccepted: boolean) => () => {
      socket.destroy();
      resolve(isAccepted);
    };
    socket.once('connect', done(true));
    socket.once('error', done(false));
  });
}
