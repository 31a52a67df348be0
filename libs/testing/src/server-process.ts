import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';
import { testEnv } from './test-env.ts';
import { waitFor } from './wait-for.ts';

/** Credentials of a test's S3-compatible server. */
export const s3Keys = { accessKeyId: 'test-access', secretAccessKey: 'test-secret' } as const;

/** Runs a backend process of one test, which may be killed and restarted; its data directory is deleted with it. */
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
  static redis = (more: readonly string[] | ((port: number) => readonly string[]) = []): Promise<ServerProcess> =>
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
      ...(typeof more === 'function' ? more(port) : more),
    ]);

  /** A sentinel with these lines in its configuration file, which it rewrites. */
  static sentinel = (lines: readonly string[], portSetting = 'port'): Promise<ServerProcess> =>
    ServerProcess.#create('REDIS_SERVER_BIN', (port, dir) => {
      const file = join(dir, 'sentinel.conf');
      writeFileSync(file, [`${portSetting} ${port}`, 'bind 127.0.0.1', `dir ${dir}`, ...lines, ''].join('\n'));
      return [file, '--sentinel'];
    });

  /** A MongoDB-compatible server. */
  static mongo = (): Promise<ServerProcess> =>
    ServerProcess.#create('FERRETDB_BIN', (port, dir) => ['-listen', `127.0.0.1:${port}`, '-dir', dir]);

  /** A MongoDB server. */
  static mongod = (more: readonly string[]): Promise<ServerProcess> =>
    ServerProcess.#create('MONGOD_BIN', (port, dir) => [
      '--bind_ip',
      '127.0.0.1',
      '--port',
      String(port),
      '--dbpath',
      dir,
      '--wiredTigerCacheSizeGB',
      '0.25',
      '--oplogSize',
      '128',
      '--quiet',
      ...more,
    ]);

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

  /** Pauses the server with SIGSTOP: it accepts connections and does not respond. */
  pause(): void {
    this.#child?.kill('SIGSTOP');
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
