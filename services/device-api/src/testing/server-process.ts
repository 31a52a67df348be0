import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

/** A variable that `npm test` sets. */
export function testEnv(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`${name} is not set: run the tests by npm test`);
  return value;
}

/** Waits until a condition holds; the test's own time limit ends it otherwise. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await condition())) await delay(10);
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  if (address === null || typeof address === 'string') throw new Error('no free port');
  return address.port;
}

/** A backend of a test's own, on a port that it keeps over restarts. */
export class ServerProcess {
  readonly port: number;
  readonly #binary: string;
  readonly #arguments: readonly string[];
  readonly #directory: string;
  #child: ChildProcess | undefined;

  private constructor(binary: string, port: number, directory: string, args: readonly string[]) {
    this.port = port;
    this.#binary = binary;
    this.#directory = directory;
    this.#arguments = args;
  }

  static async nats(): Promise<ServerProcess> {
    const port = await freePort();
    const directory = mkdtempSync(join(tmpdir(), 'device-api-nats-'));
    const args = ['-a', '127.0.0.1', '-p', String(port)];
    return new ServerProcess(testEnv('NATS_SERVER_BIN'), port, directory, args).start();
  }

  static async redis(): Promise<ServerProcess> {
    const port = await freePort();
    const directory = mkdtempSync(join(tmpdir(), 'device-api-redis-'));
    const args = ['--bind', '127.0.0.1', '--port', String(port), '--save', '', '--dir', directory];
    return new ServerProcess(testEnv('REDIS_SERVER_BIN'), port, directory, args).start();
  }

  async start(): Promise<this> {
    const child = spawn(this.#binary, this.#arguments, { stdio: 'ignore' });
    this.#child = child;
    await until(() => {
      if (child.exitCode !== null) throw new Error(`${this.#binary} ended with exit code ${child.exitCode}`);
      return takesConnections(this.port);
    });
    return this;
  }

  /** Ends it without a farewell. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await once(child, 'exit');
  }

  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

function takesConnections(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    const done = (answer: boolean) => () => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('connect', done(true));
    socket.once('error', done(false));
  });
}
