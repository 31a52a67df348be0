import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Bus } from '@fleet/bus';
import { freePort, waitFor } from '@fleet/testing';

const acceptsConnections = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });

/** Returns whether the broker responds to a ping in time. */
const respondsToPing = (bus: Bus): Promise<boolean> =>
  Promise.race([
    bus.nc.flush().then(
      () => true,
      () => false,
    ),
    new Promise<boolean>((resolve) => {
      setTimeout(() => resolve(false), 300);
    }),
  ]);

/** Server that a test may kill and restart with its data. `remove` ends it and deletes the data. */
export class TestServer {
  readonly port: number;
  readonly #binary: string;
  readonly #directory: string;
  readonly #args: (port: number, directory: string) => string[];
  #process: ChildProcess | undefined;

  constructor(binary: string, port: number, args: (port: number, directory: string) => string[]) {
    this.#binary = binary;
    this.port = port;
    this.#args = args;
    this.#directory = mkdtempSync(join(tmpdir(), 'gateway-test-'));
  }

  /** Starts a broker with JetStream. `settings` are lines of its configuration file. */
  static async nats(settings = ''): Promise<TestServer> {
    const args = (port: number, directory: string): string[] => {
      const file = join(directory, 'nats.conf');
      writeFileSync(file, settings);
      return ['-c', file, '-a', '127.0.0.1', '-p', String(port), '-js', '-sd', directory];
    };
    return TestServer.#startServer('NATS_SERVER_BIN', args);
  }

  static async redis(): Promise<TestServer> {
    const args = (port: number, directory: string): string[] => [
      '--bind',
      '127.0.0.1',
      '--port',
      String(port),
      '--dir',
      directory,
      '--save',
      '',
      '--appendonly',
      'no',
    ];
    return TestServer.#startServer('REDIS_SERVER_BIN', args);
  }

  static async #startServer(
    variable: string,
    args: (port: number, directory: string) => string[],
  ): Promise<TestServer> {
    const binary = process.env[variable];
    if (binary === undefined || binary === '') throw new Error(`${variable} is not set: run the tests with npm test`);
    const server = new TestServer(binary, await freePort(), args);
    await server.start();
    return server;
  }

  async start(): Promise<void> {
    this.#process = spawn(this.#binary, this.#args(this.port, this.#directory), { stdio: 'ignore' });
    await waitFor(() => acceptsConnections(this.port), `${this.#binary} listens`);
  }

  /**
   * Suspends a broker until `resume`. A process with many threads runs on briefly, so this waits until `bus` receives
   * no response.
   */
  async suspend(bus: Bus): Promise<void> {
    this.#process?.kill('SIGSTOP');
    await waitFor(async () => !(await respondsToPing(bus)), 'the broker hangs');
  }

  resume(): void {
    this.#process?.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    const running = this.#process;
    this.#process = undefined;
    if (running === undefined || running.exitCode !== null) return;
    const exited = once(running, 'exit');
    running.kill('SIGKILL');
    await exited;
  }

  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
